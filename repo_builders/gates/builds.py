"""Gate: the defective code builds."""

from __future__ import annotations

from pathlib import Path

from scienceide.repo_builders.gates.result import GateResult
from scienceide.repo_builders.gates.trial import Trial


def check(layer: Path | str, needs_products: bool) -> GateResult:
    """Judge a build: its folder, or the sentence that says why there is none.

    Where compiled code changed, the build must have made something besides the sources.
    """
    if isinstance(layer, str):
        return GateResult("builds", False, layer)
    files = sorted(p.relative_to(layer).as_posix() for p in layer.rglob("*") if p.is_file())
    if needs_products and not any(file.endswith((".so", ".o", ".a")) or ".so." in file for file in files):
        return GateResult("builds", False, "Compiled code changed, but nothing was compiled.", {"files": files})
    return GateResult("builds", True, evidence={"files": files[:20], "count": len(files)})


def run(trial: Trial) -> GateResult:
    """Try it on a draft."""
    from scienceide.envs.grading import is_compiled

    environment = trial.bench.ready.pristine.environment
    return check(trial.layer, any(is_compiled(environment, file) for file in trial.initial))
