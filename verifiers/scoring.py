"""From errors to scores: graded between the defect's own error and the tolerance, on a logarithmic scale.

Scores are rounded to six decimals, so that the same result is the same number on two machines, and only an
error within its tolerance scores 1: rounding never makes a wrong output right.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from scienceide.verifiers.criteria import Array, norm, tolerance
from scienceide.verifiers.spec import Bounds, Criterion, Norm, ObservableSpec

DECIMALS = 6
ALMOST = 1.0 - 10.0**-DECIMALS
"""The highest score of anything that is not right."""
DEAD_BAND = 0.01
"""An error within this share of the untouched task's own earns nothing: another machine's rounding moves the
error of a defect in its last digits, and doing nothing has to earn exactly 0 there too."""


def graded(error: float | None, tolerance: float, signal: float | None) -> float:
    """The score of one error, in [0, 1], falling as the error grows.

        1                                              error ≤ tolerance
        log(signal / error) / log(signal / tolerance)  in between
        0                                              error ≥ signal

    With tolerance 0 there is no logarithm; in between it is then 1 − error / signal. No error (None, NaN,
    infinity) scores 0. Without a finite signal above the tolerance there is nothing in between: 1 or 0.
    """
    if error is None or not math.isfinite(error):
        return 0.0
    if error <= tolerance:
        return 1.0
    if signal is None or not math.isfinite(signal) or signal <= tolerance or error >= signal:
        return 0.0
    score = 1.0 - error / signal if tolerance <= 0.0 else _log_ratio(signal, error) / _log_ratio(signal, tolerance)
    return below_one(score)


def score_of(criterion: Criterion, error: float | None, signal: float) -> float:
    """The score of an observable's error by its criterion.

    `norm` and `conserved` are graded between their tolerance and the signal, `exact` linearly. For `bounds`
    the width w of the bounds stands for the tolerance: graded(w + error, w, w + signal). For |x| ≤ m that is
    the logarithmic scale in |x| itself, from m up to where the defect has it.
    """
    if error is None or not math.isfinite(error):
        return 0.0
    if not isinstance(criterion, Bounds):
        return graded(error, tolerance(criterion), signal)
    if error <= 0.0:
        return 1.0
    width = width_of(criterion)
    return below_one(graded(width + error, width, width + signal))


def signal_of(spec: ObservableSpec, reference: Array, untouched: float | None) -> float:
    """The error that earns nothing.

    The untouched task's own error (less `DEAD_BAND`) where the defect moves this observable beyond its
    tolerance; else the typical error of mutants, from the evidence; else, and never more than, the error
    of an answer that is wrong altogether, see `wholly_wrong`.

    Args:
        spec: the observable.
        reference: its reference values.
        untouched: its error in the untouched task; None where that gave no number or is not known.
    """
    allowed = tolerance(spec.criterion)
    most = wholly_wrong(spec.criterion, reference)
    if untouched is not None and math.isfinite(untouched) and untouched > allowed:
        return min(most, untouched * (1.0 - DEAD_BAND))
    typical = None if spec.evidence is None else spec.evidence.signal
    return min(most, typical) if typical is not None and typical > allowed else most


def wholly_wrong(criterion: Criterion, reference: Array) -> float:
    """The error of an answer of which nothing is right; at least ten tolerances.

    For norms that of all zeros: 1, or the reference's norm where the scale is absolute. 1 for `exact` (every
    element) and `conserved`. For `bounds` their width, and at least one `scale`. Beyond it, smaller errors
    are no progress: a defect that overflows to 1e300 must not make an answer of zeros look nearly right.
    """
    value = 1.0
    if isinstance(criterion, Norm) and criterion.scale == "absolute":
        value = norm(reference, criterion.norm)
    elif isinstance(criterion, Bounds):
        value = max(1.0, width_of(criterion))
    return min(sys.float_info.max, max(value, 10.0 * tolerance(criterion)))


def width_of(bounds: Bounds) -> float:
    """Half the allowed range in error units: `max_abs`, or (high − low) / 2; one scale where neither is given."""
    widths = []
    if bounds.max_abs is not None:
        widths.append(bounds.max_abs / bounds.scale)
    if bounds.low is not None and bounds.high is not None and bounds.high > bounds.low:
        widths.append((bounds.high / 2 - bounds.low / 2) / bounds.scale)
    return min(widths, default=1.0)


def mean_score(scores: Sequence[float]) -> float:
    """The mean over all cases, rounded; 1 only if every one of them is 1.

    Raises:
        ValueError: there are none.
    """
    if not scores:
        raise ValueError("a score needs at least one case")
    if all(score == 1.0 for score in scores):
        return 1.0
    return below_one(math.fsum(scores) / len(scores))


def repair_reward(score: float, floor: float) -> float:
    """max(0, (score − floor) / (1 − floor)), rounded: exactly 0 for the untouched task, exactly 1 for a fixed one.

    Args:
        score: mean score over all cases.
        floor: the untouched task's score.

    Raises:
        ValueError: the floor is not in [0, 1): an untouched task that is right already cannot be repaired.
    """
    if not 0.0 <= floor < 1.0:
        raise ValueError(f"a floor lies in [0, 1), got {floor}")
    if score >= 1.0:
        return 1.0
    return below_one(max(0.0, (score - floor) / (1.0 - floor)))


def below_one(score: float) -> float:
    """Rounded, in [0, ALMOST]."""
    return min(ALMOST, max(0.0, round(score, DECIMALS)))


def _log_ratio(high: float, low: float) -> float:
    ratio = high / low  # infinite where it overflows
    return math.log(ratio) if math.isfinite(ratio) else math.log(high) - math.log(low)
