"""Gate: the untouched task leaves enough to be gained."""

from __future__ import annotations

from scienceide.repo_builders.gates.result import GateResult
from scienceide.repo_builders.gates.trial import Trial

HIGHEST = 0.9


def check(floor: float) -> GateResult:
    """Judge a floor."""
    evidence = {"floor": floor, "highest": HIGHEST}
    if floor <= HIGHEST:
        return GateResult("floor", True, evidence=evidence)
    return GateResult("floor", False, f"The untouched task already scores {floor:.3f}; at most {HIGHEST}.", evidence)


def run(trial: Trial) -> GateResult:
    """Try it on a draft."""
    return check(trial.draft.task.floor)
