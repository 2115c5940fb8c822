"""How wrong an output is: one number per criterion, zero for a perfect output, infinite for no output at all.

With c the candidate and r the reference, both of the same shape:

    norm, absolute   ‖c − r‖
    norm, relative   ‖ |c − r| / |r| ‖          0 where c = r = 0, infinite where only r = 0
    norm, field      ‖c − r‖ / ‖r‖              ‖c − r‖ where ‖r‖ = 0
        linf: max |x|    l1: mean |x|    l2: sqrt(mean |x|²)
    exact            share of elements with c ≠ r
    conserved        max over t of |c(t) − c(0)| / |c(0)|, element by element, t along axis 0
    bounds           max(0, low − c, c − high, |c| − max_abs) / scale

Whatever the criterion, a NaN or an infinity in the candidate, or another shape than the reference's, is an
infinite error. The shape counts for `conserved` and `bounds` too: a series cut to its first point conserves
everything.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from scienceide.verifiers.spec import Bounds, Conserved, Criterion, Exact, Norm

Array = npt.NDArray[Any]

NUMERIC = "biufc"
"""Kinds of numpy dtypes that are numbers; `U` is text."""


def error(criterion: Criterion, candidate: Array, reference: Array) -> float:
    """The error of `candidate` by `criterion`, in [0, inf]; never NaN.

    Args:
        criterion: the rule, which also says the error's units.
        candidate: what is judged, any shape; numbers, or text for `exact`.
        reference: what the pristine code gives, of the same shape.
    """
    candidate, reference = np.asarray(candidate), np.asarray(reference)
    if candidate.shape != reference.shape or not (is_finite(candidate) and is_finite(reference)):
        return math.inf
    if isinstance(criterion, Exact):
        return _exact(candidate, reference)
    if candidate.dtype.kind not in NUMERIC or reference.dtype.kind not in NUMERIC:
        return math.inf
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if isinstance(criterion, Norm):
            value = _norm_error(criterion, candidate, reference)
        elif isinstance(criterion, Conserved):
            value = _drift(candidate, reference)
        else:
            value = _outside(criterion, candidate)
    return math.inf if math.isnan(value) else value


def tolerance(criterion: Criterion) -> float:
    """The error up to which an output is right: 0 for `exact` and `bounds`, which have none."""
    return criterion.tolerance if isinstance(criterion, Norm | Conserved) else 0.0


def is_finite(array: Array) -> bool:
    """Whether there is no NaN and no infinity; text and integers have none."""
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def norm(values: Array, kind: str) -> float:
    """`linf` max |x|, `l1` mean |x|, `l2` root mean square; 0 for an empty array.

    Scaled by the largest element, so that squares of large and of small numbers do not over- or underflow.
    """
    if values.size == 0:
        return 0.0
    sizes = np.abs(_as_float(values))
    largest = float(sizes.max())
    if kind == "linf" or largest == 0.0 or not math.isfinite(largest):
        return largest
    shares = sizes / largest
    return largest * float(np.mean(shares) if kind == "l1" else math.sqrt(np.mean(shares * shares)))


def _norm_error(criterion: Norm, candidate: Array, reference: Array) -> float:
    distance = _distance(candidate, reference)
    if criterion.scale == "relative":
        size = np.abs(_as_float(reference))
        distance = np.where(distance == 0.0, 0.0, distance / size)
    value = norm(distance, criterion.norm)
    if criterion.scale == "field" and (size_of_field := norm(reference, criterion.norm)) > 0.0:
        value /= size_of_field
    return value


def _exact(candidate: Array, reference: Array) -> float:
    if candidate.size == 0:
        return 0.0
    if (candidate.dtype.kind in NUMERIC) != (reference.dtype.kind in NUMERIC):
        return 1.0
    return float(np.mean(candidate != reference))


def _drift(candidate: Array, reference: Array) -> float:
    if candidate.ndim == 0 or candidate.shape[0] < 2:
        return math.inf  # a series of one point shows nothing, and a criterion that cannot fail is none
    start = np.abs(_as_float(candidate[0]))
    change = _distance(candidate, np.broadcast_to(candidate[0], candidate.shape))
    drift = np.where(start > 0.0, change / start, change)
    vanished = np.any((start == 0.0) & (np.abs(_as_float(reference[0])) > 0.0))
    worst = norm(drift, "linf")
    return max(worst, 1.0) if vanished else worst


def _outside(criterion: Bounds, candidate: Array) -> float:
    if candidate.size == 0:
        return 0.0
    values = _as_float(candidate)
    excess = 0.0
    if criterion.max_abs is not None:
        excess = max(excess, float(np.abs(values).max()) - criterion.max_abs)
    if criterion.low is not None or criterion.high is not None:
        if values.dtype.kind == "c":
            return math.inf  # complex numbers have no order
        if criterion.low is not None:
            excess = max(excess, criterion.low - float(values.min()))
        if criterion.high is not None:
            excess = max(excess, float(values.max()) - criterion.high)
    return excess / criterion.scale


def _distance(a: Array, b: Array) -> Array:
    """|a − b| as float64; exact for integers too large for a float, and without their overflow."""
    if a.dtype.kind in "iu" and a.dtype.kind == b.dtype.kind:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        a, b = a.astype(wide), b.astype(wide)
        # The difference of two 64-bit integers fits in 64 bits without a sign.
        ua, ub = a.astype(np.uint64), b.astype(np.uint64)
        return np.where(a >= b, ua - ub, ub - ua).astype(np.float64)
    return np.asarray(np.abs(_as_float(a) - _as_float(b)))


def _as_float(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
