"""Grading: from a patch to a verdict, in a sandbox of its own, trusting nothing but the patch.

The patch is laid over a pristine copy of the code, what it touched is rebuilt, and every case of the
environment, visible and hidden, is run again. No output, log or timing of the agent's sandbox is read.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass

from scienceide.base.errors import SandboxError
from scienceide.envs.catalog import LoadedEnvironment
from scienceide.envs.patch import Patch, is_editable, matches
from scienceide.envs.pristine import Pristine
from scienceide.envs.running import CaseRun, RunSpec, build_environment, run_case, run_specs
from scienceide.envs.sandbox.protocol import CommandResult, Sandbox
from scienceide.verifiers import CaseVerdict, Finding, Outputs, Verdict, judge_case, read_outputs, verifier_hash

ATTEMPTS = 2
"""A sandbox that fails, or a case stopped by the clock rather than by its CPU time, is tried once more."""

Contents = Mapping[str, bytes | None]


@dataclass(frozen=True)
class Measured:
    """The outputs of all cases for one state of the code, and what it cost to get them. Seconds."""

    outputs: Mapping[str, Outputs]
    failures: Mapping[str, str]
    """Why a run has no outputs to speak of, by run id: how its command ended."""
    cpu_s: float
    wall_s: float
    build_log: str = ""
    """The end of the build's output where the build failed; then there are no outputs at all."""


@dataclass(frozen=True)
class Judge:
    """What turns measured outputs into a verdict: the references, the floor, the untouched task's errors."""

    references: Mapping[str, Outputs]
    floor: float = 0.0
    baseline: Mapping[str, Mapping[str, float | None]] | None = None

    def verdict(self, specs: Sequence[RunSpec], measured: Measured, findings: Sequence[Finding] = ()) -> Verdict:
        """Judge every run; deterministic."""
        cases = [self._case(spec, measured) for spec in specs]
        return Verdict.graded(
            cases=cases,
            floor=self.floor,
            integrity=findings,
            cpu_s=measured.cpu_s,
            wall_s=measured.wall_s,
            verifier=verifier_hash({spec.id: spec.case.observables for spec in specs}),
        )

    def _case(self, spec: RunSpec, measured: Measured) -> CaseVerdict:
        return judge_case(
            spec.id,
            spec.case.observables,
            measured.outputs.get(spec.id, Outputs()),
            self.references[spec.id],
            baseline=None if self.baseline is None else self.baseline.get(spec.id),
            visible=spec.case.visible and "#" not in spec.id,
            note=measured.failures.get(spec.id, ""),
        )


def measure(pristine: Pristine, contents: Contents, runs: Container[str] | None = None) -> Measured:
    """Run all cases, or those of these run ids, on the pristine code with `contents` laid over it.

    Raises:
        SandboxError: no sandbox could be had, or it failed `ATTEMPTS` times.
    """
    changed = differing(pristine, contents)
    for path in changed:
        if not is_editable(path, pristine.environment.environment.editable):
            raise ValueError(f"{path} is not editable")  # a caller's mistake: patches are filtered before
    return _retried(lambda: _measure_once(pristine, changed, runs))


def differing(pristine: Pristine, contents: Contents) -> dict[str, bytes | None]:
    """Those contents that are not what the pristine code has anyway."""
    return {path: data for path, data in sorted(contents.items()) if pristine_bytes(pristine, path) != data}


def pristine_bytes(pristine: Pristine, path: str) -> bytes | None:
    """What the pristine tree has at a path; None where there is no file."""
    file = pristine.layer / path
    return file.read_bytes() if file.is_file() else None


def contents_key(pristine: Pristine, contents: Contents) -> str:
    """A content address of one state of the code."""
    digest = hashlib.sha256(pristine.key.encode())
    for path, data in differing(pristine, contents).items():
        digest.update(f"\0{path}\0{'deleted' if data is None else hashlib.sha256(data).hexdigest()}".encode())
    return digest.hexdigest()


def apply_patch(initial: Mapping[str, bytes], patch: Patch) -> dict[str, bytes | None]:
    """The task's initial contents with the patch on top."""
    return {**initial, **patch.files}


def rebuild(sandbox: Sandbox, environment: LoadedEnvironment, changed: Sequence[str]) -> CommandResult | None:
    """Build what `changed` paths require; None when nothing had to be built.

    Stops at the first command that fails and returns its result.
    """
    build = environment.environment.build
    if not any(is_compiled(environment, path) for path in changed):
        return None
    result = None
    for command in build.incremental or build.commands:
        result = sandbox.run(command, environment=build_environment(environment.environment))
        if result.exit_code != 0:
            return result
    return result


def is_compiled(environment: LoadedEnvironment, path: str) -> bool:
    """Whether a change of `path` needs a build."""
    return matches(path, environment.environment.build.compiled)


def _measure_once(pristine: Pristine, changed: Contents, wanted: Container[str] | None) -> Measured:
    started = time.perf_counter()
    environment = pristine.environment
    sandbox = pristine.provider.acquire(pristine.spec(purpose="verify"))
    try:
        put(sandbox, changed)
        build = rebuild(sandbox, environment, list(changed))
        if build is not None and build.exit_code != 0:
            wall = time.perf_counter() - started
            return Measured({}, {}, build.cpu_s, wall, build_log=build.text[-2000:])
        specs = [spec for spec in run_specs(environment) if wanted is None or spec.id in wanted]
        runs = [_run_patiently(sandbox, environment, spec) for spec in specs]
    finally:
        sandbox.close()
    return Measured(
        outputs={run.id: _outputs(environment, run) for run in runs},
        failures={run.id: describe_end(run.result) for run in runs if run.result.exit_code != 0},
        cpu_s=sum(run.result.cpu_s for run in runs) + (build.cpu_s if build else 0.0),
        wall_s=time.perf_counter() - started,
    )


def put(sandbox: Sandbox, contents: Contents) -> None:
    """Write and delete files in a sandbox's tree."""
    for path, data in contents.items():
        if data is None:
            sandbox.run(["rm", "-f", "--", path])
        else:
            sandbox.write(path, data)


def describe_end(result: CommandResult) -> str:
    """How a command ended, in words, with the last line it printed."""
    last = result.text.strip().splitlines()[-1:] or [""]
    how = f"stopped at its {result.killed_by} limit" if result.killed_by else f"exit code {result.exit_code}"
    return f"{how}: {last[0][:200]}" if last[0] else how


def _run_patiently(sandbox: Sandbox, environment: LoadedEnvironment, spec: RunSpec) -> CaseRun:
    """Run a case; one that the clock stopped although it had CPU time left gets a second chance."""
    run = run_case(sandbox, environment, spec)
    return run_case(sandbox, environment, spec) if run.result.killed_by == "wall" else run


def _outputs(environment: LoadedEnvironment, run: CaseRun) -> Outputs:
    name = run.id.partition("#")[0]
    return read_outputs(run.files, environment.cases[name].observables)


def _retried(attempt: Callable[[], Measured]) -> Measured:
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except SandboxError:
            continue
    return attempt()
