"""From errors to scores: how much of the way from broken to right an output has come.

An observable's score falls on a logarithmic scale from 1 at its tolerance to 0 at its signal, the size of
error that a broken code makes:

    s(e) = 1                                      e ≤ tolerance
    s(e) = ln(signal / e) / ln(signal / tolerance)   in between
    s(e) = 0                                      e ≥ signal

A case scores its worst observable's score: one right number does not make a wrong one right. A task scores
the mean over all cases of its environment, so that a fix which breaks another case shows.
"""

from __future__ import annotations

import math

DIGITS = 6
"""Scores are rounded, so that the last bits of a processor do not decide who earned what."""

SIGNAL_OVER_TOLERANCE = 1e6
"""Stands for the signal where none was measured."""

LEAST_TOLERANCE = 1e-16
"""Where the tolerance is zero the logarithm starts here."""


def graded(err: float, tol: float, signal: float | None) -> float:
    """The score of an error, in [0, 1], monotone and rounded to `DIGITS`.

    Args:
        err: the error, not negative; infinite or NaN scores 0.
        tol: full credit up to here.
        signal: no credit from here on. None, or anything not above the tolerance, means that no scale was
            measured: then `tol · SIGNAL_OVER_TOLERANCE`, and 1 (all wrong) where `tol` is 0.
    """
    if math.isnan(err):
        return 0.0
    if err <= tol:
        return 1.0
    if signal is None or not math.isfinite(signal) or signal <= tol:
        signal = tol * SIGNAL_OVER_TOLERANCE if tol > 0 else 1.0
    if err >= signal:
        return 0.0
    low = max(tol, min(LEAST_TOLERANCE, signal * 1e-3))
    if err <= low:
        return 1.0 - 10.0**-DIGITS
    score = math.log(signal / err) / math.log(signal / low)
    # Only what is within the tolerance is right: rounding must not make up for the rest.
    return min(max(round(score, DIGITS), 0.0), 1.0 - 10.0**-DIGITS)


def repair_reward(score: float, floor: float) -> float:
    """max(0, (score − floor) / (1 − floor)): exactly 0 for the untouched task, exactly 1 for a full repair."""
    return 0.0 if score <= floor else min(1.0, (score - floor) / (1.0 - floor))
