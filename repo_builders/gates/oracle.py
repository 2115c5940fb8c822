"""Gate: the known fix earns exactly 1."""

from __future__ import annotations

from scienceide.repo_builders.gates.result import GateResult
from scienceide.repo_builders.gates.trial import Trial
from scienceide.verifiers import Verdict


def check(verdict: Verdict) -> GateResult:
    """Judge the fix's verdict."""
    evidence = {"reward": verdict.reward, "score": verdict.score}
    if verdict.reward == 1.0 and verdict.score == 1.0:
        return GateResult("oracle", True, evidence=evidence)
    wrong = [case.name for case in verdict.cases if case.score < 1.0]
    return GateResult("oracle", False, f"The known fix earns {verdict.reward} ({', '.join(wrong)}).", evidence)


def run(trial: Trial) -> GateResult:
    """Try it on a draft."""
    return check(trial.repaired)
