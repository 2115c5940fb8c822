"""The names of what can be wrong with an observable, other than its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

FailureName = Literal[
    "no output",
    "missing file",
    "missing key",
    "too large",
    "unreadable",
    "not numeric",
    "wrong shape",
    "non-finite",
    "infinite error",
]
"""
no output       the case did not run, or nothing was read for this observable
missing file    the file is not there
missing key     the file has no such key, column or match
too large       the file or the array is beyond what is read
unreadable      not a plain file, or not in the format that its name says
not numeric     text or objects where numbers belong
wrong shape     not the stated shape, or not the reference's
non-finite      a NaN or an infinity
infinite error  numbers that differ beyond any measure: relative to a reference of zero, or an overflow
"""

FAILURES: tuple[FailureName, ...] = get_args(FailureName)

DETAIL = 120
"""Characters of a detail that are kept: it may quote what a hostile program wrote."""


@dataclass(frozen=True)
class Failure:
    """Why an observable has no array."""

    name: FailureName
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.detail}" if self.detail else self.name


class Unusable(Exception):
    """Raised while reading hostile output, and turned into a `Failure` before anybody else sees it."""

    def __init__(self, name: FailureName, detail: str = "") -> None:
        super().__init__(name, detail)
        self.failure = Failure(name, shown(detail))


def shown(text: str) -> str:
    """`text` fit to be printed: no control characters, at most `DETAIL` characters."""
    plain = "".join(c if c.isprintable() else "?" for c in text[: DETAIL + 1])
    return plain if len(plain) <= DETAIL else plain[: DETAIL - 1] + "…"
