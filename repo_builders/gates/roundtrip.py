"""Gate: the defect changes the code, and its inverse restores it byte for byte."""

from __future__ import annotations

from collections.abc import Mapping

from scienceide.repo_builders.gates.result import GateResult
from scienceide.repo_builders.gates.trial import Trial


def check(pristine: Mapping[str, bytes], initial: Mapping[str, bytes], fixed: Mapping[str, bytes]) -> GateResult:
    """Compare three states of the same files."""
    evidence = {"files": sorted(pristine)}
    if any(initial[file] == data for file, data in pristine.items()):
        return GateResult("roundtrip", False, "The defect changes nothing.", evidence)
    if dict(fixed) != dict(pristine):
        return GateResult("roundtrip", False, "The inverse does not restore the pristine bytes.", evidence)
    return GateResult("roundtrip", True, evidence=evidence)


def run(trial: Trial) -> GateResult:
    """Try it on a draft."""
    return check(trial.pristine, trial.initial, trial.fixed)
