"""Defects as operations on pinned source: applying one, and its exact inverse.

A defect names lines by number and hash and replaces spans in them, so that no upstream text needs to be
stored. Lines are split at newlines alone; a carriage return before one belongs to the ending. Bytes that
are no UTF-8 survive both ways.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path

from scienceide.base.errors import TaskError
from scienceide.envs.formats import Defect, Edit

SWAP = "swapped-arguments"
"""The one operator whose `new` is no text but two ranges of the span, `a:b,c:d`, that change places."""


def to_text(data: bytes) -> str:
    """Source bytes as text that `to_bytes` turns back exactly."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """The inverse of `to_text`."""
    return text.encode("utf-8", "surrogateescape")


def line_sha256(line: str) -> str:
    """How an edit knows its line: SHA-256 of its content without the line ending."""
    return hashlib.sha256(to_bytes(line)).hexdigest()


def content_of(line: str) -> str:
    """A line (split at a newline) without a carriage return at its end."""
    return line[:-1] if line.endswith("\r") else line


def apply_edits(edits: Sequence[Edit], text: str) -> str:
    """`text` with all `edits` of one file made; every edit refers to `text` as given.

    Raises:
        TaskError: a line is not there or not what it was, a span is out of range, or two overlap.
    """
    lines = text.split("\n")
    for edit in sorted(_checked(edits, lines), key=lambda e: (e.line, e.span), reverse=True):
        line = lines[edit.line - 1]
        start, end = edit.span
        lines[edit.line - 1] = line[:start] + replacement(edit, line[start:end]) + line[end:]
    return "\n".join(lines)


def replacement(edit: Edit, old: str) -> str:
    """What stands in the place of `old`, the text of the edit's span."""
    if edit.operator != SWAP:
        return edit.new
    try:
        (a, b), (c, d) = (tuple(map(int, part.split(":"))) for part in edit.new.split(","))
    except ValueError:
        raise _broken(edit, f"{edit.new!r} are not two ranges of the form a:b,c:d") from None
    if not 0 <= a < b <= c < d <= len(old):
        raise _broken(edit, f"the ranges {edit.new!r} do not lie one after the other in the span")
    return old[:a] + old[c:d] + old[b:c] + old[a:b] + old[d:]


def invert_edits(edits: Sequence[Edit], text: str) -> tuple[Edit, ...]:
    """The edits that turn `apply_edits(edits, text)` back into `text`.

    They contain text of the source and so are never stored.

    Raises:
        TaskError: as for `apply_edits`.
    """
    broken = apply_edits(edits, text).split("\n")
    lines = text.split("\n")
    inverse = []
    for number, group in groupby(sorted(edits, key=lambda e: (e.line, e.span)), key=lambda e: e.line):
        shift = 0
        for edit in group:
            start, end = edit.span
            old = lines[number - 1][start:end]
            new = replacement(edit, old)
            span = (start + shift, start + shift + len(new))
            shift += len(new) - len(old)
            inverse.append(
                Edit(
                    file=edit.file,
                    line=number,
                    span=span,
                    line_sha256=line_sha256(content_of(broken[number - 1])),
                    operator="inverse",
                    new=old,
                )
            )
    return tuple(inverse)


def broken_files(defect: Defect, read: Callable[[str], bytes]) -> dict[str, bytes]:
    """The new contents of all files that a defect changes.

    Args:
        defect: the edits.
        read: gives the pristine bytes of a file of the tree; raises OSError where there is none.

    Raises:
        TaskError: the defect does not apply; names the file and line.
    """
    return {
        file: to_bytes(apply_edits(edits, to_text(_pristine(file, edits, read))))
        for file, edits in by_file(defect.edits).items()
    }


def fixed_files(defect: Defect, read: Callable[[str], bytes]) -> dict[str, bytes]:
    """The known fix: what the exact inverse makes of the broken files, by way of the inverse itself.

    Raises:
        TaskError: the defect does not apply.
    """
    fixed = {}
    for file, edits in by_file(defect.edits).items():
        pristine = to_text(_pristine(file, edits, read))
        fixed[file] = to_bytes(apply_edits(invert_edits(edits, pristine), apply_edits(edits, pristine)))
    return fixed


def reader(tree: Path) -> Callable[[str], bytes]:
    """A `read` for the functions above, over a folder."""
    return lambda file: (tree / file).read_bytes()


def by_file(edits: Iterable[Edit]) -> Mapping[str, list[Edit]]:
    """Edits by the file they touch, files sorted."""
    ordered = sorted(edits, key=lambda e: e.file)
    return {file: list(group) for file, group in groupby(ordered, key=lambda e: e.file)}


def _pristine(file: str, edits: Sequence[Edit], read: Callable[[str], bytes]) -> bytes:
    try:
        return read(file)
    except OSError as error:
        raise _broken(edits[0], f"the file cannot be read ({error.strerror or error})") from None


def _checked(edits: Sequence[Edit], lines: Sequence[str]) -> list[Edit]:
    """The edits in order, each verified to fit its line."""
    ordered = sorted(edits, key=lambda e: (e.line, e.span))
    for edit in ordered:
        if edit.line > len(lines):
            raise _broken(edit, f"the file has only {len(lines)} lines")
        line = content_of(lines[edit.line - 1])
        if line_sha256(line) != edit.line_sha256:
            raise _broken(edit, "the line is not the one that the defect was made for")
        if not 0 <= edit.span[0] <= edit.span[1] <= len(line):
            raise _broken(edit, f"the span {edit.span} does not lie in the line")
    for first, second in pairwise(ordered):
        if first.line == second.line and (second.span[0] < first.span[1] or second.span == first.span):
            raise _broken(second, "two edits overlap")
    return ordered


def _broken(edit: Edit, why: str) -> TaskError:
    return TaskError(f"{edit.file}:{edit.line}: the defect no longer applies: {why}.")
