"""Measuring what tolerances rest on: the noise of legitimate runs and the signal of mutants.

Noise comes from repeats, other thread counts, inputs moved in their last bit, and, where code is compiled,
builds with other floating-point code. Signal comes from a sample of mutants, judged by the same criteria.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scienceide.base.errors import UserError
from scienceide.base.paths import cache_dir, content_hash, write_atomically
from scienceide.base.progress import Progress, Silent, track
from scienceide.envs.formats import Case
from scienceide.envs.grading import Judge, Measured, describe_end
from scienceide.envs.pristine import Pristine, prepare
from scienceide.envs.running import RunSpec, run_case
from scienceide.envs.workshop import ReadyEnvironment
from scienceide.repo_builders.mutants import Mutant, runs_key
from scienceide.repo_builders.placement import Placement, observe, place
from scienceide.verifiers import Conserved, Evidence, Norm, ObservableSpec, read_outputs, verifier_hash

REPEATS = 2
BUILDS: Mapping[str, str] = {
    "-O0": "-O0 -fno-inline -fno-tree-vectorize -ffp-contract=off",
    "fused multiply-add": "-O2 -march=native -ffp-contract=fast",
}
"""Compiler flags of legitimate builds that compute in other floating-point code."""

Errors = Mapping[str, Mapping[str, float | None]]
"""By run id and observable; None where there was no number."""


@dataclass(frozen=True)
class Flag:
    """An observable that is not fit to be judged, or not known to be."""

    case: str
    observable: str
    why: str


@dataclass(frozen=True)
class Calibration:
    """The cases with tolerances and evidence, and what was found wanting."""

    cases: Mapping[str, Case]
    flags: tuple[Flag, ...]
    placements: Mapping[str, Mapping[str, Placement]]


def calibrate(ready: ReadyEnvironment, mutants: Sequence[Mutant], progress: Progress | None = None) -> Calibration:
    """Place every tolerance of an environment.

    Args:
        ready: the built environment with its references.
        mutants: the sample that the signal is taken from.
        progress: told about the legitimate runs.

    Raises:
        SandboxError: no sandbox could be had.
    """
    noises, ways = legitimate_errors(ready, progress or Silent())
    ran = [m for m in mutants if not m.died]
    signals = [errors_of(ready, m.measured) for m in ran]
    how = f"{', '.join(ways)}; {len(ran)} mutants"
    cases: dict[str, Case] = {}
    placements: dict[str, dict[str, Placement]] = {}
    flags: list[Flag] = []
    for name, case in ready.pristine.environment.cases.items():
        runs = [spec.id for spec in ready.specs if spec.case_name == name]
        placed = {o.name: _place(o, runs, noises, signals, ready) for o in case.observables}
        placements[name] = placed
        flags += [Flag(name, observable, p.flag) for observable, p in placed.items() if p.flag]
        cases[name] = case.model_copy(
            update={"observables": tuple(with_evidence(o, placed[o.name], how) for o in case.observables)}
        )
    return Calibration(cases, tuple(flags), placements)


def errors_of(ready: ReadyEnvironment, measured: Measured) -> Errors:
    """The error of every observable of every run, in its criterion's own units."""
    verdict = Judge(ready.references).verdict(ready.specs, measured)
    return {case.name: {o.name: o.error for o in case.observables} for case in verdict.cases}


def legitimate_errors(ready: ReadyEnvironment, progress: Progress) -> tuple[list[Errors], list[str]]:
    """The errors of all legitimate runs and how these were had, from the cache or measured now."""
    judged = [[spec.id, [o.model_dump(mode="json") for o in spec.case.observables]] for spec in ready.specs]
    key = content_hash(1, runs_key(ready), judged, BUILDS, REPEATS, verifier_hash())
    path = cache_dir("noise") / f"{key}.json"
    if not path.is_file():
        legitimate, ways = legitimate_runs(ready, progress)
        write_atomically(path, json.dumps([[errors_of(ready, measured) for measured in legitimate], ways]))
    noises, ways = json.loads(path.read_text())
    return noises, ways


def legitimate_runs(ready: ReadyEnvironment, progress: Progress) -> tuple[list[Measured], list[str]]:
    """Measurements that a right code may give, and in words how they were had."""
    pristine, specs = ready.pristine, ready.specs
    found = [_measured(pristine, specs, {}, progress, f"repeat {n + 1}") for n in range(REPEATS)]
    ways = [f"{REPEATS + 1} repeats"]
    for threads in ("1", "2"):
        variables = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        found.append(_measured(pristine, specs, variables, progress, f"{threads} threads"))
    ways.append("1 and 2 threads")
    nudged_specs = [replace(s, inputs=nudged(s.inputs)) for s in specs]
    if any(n.inputs != s.inputs for n, s in zip(nudged_specs, specs, strict=True)):
        found.append(_measured(pristine, nudged_specs, {}, progress, "inputs nudged"))
        ways.append("last bit of the inputs")
    if pristine.environment.environment.build.compiled:
        for name, flags in BUILDS.items():
            other = _other_build(pristine, flags, progress)
            if other is not None:
                found.append(_measured(other, specs, {}, progress, f"build {name}"))
                ways.append(f"build {name}")
    return found, ways


def nudged(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs with every float moved by one unit in the last place."""
    return {key: _nudged(value) for key, value in inputs.items()}


def with_evidence(observable: ObservableSpec, placement: Placement, how: str) -> ObservableSpec:
    """The observable with its tolerance, where its criterion has one, and what that rests on."""
    criterion = observable.criterion
    if isinstance(criterion, Norm | Conserved) and placement.tolerance is not None:
        criterion = criterion.model_copy(update={"tolerance": placement.tolerance})
    signal = None if placement.signal is None else shortened(placement.signal)
    evidence = Evidence(noise=shortened(placement.noise), signal=signal, how=how)
    return observable.model_copy(update={"criterion": criterion, "evidence": evidence})


def shortened(value: float) -> float:
    """A measured floor to three digits, rounded: more of them mean nothing."""
    return float(f"{value:.3g}")


def _place(
    observable: ObservableSpec,
    runs: Sequence[str],
    noises: Sequence[Errors],
    signals: Sequence[Errors],
    ready: ReadyEnvironment,
) -> Placement:
    """Place one observable's tolerance from its errors in all runs of its case."""
    noise = [_number(errors[run][observable.name]) for errors in noises for run in runs]
    signal = [worst for errors in signals if (worst := _worst(errors, runs, observable.name)) != 0.0]
    criterion = observable.criterion
    if isinstance(criterion, Norm | Conserved):
        absolute = isinstance(criterion, Norm) and criterion.scale == "absolute"
        size = max(_size(ready, run, observable.name) for run in runs) if absolute else 1.0
        return place(noise, signal, size, criterion.tolerance)
    return observe(noise, signal)


def _worst(errors: Errors, runs: Sequence[str], name: str) -> float | None:
    """The largest error of an observable in the runs of its case; None where only failures moved it."""
    values = [errors[run][name] for run in runs]
    numbers = [v for v in values if v is not None]
    return max(numbers) if numbers else None


def _number(error: float | None) -> float:
    return math.inf if error is None else error


def _size(ready: ReadyEnvironment, run: str, name: str) -> float:
    """Largest magnitude of an observable's reference, 0 where it has none."""
    array = ready.references[run].arrays.get(name)
    if array is None or array.size == 0 or not np.issubdtype(array.dtype, np.number):
        return 0.0
    return float(np.max(np.abs(array)))


def _nudged(value: Any) -> Any:
    if isinstance(value, float):
        return float(np.nextafter(value, math.inf))
    if isinstance(value, list | tuple):
        return [_nudged(v) for v in value]
    return nudged(value) if isinstance(value, dict) else value


def _other_build(pristine: Pristine, flags: str, progress: Progress) -> Pristine | None:
    """The pristine code built with other flags; None where it does not build so, or builds to the same."""
    try:
        other = prepare(pristine.environment, pristine.provider, progress, extra={"CFLAGS": flags, "CXXFLAGS": flags})
    except UserError:
        return None
    products = [p for glob in pristine.environment.environment.build.products for p in pristine.layer.glob(glob)]
    differs = any(
        (other.layer / p.relative_to(pristine.layer)).read_bytes() != p.read_bytes() for p in products if p.is_file()
    )
    return other if differs else None


def _measured(
    pristine: Pristine, specs: Sequence[RunSpec], variables: Mapping[str, str], progress: Progress, what: str
) -> Measured:
    """All runs once, with more environment variables."""
    record = pristine.environment.environment
    build = record.build.model_copy(update={"environment": {**record.build.environment, **variables}})
    environment = replace(pristine.environment, environment=record.model_copy(update={"build": build}))
    runs = []
    sandbox = pristine.provider.acquire(pristine.spec(purpose="build"))
    try:
        for spec in track(progress, f"noise: {what}", specs, len(specs)):
            runs.append((spec, run_case(sandbox, environment, spec)))
            sandbox.reset()
    finally:
        sandbox.close()
    return Measured(
        outputs={spec.id: read_outputs(run.files, spec.case.observables) for spec, run in runs},
        failures={spec.id: describe_end(run.result) for spec, run in runs if run.result.exit_code != 0},
        cpu_s=sum(run.result.cpu_s for _, run in runs),
        wall_s=0.0,
    )
