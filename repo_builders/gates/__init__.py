"""Gates: executed checks that a task must pass before it is published.

Each gate is a module of its own with a pure `check` on facts and a `run` on a trial.
"""

from __future__ import annotations

from collections.abc import Callable

from scienceide.repo_builders.gates import (
    builds,
    deterministic,
    disclosure,
    floor,
    nop,
    oracle,
    reachable,
    roundtrip,
    symptom,
)
from scienceide.repo_builders.gates.result import GateResult
from scienceide.repo_builders.gates.trial import Trial

GATES: dict[str, Callable[[Trial], GateResult]] = {
    "roundtrip": roundtrip.run,
    "disclosure": disclosure.run,
    "floor": floor.run,
    "builds": builds.run,
    "reachable": reachable.run,
    "oracle": oracle.run,
    "deterministic": deterministic.run,
    "nop": nop.run,
    "symptom": symptom.run,
}
"""All gates, cheap ones first."""


def run_gates(trial: Trial) -> list[GateResult]:
    """Try the gates in order, up to and with the first that does not pass.

    Raises:
        SandboxError: a sandbox failed; nothing is said about the task.
    """
    results: list[GateResult] = []
    for gate in GATES.values():
        results.append(gate(trial))
        if not results[-1].passed:
            break
    return results


__all__ = ["GATES", "GateResult", "Trial", "run_gates"]
