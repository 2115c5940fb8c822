"""Running one case in a sandbox: put its files there, run its command, bring its outputs back.

The same function runs the pristine code (references), the agent's code (`check`) and the patched code
(grading); only who looks at the outputs differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scienceide.envs.catalog import LoadedEnvironment
from scienceide.envs.formats import Case, Environment
from scienceide.envs.sandbox.protocol import TREE, CommandResult, Limits, Sandbox

CPU_MULTIPLE = 10.0
"""A case may use this many times the CPU time of its pristine run, and at least `CPU_LEAST` seconds."""
CPU_LEAST = 5.0
OUTPUT_BYTES = 64 * 2**20


@dataclass(frozen=True)
class RunSpec:
    """A case with one set of inputs. `id` is the case's name, with `#k` for its k-th variant."""

    id: str
    case_name: str
    case: Case
    inputs: Mapping[str, Any]


@dataclass(frozen=True)
class CaseRun:
    """What a case left: the output files that its observables name, and how its command ended."""

    id: str
    files: Mapping[str, bytes]
    result: CommandResult


def run_specs(environment: LoadedEnvironment, *, hidden: bool = True) -> Iterator[RunSpec]:
    """All runs of an environment in a fixed order; without `hidden` only what an agent may run."""
    for name, case in environment.cases.items():
        if not case.visible and not hidden:
            continue
        yield RunSpec(name, name, case, case.inputs)
        if hidden:
            for number, variant in enumerate(case.variants, start=1):
                yield RunSpec(f"{name}#{number}", name, case, {**case.inputs, **variant})


def run_case(
    sandbox: Sandbox, environment: LoadedEnvironment, spec: RunSpec, *, extra: Mapping[str, str] | None = None
) -> CaseRun:
    """Run one case on the tree as it stands in `sandbox`, with `extra` environment variables.

    Raises:
        SandboxError: the sandbox failed; a case that crashes or runs into a limit is a normal result.
    """
    folder = f"/tmp/cases/{spec.id}"
    for path, data in environment.case_files(spec.case_name).items():
        sandbox.write(f"{folder}/{path}", data)
    sandbox.write(f"{folder}/case-input.json", json.dumps(dict(spec.inputs)).encode())
    result = sandbox.run(
        spec.case.command,
        cwd=folder,
        environment={**build_environment(environment.environment), "CASE_INPUT": "case-input.json", **(extra or {})},
        limits=case_limits(environment.environment, spec.case),
    )
    return CaseRun(spec.id, _collect(sandbox, folder, spec.case), result)


def build_environment(environment: Environment) -> dict[str, str]:
    """The environment variables under which the code is built and run."""
    return {key: value.replace("{tree}", TREE) for key, value in environment.build.environment.items()}


def limits_of(environment: Environment) -> Limits:
    """The sandbox limits an environment asks for."""
    asked = environment.limits
    return Limits(
        memory=asked.memory,
        processes=asked.processes,
        disk=asked.disk,
        cpu_s=asked.step_cpu,
        wall_s=asked.step_wall,
    )


def case_limits(environment: Environment, case: Case) -> Limits:
    """Limits of one case: CPU time as a multiple of the pristine run's, wall time only as a backstop.

    CPU time is what the code costs however busy the machine is, so that verdicts do not depend on load.
    """
    limits = limits_of(environment)
    if case.cpu is not None:
        cpu = max(CPU_LEAST, CPU_MULTIPLE * case.cpu)
        limits = replace(limits, cpu_s=cpu, wall_s=60.0 + 20.0 * cpu)
    return limits


def with_cpu(case: Case, seconds: Iterable[float]) -> Case:
    """The case with the measured CPU time of its dearest run."""
    return case.model_copy(update={"cpu": max(0.01, round(max(seconds), 2))})


def _collect(sandbox: Sandbox, folder: str, case: Case) -> dict[str, bytes]:
    """The named output files; one that is not there, or not a plain file, is simply absent."""
    files = {}
    for name in sorted({o.source.file for o in case.observables}):
        try:
            files[name] = sandbox.read(f"{folder}/{name}", OUTPUT_BYTES)
        except OSError:
            continue
    return files
