"""The observables of one run: named arrays, and named failures where there is none."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from scienceide.base.errors import VerifierError
from scienceide.base.paths import write_atomically
from scienceide.verifiers.arrays import ARRAY_BYTES, Archive, Array, parse_npy
from scienceide.verifiers.criteria import NUMERIC, is_finite
from scienceide.verifiers.failures import Failure, FailureName, Unusable, shown
from scienceide.verifiers.files import FILE_BYTES, names_in, read_regular
from scienceide.verifiers.spec import Exact, ObservableSpec, Strict
from scienceide.verifiers.text import column, decode, json_array, matches, parse_json, pick

TOTAL_BYTES = 256 * 2**20
"""The most that all arrays of one run take together."""
NOTES = 10
"""So many names of what nobody asked for are told."""
INDEX = "index.json"


@dataclass(frozen=True, eq=False)
class Outputs:
    """What one run of a case left, by observable name; each is in `arrays` or in `failures`.

    Arrays are read-only and finite. `notes` say what was there besides.
    """

    arrays: Mapping[str, Array] = field(default_factory=dict)
    failures: Mapping[str, Failure] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def save(self, path: Path) -> None:
        """Write everything into one `.npz` file; the same outputs make the same bytes."""
        failures = {name: (failure.name, failure.detail) for name, failure in self.failures.items()}
        index = _Index(arrays=tuple(self.arrays), failures=failures, notes=self.notes)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo(INDEX), index.model_dump_json())
            for number, array in enumerate(self.arrays.values()):
                member = io.BytesIO()
                np.lib.format.write_array(member, array, allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(f"{number}.npy"), member.getvalue(), zipfile.ZIP_DEFLATED)
        write_atomically(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> Outputs:
        """Read what `save` wrote.

        Raises:
            VerifierError: the file is missing or broken; it may be deleted and computed again.
        """
        try:
            archive = Archive(path.read_bytes())
            index = _Index.model_validate_json(archive.content(INDEX))
            arrays = {name: _frozen(archive.array(str(number))) for number, name in enumerate(index.arrays)}
        except OSError as error:
            raise VerifierError(f"{path}: {error.strerror}.") from None
        except (ValidationError, Unusable):
            raise VerifierError(f"{path}: these are not saved outputs; delete the file.") from None
        failures = {name: Failure(*parts) for name, parts in index.failures.items()}
        return cls(arrays, failures, index.notes)


class _Index(Strict):
    """What is in a saved file: names in the order of the numbered arrays, and all that is not an array."""

    arrays: tuple[str, ...]
    failures: dict[str, tuple[FailureName, str]]
    notes: tuple[str, ...]


def read_outputs(source: Mapping[str, bytes] | Path, specs: Sequence[ObservableSpec]) -> Outputs:
    """Read all observables of a run.

    Args:
        source: the output files by name, or the folder they lie in. Whoever wrote them may be hostile.
        specs: what to read.

    Nothing is raised for bad output: every observable without an array has a failure with a name.
    """
    arrays: dict[str, Array] = {}
    failures: dict[str, Failure] = {}
    notes: list[str] = []
    left = TOTAL_BYTES
    for name, group in groupby(sorted(specs, key=_file), key=_file):
        wanted = list(group)
        try:
            read = _opened(name, _content(source, name), wanted, notes)
        except Unusable as bad:
            failures |= {spec.name: bad.failure for spec in wanted}
            continue
        for spec in wanted:
            try:
                array = _checked(read(spec), spec, left)
            except Unusable as bad:
                failures[spec.name] = bad.failure
            else:
                arrays[spec.name] = array
                left -= array.nbytes
    present = names_in(source) if isinstance(source, Path) else source
    notes += _extra("files", set(present) - {_file(spec) for spec in specs})
    return Outputs(arrays, failures, tuple(notes))


def _file(spec: ObservableSpec) -> str:
    return spec.source.file


def _content(source: Mapping[str, bytes] | Path, name: str) -> bytes:
    if isinstance(source, Path):
        return read_regular(source, name)
    if name not in source:
        raise Unusable("missing file", name)
    if len(source[name]) > FILE_BYTES:
        raise Unusable("too large", f"{name}: more than {FILE_BYTES >> 20} MiB")
    return source[name]


def _opened(
    name: str, data: bytes, wanted: Sequence[ObservableSpec], notes: list[str]
) -> Callable[[ObservableSpec], Array]:
    """Parse a file once; what comes back reads one observable from it."""
    suffix = wanted[0].source.suffix
    if suffix == ".npz":
        archive = Archive(data)
        notes += _extra(f"arrays in {name}", set(archive.names) - {spec.source.key or "" for spec in wanted})
        return lambda spec: archive.array(spec.source.key or "")
    if suffix == ".npy":
        return lambda spec: parse_npy(data)
    if suffix == ".json":
        document = parse_json(data)
        return lambda spec: json_array(pick(document, spec.source.key), text=_is_text(spec))
    return lambda spec: _from_text(data, spec)


def _from_text(data: bytes, spec: ObservableSpec) -> Array:
    if spec.source.pattern is not None:
        return matches(data, spec.source.pattern, words=_is_text(spec))
    return column(decode(data), spec.source.column, words=_is_text(spec))


def _checked(array: Array, spec: ObservableSpec, left: int) -> Array:
    if array.nbytes > min(left, ARRAY_BYTES):
        raise Unusable("too large", f"more than {ARRAY_BYTES >> 20} MiB, or {TOTAL_BYTES >> 20} MiB with the others")
    if array.dtype.kind not in NUMERIC and not (_is_text(spec) and array.dtype.kind == "U"):
        raise Unusable("not numeric", f"type {array.dtype}")
    if spec.shape is not None and not _fits(array.shape, spec.shape):
        raise Unusable("wrong shape", f"expected {_shape_text(spec.shape)}, got {_shape_text(array.shape)}")
    if not is_finite(array):
        bad = int(np.count_nonzero(~np.isfinite(array)))
        raise Unusable("non-finite", f"{bad} of {array.size} elements")
    return _frozen(array)


def _is_text(spec: ObservableSpec) -> bool:
    return isinstance(spec.criterion, Exact)


def _fits(shape: tuple[int, ...], stated: tuple[str | int, ...]) -> bool:
    """Lengths as stated, and the same length wherever the same axis name stands."""
    if len(shape) != len(stated):
        return False
    named: dict[str, int] = {}
    return all(
        length == axis if isinstance(axis, int) else named.setdefault(axis, length) == length
        for length, axis in zip(shape, stated, strict=True)
    )


def _shape_text(shape: Iterable[str | int]) -> str:
    return f"({', '.join(map(str, shape))})"


def _extra(what: str, names: AbstractSet[str]) -> list[str]:
    """One note on what nobody asked for."""
    if not names:
        return []
    few = ", ".join(shown(repr(name)) for name in sorted(names)[:NOTES])
    more = f" and {len(names) - NOTES} more" if len(names) > NOTES else ""
    return [f"unused {what}: {few}{more}"]


def _frozen(array: Array) -> Array:
    result = np.array(array, copy=True, order="C")
    result.setflags(write=False)
    return result
