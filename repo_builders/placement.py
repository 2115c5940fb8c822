"""Where a tolerance belongs: well above every legitimate difference, well below what a mistake does.

Between ten times the noise and a tenth of the signal the tolerance is placed in the geometric middle, so
that it keeps the same factor from both. Pure numbers, in the criterion's own error units.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

MARGIN = 10.0
ROUNDING = 2e-14
"""Noise is taken as no less than this share of an observable's size, a hundred roundings of a double: a fix
that sums in another order must pass, whatever the repeats show."""


@dataclass(frozen=True)
class Placement:
    """A tolerance and what it rests on; `flag` says why it is none, or not a good one."""

    tolerance: float | None
    noise: float
    signal: float | None
    flag: str = ""


def place(noises: Sequence[float], errors: Sequence[float | None], size: float, present: float | None) -> Placement:
    """Place a tolerance.

    Args:
        noises: errors of legitimate runs against the reference.
        errors: errors of mutants; None where a mutant left no number.
        size: the observable's magnitude in error units: 1 for relative errors, max |reference| for absolute. An
            error of that size is all wrong, so a larger signal counts as that large.
        present: the tolerance that the case's author chose, used where no mutant moves the observable.
    """
    noise = max(noises, default=0.0)
    if not math.isfinite(noise):
        return Placement(present, noise, None, "legitimate runs differ without bound")
    lowest = MARGIN * (max(noise, ROUNDING * size) or ROUNDING)
    moved = [e for e in errors if e is not None and math.isfinite(e) and e > lowest]
    if not moved:
        kept = None if present is None else max(present, lowest)
        return Placement(kept, noise, None, "no mutant moves it")
    signal = min(statistics.median(moved), size or math.inf)
    highest = signal / MARGIN
    if highest < lowest:
        return Placement(present, noise, signal, "the signal is not clear of the noise")
    return Placement(rounded(math.sqrt(lowest * highest), lowest, highest), noise, signal)


def observe(noises: Sequence[float], errors: Sequence[float | None]) -> Placement:
    """Noise and signal under a criterion that has no tolerance: any error at all is wrong."""
    noise = max(noises, default=0.0)
    moved = [e for e in errors if e is not None and math.isfinite(e) and e > 0]
    failed = any(e is None for e in errors)
    flag = "a legitimate run does not meet it" if noise > 0 else "" if moved or failed else "no mutant moves it"
    return Placement(None, noise, statistics.median(moved) if moved else None, flag)


def rounded(value: float, low: float, high: float) -> float:
    """`value` to one significant digit, where that stays within [`low`, `high`]."""
    exponent = math.floor(math.log10(value))
    short = float(f"{round(value / 10**exponent)}e{exponent}")
    return short if low <= short <= high else value
