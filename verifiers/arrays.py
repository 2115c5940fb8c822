"""Arrays from `.npy` and `.npz` bytes that a hostile program wrote.

Nothing is unpickled, no header is evaluated, and nothing is allocated because a header says so: a header
only names a type and a shape, which must fit the bytes that follow it.
"""

from __future__ import annotations

import io
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scienceide.verifiers.failures import Unusable

ARRAY_BYTES = 64 * 2**20
"""The largest array, unpacked."""
MEMBERS = 1000
"""The most arrays of one `.npz` file."""
DIMENSIONS = 32
HEADER_BYTES = 4096

_MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    rb"\{\s*'descr':\s*'(?P<descr>[^']{1,16})',\s*'fortran_order':\s*(?P<fortran>True|False),"
    rb"\s*'shape':\s*\((?P<shape>[0-9, ]{0,700})\),?\s*\}\s*"
)
_DESCR = re.compile(rb"[<>|=]?(?P<kind>[biufcUS])(?P<size>[0-9]{1,6})")
_CENTRAL = b"PK\x01\x02"
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError, OverflowError)

Array = npt.NDArray[Any]

_LARGEST: dict[str, type[np.generic]] = {"f": np.float64, "c": np.complex128}
"""Longer ones differ from machine to machine."""


class Archive:
    """An `.npz` file, of which only what is asked for is unpacked."""

    def __init__(self, data: bytes) -> None:
        """Read the table of contents.

        Raises:
            Unusable: it is not a zip file, or one with too many members.
        """
        if data.count(_CENTRAL) > MEMBERS:
            raise Unusable("too large", f"more than {MEMBERS} arrays")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _BAD_ZIP as error:
            raise Unusable("unreadable", f"not a zip file: {error}") from None
        self._members = {info.filename.removesuffix(".npy"): info for info in self._zip.infolist()}

    @property
    def names(self) -> Sequence[str]:
        """The names of its arrays."""
        return tuple(self._members)

    def array(self, key: str) -> Array:
        """Unpack one array.

        Raises:
            Unusable: it is not there, or not a plain array of a moderate size.
        """
        return parse_npy(self.content(key))

    def content(self, key: str) -> bytes:
        """Unpack the bytes of one member, as many as an array may have.

        Raises:
            Unusable: it is not there, or does not unpack.
        """
        info = self._members.get(key)
        if info is None:
            raise Unusable("missing key", f"no array {key!r}")
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Unusable("unreadable", "encrypted, or packed in an unusual way")
        try:
            with self._zip.open(info) as stream:
                return stream.read(ARRAY_BYTES + HEADER_BYTES)  # whatever sizes the file claims
        except _BAD_ZIP as error:
            raise Unusable("unreadable", f"a broken zip file: {error}") from None


def parse_npy(data: bytes) -> Array:
    """The array of one `.npy` file: numbers, booleans or text, in native byte order.

    Raises:
        Unusable: anything else, or bytes that do not fit the header.
    """
    dtype, fortran, shape, start = _parse_header(data)
    count = math.prod(shape)
    if count * dtype.itemsize > ARRAY_BYTES:
        raise Unusable("too large", f"an array of more than {ARRAY_BYTES >> 20} MiB")
    if len(data) - start < count * dtype.itemsize:
        raise Unusable("unreadable", "the array is cut short")
    try:
        flat = np.frombuffer(data, dtype, count, start) if count else np.empty(0, dtype)
        array = flat.reshape(shape, order="F" if fortran else "C")
    except (ValueError, OverflowError) as error:
        raise Unusable("unreadable", str(error)) from None
    return _plain(array)


def _parse_header(data: bytes) -> tuple[np.dtype[Any], bool, tuple[int, ...], int]:
    """Type, column-major or not, shape, and where the numbers start."""
    if data[:6] != _MAGIC or len(data) < 12:
        raise Unusable("unreadable", "not an .npy array")
    wide = data[6] >= 2
    start = 12 if wide else 10
    length = int.from_bytes(data[8:start], "little")
    match = _HEADER.fullmatch(data[start : start + min(length, HEADER_BYTES)])
    if match is None:
        raise Unusable("unreadable", "an .npy header of an unusual form")
    described = _DESCR.fullmatch(match["descr"])
    if described is None:
        raise Unusable("not numeric", f"type {match['descr'].decode('latin-1')}")
    try:
        dtype = np.dtype(match["descr"].decode())
    except TypeError:
        raise Unusable("not numeric", f"type {match['descr'].decode('latin-1')}") from None
    shape = tuple(int(part) for part in match["shape"].replace(b" ", b"").split(b",") if part)
    if dtype.itemsize == 0 or len(shape) > DIMENSIONS:
        raise Unusable("unreadable", "an array without content, or of too many dimensions")
    return dtype, match["fortran"] == b"True", shape, start + length


def _plain(array: Array) -> Array:
    """The same values in native types that other machines have too."""
    kind = array.dtype.kind
    if kind == "b":
        # A forged byte of 2 is no third truth value.
        return np.asarray(array.view(np.uint8) != 0)
    if kind == "S":
        text = np.char.decode(array, "latin-1")
        return np.asarray(text)
    if kind == "U":
        native = array.astype(array.dtype.newbyteorder("="))
        if native.size and int(np.ascontiguousarray(native).reshape(-1).view(np.uint32).max()) > 0x10FFFF:
            raise Unusable("unreadable", "text that is not Unicode")
        return native
    if kind in _LARGEST and array.dtype.itemsize > np.dtype(_LARGEST[kind]).itemsize:
        with np.errstate(over="ignore"):  # becomes an infinity, which has a name
            return array.astype(_LARGEST[kind])
    return array.astype(array.dtype.newbyteorder("="))
