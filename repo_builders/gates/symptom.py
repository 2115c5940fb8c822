"""Gate: a visible case shows the symptom, so that an agent can see what is wrong and whether it is gone."""

from __future__ import annotations

from collections.abc import Sequence

from scienceide.repo_builders.gates.result import GateResult
from scienceide.repo_builders.gates.trial import Trial
from scienceide.verifiers import CaseVerdict


def check(cases: Sequence[CaseVerdict]) -> GateResult:
    """Judge the untouched task's cases."""
    visible = [case for case in cases if case.visible]
    wrong = [case.name for case in visible if case.score < 1.0]
    hidden = [case.name for case in cases if not case.visible and case.score < 1.0]
    evidence = {"visible": wrong, "hidden": hidden}
    if wrong:
        return GateResult("symptom", True, evidence=evidence)
    why = f"only hidden runs deviate ({', '.join(hidden)})" if hidden else "no case deviates"
    return GateResult("symptom", False, f"No visible case shows it: {why}.", evidence)


def run(trial: Trial) -> GateResult:
    """Try it on a draft."""
    return check(trial.untouched[0].cases)
