"""Gate: the untouched task is judged the same every time."""

from __future__ import annotations

from collections.abc import Sequence

from scienceide.repo_builders.gates.result import GateResult
from scienceide.repo_builders.gates.trial import REPEATS, Trial
from scienceide.verifiers import CaseVerdict, Verdict


def check(verdicts: Sequence[Verdict]) -> GateResult:
    """Compare all that a verdict says, except times and what a failed command printed last."""
    if len(verdicts) < REPEATS:
        return GateResult("deterministic", False, f"Only {len(verdicts)} verdicts; {REPEATS} are needed.")
    ungraded = [v.outcome for v in verdicts if v.outcome != "graded"]
    if ungraded:
        return GateResult("deterministic", False, f"A verdict is {ungraded[0]}.")
    first = verdicts[0].cases
    for other in verdicts[1:]:
        moved = [a.name for a, b in zip(first, other.cases, strict=True) if _comparable(a) != _comparable(b)]
        if moved:
            return GateResult("deterministic", False, f"Runs differ in {', '.join(moved)}.", {"cases": moved})
    return GateResult("deterministic", True, evidence={"runs": len(verdicts), "score": verdicts[0].score})


def _comparable(case: CaseVerdict) -> CaseVerdict:
    return case.model_copy(update={"note": case.note.partition(":")[0]})


def run(trial: Trial) -> GateResult:
    """Try it on a draft."""
    return check(trial.untouched)
