"""How far an output is from what it must be: one non-negative number per criterion.

Every error is 0 for a perfect output and +inf where no comparison is possible (another shape, text against
numbers, NaN). Let c be the candidate, r the reference, d = c − r, all elementwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scienceide.verifiers.spec import Bounds, Conserved, Criterion, Exact, Norm

Array = NDArray[Any]


def error(criterion: Criterion, candidate: Array, reference: Array) -> float:
    """The error of `candidate` under `criterion`; see each criterion for its definition."""
    with np.errstate(all="ignore"):
        match criterion:
            case Norm():
                value = norm_error(criterion, candidate, reference)
            case Exact():
                value = exact_error(candidate, reference)
            case Conserved():
                value = conserved_error(candidate)
            case Bounds():
                value = bounds_error(criterion, candidate)
    return math.inf if math.isnan(value) else value


def tolerance(criterion: Criterion) -> float:
    """The largest error that passes: 0 for `exact` and `bounds`, whose allowance is in the rule itself."""
    return criterion.tolerance if isinstance(criterion, Norm | Conserved) else 0.0


def norm_error(criterion: Norm, candidate: Array, reference: Array) -> float:
    """‖d‖ by `norm` and `scale`.

    absolute: ‖d‖. field: ‖d‖ / ‖r‖, and ‖d‖ where r vanishes everywhere. relative: ‖d/r‖ elementwise, where
    an element with d = 0 counts 0 and one with r = 0 ≠ d counts infinite.
    linf is max |x|, l1 the mean of |x|, l2 the root of the mean of |x|².
    """
    if not _comparable(candidate, reference):
        return math.inf
    c, r = _inexact(candidate), _inexact(reference)
    d = np.abs(c - r)
    if criterion.scale == "relative":
        d = np.where(d == 0, 0.0, d / np.abs(r))
    size = _norm(criterion.norm, d)
    if criterion.scale == "field":
        whole = _norm(criterion.norm, np.abs(r))
        return size / whole if whole > 0 else size
    return size


def exact_error(candidate: Array, reference: Array) -> float:
    """The share of elements that differ."""
    text = candidate.dtype.kind == "U", reference.dtype.kind == "U"
    if candidate.shape != reference.shape or text[0] != text[1]:
        return math.inf
    return float(np.mean(candidate != reference))


def conserved_error(candidate: Array) -> float:
    """max over t of |x(t) − x(0)| / |x(0)| along axis 0, the worst over the other axes.

    Where x(0) is zero the drift is not divided. The reference plays no part.
    """
    if candidate.dtype.kind == "U" or candidate.ndim == 0:
        return math.inf
    x = _inexact(candidate)
    start = np.abs(x[0])
    drift = np.abs(x - x[0]).max(axis=0)
    return float(np.max(np.where(start > 0, drift / np.where(start > 0, start, 1.0), drift)))


def bounds_error(criterion: Bounds, candidate: Array) -> float:
    """The largest distance of an element outside the bounds, over `scale`; 0 when all are inside."""
    if candidate.dtype.kind in "Uc" and not (candidate.dtype.kind == "c" and criterion.max_abs is not None):
        return math.inf
    x = _inexact(candidate)
    outside = [0.0]
    if criterion.low is not None:
        outside.append(float(np.max(criterion.low - np.real(x))))
    if criterion.high is not None:
        outside.append(float(np.max(np.real(x) - criterion.high)))
    if criterion.max_abs is not None:
        outside.append(float(np.max(np.abs(x)) - criterion.max_abs))
    if any(math.isnan(o) for o in outside):
        return math.inf
    return max(outside) / criterion.scale


def _comparable(candidate: Array, reference: Array) -> bool:
    numbers = candidate.dtype.kind in "biufc" and reference.dtype.kind in "biufc"
    return numbers and candidate.shape == reference.shape and candidate.size > 0


def _inexact(array: Array) -> Array:
    """As floating-point numbers, so that no integer or boolean arithmetic overflows."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    # Long doubles hold every 64-bit integer exactly, which doubles do not.
    return array.astype(np.longdouble if array.dtype.kind in "iu" else np.float64)


def _norm(kind: str, x: Array) -> float:
    if kind == "linf":
        return float(np.max(x))
    if kind == "l1":
        return float(np.mean(x))
    peak = float(np.max(x))
    if peak == 0 or not math.isfinite(peak):
        return peak
    return peak * float(np.sqrt(np.mean((x / peak) ** 2)))
