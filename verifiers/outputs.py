"""Reading what a case wrote: named arrays, or named failures.

The files come from a program that may be hostile. Nothing is unpickled, sizes are bounded before anything
is unpacked, and whatever cannot be read is a failure with a name, never an exception.
"""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scienceide.verifiers.spec import Location, ObservableSpec

FILE_BYTES = 64 * 2**20
ARRAY_BYTES = 256 * 2**20
"""Unpacked size of one array."""

FailureName = Literal[
    "missing file", "missing key", "unreadable", "too large", "not numeric", "wrong shape", "not finite", "empty"
]
Array = NDArray[Any]


@dataclass(frozen=True)
class Failure:
    """Why an observable has no usable value."""

    name: FailureName
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}" if self.detail else self.name


@dataclass(frozen=True)
class Outputs:
    """The observables of one run: an array each, or a failure each."""

    arrays: Mapping[str, Array] = field(default_factory=dict)
    failures: Mapping[str, Failure] = field(default_factory=dict)

    def get(self, name: str) -> Array | Failure:
        """The array, or why there is none."""
        if name in self.arrays:
            return self.arrays[name]
        return self.failures.get(name, Failure("missing file", "the run left nothing"))


class _Unread(Exception):
    """Carries a failure out of the readers below."""

    def __init__(self, name: FailureName, detail: str = "") -> None:
        super().__init__(name)
        self.failure = Failure(name, detail)


def read_outputs(files: Mapping[str, bytes], specs: Sequence[ObservableSpec]) -> Outputs:
    """The observables that `specs` name, from file contents by name.

    Text becomes a Unicode array, booleans stay booleans, numbers become arrays of numbers. Infinities and NaN
    are failures: no scientific result that we ask for has them.
    """
    arrays: dict[str, Array] = {}
    failures: dict[str, Failure] = {}
    for spec in specs:
        try:
            arrays[spec.name] = _checked(_read(files, spec.source), spec)
        except _Unread as unread:
            failures[spec.name] = unread.failure
    return Outputs(arrays, failures)


def read_folder(folder: Path, specs: Sequence[ObservableSpec]) -> Outputs:
    """`read_outputs` on a folder; symbolic links and what is no regular file count as missing."""
    files = {}
    for name in {spec.source.file for spec in specs}:
        path = folder / name
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= FILE_BYTES + 1:
            files[name] = path.read_bytes()
    return read_outputs(files, specs)


def extra_arrays(files: Mapping[str, bytes], specs: Sequence[ObservableSpec]) -> list[str]:
    """Arrays in `.npz` files that no observable asks for, as `file:key`; for reports, they decide nothing."""
    wanted = {(s.source.file, s.source.key) for s in specs}
    extra = []
    for name, data in files.items():
        if name.endswith(".npz"):
            try:
                with zipfile.ZipFile(io.BytesIO(data)) as archive:
                    keys = [n.removesuffix(".npy") for n in archive.namelist()]
            except (zipfile.BadZipFile, ValueError, OSError):
                continue
            extra += [f"{name}:{key}" for key in keys if (name, key) not in wanted]
    return sorted(extra)


def _read(files: Mapping[str, bytes], source: Location) -> Array:
    data = files.get(source.file)
    if data is None:
        raise _Unread("missing file", source.file)
    if len(data) > FILE_BYTES:
        raise _Unread("too large", f"{source.file} has {len(data)} bytes")
    if source.pattern is not None:
        return _from_log(data, source.pattern)
    suffix = source.file.rpartition(".")[2].lower()
    if suffix == "npz":
        return _from_npz(data, source)
    if suffix == "npy":
        return _from_npy(data)
    if suffix == "json":
        return _from_json(data, source)
    return _from_table(data, source)


def _from_npz(data: bytes, source: Location) -> Array:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            name = f"{source.key}.npy"
            if source.key is None or name not in archive.namelist():
                raise _Unread("missing key", f"{source.key} in {source.file}")
            if archive.getinfo(name).file_size > ARRAY_BYTES:
                raise _Unread("too large", f"{source.key} in {source.file}")
            with archive.open(name) as member:
                packed = member.read(ARRAY_BYTES + 1)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError, EOFError) as error:
        raise _Unread("unreadable", f"{source.file}: {error}") from None
    if len(packed) > ARRAY_BYTES:  # the archive's own word on the size is not believed
        raise _Unread("too large", f"{source.key} in {source.file}")
    return _from_npy(packed)


def _from_npy(data: bytes) -> Array:
    try:
        # Never unpickle; the header may claim any shape, numpy checks it against the data that is there.
        array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except (ValueError, OSError, EOFError, MemoryError, OverflowError, TypeError, SyntaxError) as error:
        raise _Unread("unreadable", str(error)[:200]) from None
    return np.asarray(array)


def _from_json(data: bytes, source: Location) -> Array:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _Unread("unreadable", f"{source.file}: {str(error)[:200]}") from None
    for part in source.key.split(".") if source.key else []:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise _Unread("missing key", f"{source.key} in {source.file}")
    try:
        array = np.array(value)
    except (ValueError, OverflowError, RecursionError):
        raise _Unread("not numeric", f"{source.key} is not a regular array") from None
    if array.dtype == object:
        raise _Unread("not numeric", f"{source.key} is not an array of numbers or of text")
    return array


def _from_table(data: bytes, source: Location) -> Array:
    """A column (or all of them) of a CSV or whitespace table; `#` starts a comment."""
    text = _text(data)
    comma = source.file.endswith(".csv") or "," in text.partition("\n")[0]
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    rows = list(csv.reader(lines)) if comma else [line.split() for line in lines]
    if not rows:
        raise _Unread("empty", source.file)
    header = [c.strip() for c in rows[0]] if _number(rows[0][0]) is None else None
    if header is None and not comma:
        header = _commented_header(text, len(rows[0]))
    body = rows[1:] if header is not None and _number(rows[0][0]) is None else rows
    indices = _columns(source, header, len(body[0]) if body else 0)
    try:
        numbers = [[_number(row[i]) for i in indices] for row in body]
    except IndexError:
        raise _Unread("unreadable", f"{source.file}: rows of different lengths") from None
    if any(n is None for row in numbers for n in row):
        raise _Unread("not numeric", f"{source.file}")
    array = np.array(numbers, dtype=np.float64)
    return array[:, 0] if source.column is not None else array


def _commented_header(text: str, width: int) -> list[str] | None:
    first = text.lstrip().partition("\n")[0]
    names = first.lstrip("# ").split()
    return names if first.startswith("#") and len(names) == width else None


def _columns(source: Location, header: Sequence[str] | None, width: int) -> list[int]:
    if source.column is None:
        return list(range(width))
    if isinstance(source.column, int):
        if not 0 <= source.column < width:
            raise _Unread("missing key", f"column {source.column} of {width} in {source.file}")
        return [source.column]
    if header is None or source.column not in header:
        raise _Unread("missing key", f"column {source.column!r} in {source.file}")
    return [header.index(source.column)]


def _from_log(data: bytes, pattern: str) -> Array:
    """All numbers that group 1 of `pattern` matches, in order; Fortran's `1.0D-3` is a number."""
    found = [_number(match.group(1)) for match in re.finditer(pattern, _text(data), re.MULTILINE)]
    if not found:
        raise _Unread("missing key", f"nothing matches {pattern!r}")
    if any(number is None for number in found):
        raise _Unread("not numeric", f"a match of {pattern!r}")
    return np.array(found[0] if len(found) == 1 else found, dtype=np.float64)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Unread("unreadable", f"not UTF-8 at byte {error.start}") from None


def _number(text: str) -> float | None:
    try:
        return float(text.strip().replace("D", "e").replace("d", "e"))
    except ValueError:
        return None


def _checked(array: Array, spec: ObservableSpec) -> Array:
    """The array, if it is one that can be judged."""
    if array.dtype.kind not in "biufcU":
        raise _Unread("not numeric", f"dtype {array.dtype}")
    if array.size == 0:
        raise _Unread("empty", spec.name)
    if spec.shape is not None:
        fits = array.ndim == len(spec.shape) and all(
            isinstance(want, str) or want == have for want, have in zip(spec.shape, array.shape, strict=True)
        )
        if not fits:
            raise _Unread("wrong shape", f"{array.shape} is not {tuple(spec.shape)}")
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise _Unread("not finite", f"{int(np.sum(~np.isfinite(array)))} of {array.size} elements")
    return array
