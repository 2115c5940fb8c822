"""From outputs to the verdict on a case, by the criteria that the case promises."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from scienceide.verifiers.criteria import error, tolerance
from scienceide.verifiers.outputs import Failure, Outputs
from scienceide.verifiers.scoring import graded
from scienceide.verifiers.spec import ObservableSpec
from scienceide.verifiers.verdict import CaseVerdict, ObservableVerdict


def judge_case(
    name: str,
    observables: Sequence[ObservableSpec],
    outputs: Outputs,
    reference: Outputs,
    *,
    baseline: Mapping[str, float | None] | None = None,
    visible: bool = True,
    note: str = "",
) -> CaseVerdict:
    """Judge one run.

    Args:
        name: the run's id.
        observables: what is promised of it.
        outputs: what the candidate left.
        reference: what the pristine code left.
        baseline: the untouched task's error for each observable (None where it made no number): its own
            error scores 0, where it is above the tolerance.
        visible: whether an agent may know of it.
        note: how its command ended, where it did not end well.
    """
    judged = [_judge(spec, outputs, reference, (baseline or {}).get(spec.name)) for spec in observables]
    return CaseVerdict(
        name=name, score=min(o.score for o in judged), observables=tuple(judged), visible=visible, note=note
    )


def _judge(spec: ObservableSpec, outputs: Outputs, reference: Outputs, broken: float | None) -> ObservableVerdict:
    tol = tolerance(spec.criterion)
    signal = _signal(spec, tol, broken)
    value, expected = outputs.get(spec.name), reference.get(spec.name)
    if isinstance(value, Failure):
        return ObservableVerdict(name=spec.name, score=0.0, tolerance=tol, signal=signal, failure=str(value))
    if isinstance(expected, Failure):
        return ObservableVerdict(
            name=spec.name, score=0.0, tolerance=tol, signal=signal, failure=f"no reference: {expected}"
        )
    if value.shape != expected.shape:
        failure = f"wrong shape: {value.shape} is not {expected.shape}"
        return ObservableVerdict(name=spec.name, score=0.0, tolerance=tol, signal=signal, failure=failure)
    err = error(spec.criterion, value, expected)
    if math.isinf(err):
        return ObservableVerdict(
            name=spec.name, score=0.0, tolerance=tol, signal=signal, failure="not comparable with the reference"
        )
    return ObservableVerdict(name=spec.name, error=err, tolerance=tol, signal=signal, score=graded(err, tol, signal))


def _signal(spec: ObservableSpec, tol: float, broken: float | None) -> float | None:
    """What an error is measured against: the untouched task's own, else what mutants typically make."""
    if broken is not None and math.isfinite(broken) and broken > tol:
        return broken
    measured = None if spec.evidence is None else spec.evidence.signal
    return measured if measured is not None and measured > tol else None
