"""Judging one run of a case: its outputs against the reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from scienceide.base.errors import VerifierError
from scienceide.verifiers.criteria import Array, error, tolerance
from scienceide.verifiers.failures import Failure
from scienceide.verifiers.outputs import Outputs
from scienceide.verifiers.scoring import score_of, signal_of
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

    The score of a case is that of its worst observable. A run is one piece of science: with one of its
    quantities wrong it is wrong, the untouched task earns exactly 0 on every case it breaks, and how many
    quantities a case's author happened to record changes nothing.

    Args:
        name: of the run.
        observables: what is judged.
        outputs: what the candidate computed.
        reference: what the pristine code computed.
        baseline: by observable, the untouched task's error; None where it gave no number.
        visible: whether an agent may see the result.
        note: how the case's command failed, if it did: such a run scores 0 whatever it left.

    Raises:
        VerifierError: the reference lacks an observable, so there is nothing to judge by.
    """
    judged = []
    for spec in observables:
        if spec.name not in reference.arrays:
            why = reference.failures.get(spec.name, Failure("no output"))
            raise VerifierError(f"The reference of case {name} has no {spec.name!r} ({why}).")
        untouched = None if baseline is None else baseline.get(spec.name)
        judged.append(_judge(spec, outputs, reference.arrays[spec.name], untouched))
    score = 0.0 if note else min((o.score for o in judged), default=0.0)
    return CaseVerdict(name=name, score=score, visible=visible, note=note, observables=tuple(judged))


def _judge(spec: ObservableSpec, outputs: Outputs, reference: Array, untouched: float | None) -> ObservableVerdict:
    signal = signal_of(spec, reference, untouched)
    value, failure = _measured(spec, outputs, reference)
    return ObservableVerdict(
        name=spec.name,
        error=value,
        tolerance=tolerance(spec.criterion),
        signal=signal,
        score=score_of(spec.criterion, value, signal),
        failure="" if failure is None else failure.name,
        detail="" if failure is None else failure.detail,
    )


def _measured(spec: ObservableSpec, outputs: Outputs, reference: Array) -> tuple[float | None, Failure | None]:
    """The error, or why there is none."""
    array = outputs.arrays.get(spec.name)
    if array is None:
        return None, outputs.failures.get(spec.name, Failure("no output"))
    if array.shape != reference.shape:
        return None, Failure("wrong shape", f"the reference has {reference.shape}, this {array.shape}")
    value = error(spec.criterion, array, reference)
    return (value, None) if math.isfinite(value) else (None, Failure("infinite error"))
