"""Arrays from JSON, tables and logs that a hostile program wrote."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scienceide.verifiers.failures import Unusable

TEXT_BYTES = 4 * 2**20
"""The largest JSON file or table: as Python objects it takes up to a hundred times as much, and a second or
two. Larger data belongs into an `.npz` file."""
LOG_BYTES = 2 * 2**20
"""The largest file that is searched for a pattern."""
LINE = 256
"""Characters of a line that a pattern sees: bounds what backtracking can cost."""
CELL = 64
"""Characters of the longest number."""
WORD = 4096
"""Characters of the longest text element."""
TEXT_ARRAY_BYTES = 64 * 2**20
DEPTH = 32

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_REAL = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eEdD][+-]?[0-9]+|[+-][0-9]{3})?|nan|inf|infinity)", re.IGNORECASE
)
_FORTRAN = re.compile(r"(?<=[0-9.])[dD]?(?=[+-])|[dD](?=[0-9])")
"""Where Fortran writes D for e, or nothing at all before an exponent of three digits."""

Array = npt.NDArray[Any]


def decode(data: bytes, most: int = TEXT_BYTES) -> str:
    """UTF-8 text of at most `most` bytes.

    Raises:
        Unusable: it is longer, or something else.
    """
    if len(data) > most:
        raise Unusable("too large", f"more than {most >> 20} MiB of text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unusable("unreadable", f"not UTF-8 at byte {error.start}") from None


def parse_json(data: bytes) -> Any:
    """The document; NaN and Infinity are read, to be refused by name later.

    Raises:
        Unusable: it is not JSON, or nested or numbered beyond reason.
    """
    try:
        return json.loads(decode(data))
    except RecursionError:
        raise Unusable("unreadable", "JSON nested too deeply") from None
    except ValueError as error:  # bad JSON, or an integer of thousands of digits
        raise Unusable("unreadable", f"not JSON: {error}") from None


def pick(document: Any, key: str | None) -> Any:
    """What a dotted key leads to: names in objects, zero-based numbers in lists; the document itself for None.

    Raises:
        Unusable: there is no such key.
    """
    for part in [] if key is None else key.split("."):
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list) and part.isdecimal() and part.isascii() and int(part) < len(document):
            document = document[int(part)]
        else:
            raise Unusable("missing key", f"no {key!r}")
    return document


def json_array(value: Any, *, text: bool) -> Array:
    """A number, a text, or nested lists of one shape as an array.

    Raises:
        Unusable: the lists are ragged, or hold something else.
    """
    shape: list[int] = []
    level = [value]
    while level and all(isinstance(item, list) for item in level):
        lengths = {len(item) for item in level}
        if len(lengths) > 1 or len(shape) >= DEPTH:
            raise Unusable("wrong shape", "lists of different lengths, or nested too deeply")
        shape.append(lengths.pop())
        level = [leaf for item in level for leaf in item]
    if any(isinstance(item, list) for item in level):
        raise Unusable("wrong shape", "lists beside values")
    return _leaves(level, text).reshape(shape)


def column(text: str, which: str | int | None, *, words: bool) -> Array:
    """A column of a table by header name or number, or for None the whole table (rows × columns).

    Columns are separated by commas where the line has one, else by white space. Lines that start with # are
    comments. The header is the first line that holds the name, a comment or not; for a number, and for the
    whole table, a first row with anything but numbers in it is taken for a header and left out.

    Raises:
        Unusable: there is no such column, a row lacks it, or a cell is not a number.
    """
    rows = [_cells(line) for raw in text.split("\n") if (line := raw.strip())]
    if isinstance(which, str):
        start = next((n for n, row in enumerate(rows) if which in _header(row)), None)
        if start is None:
            raise Unusable("missing key", f"no column {which!r}")
        index: int | None = _header(rows[start]).index(which)
        rows = rows[start + 1 :]
    else:
        index = which
        rows = [row for row in rows if not row[0].startswith("#")]
        if rows and not all(is_number(cell) for cell in rows[0]):
            rows = rows[1:]
    rows = [row for row in rows if not row[0].startswith("#")]
    if index is None:
        return _whole(rows, words)
    short = next((n for n, row in enumerate(rows, 1) if len(row) <= index), None)
    if short is not None:
        raise Unusable("missing key", f"row {short} has {len(rows[short - 1])} columns")
    return numbers([row[index] for row in rows], words=words)


def matches(data: bytes, pattern: str, *, words: bool) -> Array:
    """Group 1 of all matches of `pattern`, line by line; of each line the first `LINE` characters are searched.

    Raises:
        Unusable: there is no match, or one is not a number.
    """
    expression = re.compile(pattern)
    lines = decode(data, LOG_BYTES).split("\n")
    found = [match[1] or "" for line in lines for match in expression.finditer(line[:LINE].rstrip("\r"))]
    if not found:
        raise Unusable("missing key", "no line matches the pattern")
    return numbers(found, words=words)


def numbers(cells: Sequence[str], *, words: bool) -> Array:
    """Cells as integers where all are, else as floats, else, where `words` are allowed, as text.

    Raises:
        Unusable: neither fits.
    """
    cells = [cell.strip() for cell in cells]
    if all(len(cell) <= CELL and _INTEGER.fullmatch(cell) for cell in cells):
        return np.array([int(cell) for cell in cells], np.int64)
    wrong = next((cell for cell in cells if not is_number(cell)), None)
    if wrong is None:
        return np.array([float(_FORTRAN.sub("e", cell, count=1)) for cell in cells], np.float64)
    if not words:
        raise Unusable("not numeric", repr(wrong[:CELL]))
    return _text(cells)


def is_number(cell: str) -> bool:
    """Whether a cell is a decimal number as C, Python or Fortran write it, NaN and infinity included."""
    return len(cell) <= CELL and _REAL.fullmatch(cell) is not None


def _leaves(level: list[Any], text: bool) -> Array:
    kinds = {type(item) for item in level}
    if kinds <= {bool} and level:
        return np.array(level, np.bool_)
    if kinds <= {int}:
        if all(-(2**63) <= item < 2**63 for item in level):
            return np.array(level, np.int64 if level else np.float64)
        raise Unusable("not numeric", "an integer beyond 64 bits")
    if kinds <= {int, float}:
        try:
            return np.array([float(item) for item in level], np.float64)
        except OverflowError:
            raise Unusable("non-finite", "an integer beyond the range of a double") from None
    if text and kinds == {str}:
        return _text(level)
    raise Unusable("not numeric", f"{', '.join(sorted(kind.__name__ for kind in kinds))} in JSON")


def _text(words: Sequence[str]) -> Array:
    longest = max(len(word) for word in words)
    if longest > WORD or 4 * longest * len(words) > TEXT_ARRAY_BYTES:
        raise Unusable("too large", "too long a text")
    if any("\0" in word for word in words):
        raise Unusable("unreadable", "a NUL in a text")
    return np.array(words, np.str_)


def _cells(line: str) -> list[str]:
    if "," not in line:
        return line.split()
    try:
        return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True))]
    except csv.Error as error:
        raise Unusable("unreadable", f"not CSV: {error}") from None


def _header(row: list[str]) -> list[str]:
    """Column names: the row without a leading #."""
    return row[1:] if row[0] == "#" else [row[0].removeprefix("#").strip(), *row[1:]]


def _whole(rows: list[list[str]], words: bool) -> Array:
    if len({len(row) for row in rows}) > 1:
        raise Unusable("wrong shape", "rows of different lengths")
    flat = numbers([cell for row in rows for cell in row], words=words)
    return flat.reshape(len(rows), len(rows[0]) if rows else 0)
