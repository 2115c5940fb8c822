"""Gate: doing nothing earns exactly 0."""

from __future__ import annotations

from scienceide.repo_builders.gates.result import GateResult
from scienceide.repo_builders.gates.trial import Trial
from scienceide.verifiers import Verdict


def check(verdict: Verdict, floor: float) -> GateResult:
    """Judge the untouched task's verdict; its score must be the floor that the task states."""
    evidence = {"reward": verdict.reward, "score": verdict.score, "floor": floor}
    if verdict.reward != 0.0:
        return GateResult("nop", False, f"Doing nothing earns {verdict.reward}.", evidence)
    if verdict.score != floor:
        return GateResult("nop", False, f"The stated floor is {floor}, the measured one {verdict.score}.", evidence)
    return GateResult("nop", True, evidence=evidence)


def run(trial: Trial) -> GateResult:
    """Try it on a draft."""
    return check(trial.untouched[0], trial.draft.task.floor)
