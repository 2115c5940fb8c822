"""Running mutants cheaply: warm sandboxes side by side, only the runs that reach the mutated line, each kept on disk.

A mutant that was measured before, in this process or one that was killed, costs reading a file.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from scienceide.base.paths import cache_dir, content_hash, write_atomically
from scienceide.envs.defects import broken_files, reader
from scienceide.envs.formats import Defect
from scienceide.envs.grading import Measured, describe_end, put, rebuild
from scienceide.envs.pristine import references
from scienceide.envs.running import run_case, with_cpu
from scienceide.envs.sandbox.protocol import Sandbox
from scienceide.envs.workshop import ReadyEnvironment
from scienceide.repo_builders.coverage import Coverage
from scienceide.repo_builders.mutate import Candidate
from scienceide.verifiers import Outputs, read_outputs


@dataclass(frozen=True)
class Mutant:
    """One candidate as it ran. `died` says why it is of no use at all, if it is not."""

    candidate: Candidate
    measured: Measured
    died: str = ""
    """The gate that it failed: `reached`, `builds` or `halts`; empty when it ran."""

    @property
    def defect(self) -> Defect:
        """The candidate in the task format."""
        return Defect(edits=(self.candidate.edit,))


@dataclass(frozen=True)
class _Ran:
    """What one run of a mutant left: its output files by name, and how it failed, if it did."""

    files: Mapping[str, bytes]
    failure: str
    cpu_s: float
    hung: bool


class MutantRunner:
    """Measures mutants of one environment in sandboxes that are reset in between, one for each core.

    Whoever asks for one mutant after another says with `foresee` which may come next, so that no core is idle;
    what is asked for, and in which order, decides all results.
    """

    def __init__(self, ready: ReadyEnvironment, coverage: Coverage, workers: int | None = None) -> None:
        """Cheap.

        Args:
            ready: the environment.
            coverage: which runs reach which line.
            workers: sandboxes at work at a time; one for each core when left out.
        """
        self._workers = workers or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="mutants")
        self._idle: list[Sandbox] = []
        self._coming: Iterator[Candidate] = iter(())
        self._started: dict[Path, Future[dict[str, _Ran]]] = {}
        self._ready = ready
        self._coverage = coverage
        # What a recipe does not yet say, how long a run takes, decides how soon a mutant counts as hanging.
        pristine = references(ready.pristine, ready.specs)
        self._specs = {
            spec.id: replace(spec, case=with_cpu(spec.case, [pristine[spec.id].result.cpu_s])) for spec in ready.specs
        }
        self._read = reader(ready.pristine.layer)
        self._key = runs_key(ready)

    def foresee(self, candidates: Iterable[Candidate]) -> None:
        """Say which candidates may be asked for next; they are looked at only as far as there is room."""
        self._coming = iter(candidates)

    def measure(self, candidate: Candidate) -> Mutant:
        """Run what reaches the candidate's statement; everything else keeps its reference outputs.

        Raises:
            TaskError: the candidate does not fit the source.
            SandboxError: the sandbox failed.
        """
        runs = self._reaching(candidate)
        if not runs:
            return Mutant(candidate, self._as_measured({}), died="reached")
        ran = self._start(candidate, runs).result()
        if not ran:
            return Mutant(candidate, self._as_measured({}), died="builds")
        hung = any(r.hung for r in ran.values())
        return Mutant(candidate, self._as_measured(ran), died="halts" if hung else "")

    def _start(self, candidate: Candidate, runs: Iterable[str]) -> Future[dict[str, _Ran]]:
        """Set the candidate going, and as many of those that may come next as there is room for."""
        asked = self._submit(candidate, runs)
        while sum(not future.done() for future in self._started.values()) < 2 * self._workers:
            coming = next(self._coming, None)
            if coming is None:
                break
            self._submit(coming, self._reaching(coming))
        return asked

    def _submit(self, candidate: Candidate, runs: Iterable[str]) -> Future[dict[str, _Ran]]:
        path = self._path(candidate)
        if path not in self._started:
            self._started[path] = self._pool.submit(self._remembered, path, candidate, runs)
        return self._started[path]

    def _remembered(self, path: Path, candidate: Candidate, runs: Iterable[str]) -> dict[str, _Ran]:
        if path.is_file():
            return _load(path)
        ran = self._run(candidate, runs)
        _save(path, ran)
        return ran

    def _reaching(self, candidate: Candidate) -> list[str]:
        edit = candidate.edit
        return list(self._coverage.reaching(edit.file, candidate.statement, edit.line))

    def again(self, candidate: Candidate) -> Measured:
        """Run a candidate afresh, whatever is remembered of it.

        Raises:
            SandboxError: the sandbox failed.
        """
        return self._as_measured(self._run(candidate, self._reaching(candidate)))

    def close(self) -> None:
        """End what is under way, and the sandboxes."""
        self._pool.shutdown(cancel_futures=True)
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> MutantRunner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _path(self, candidate: Candidate) -> Path:
        return cache_dir("mutants", self._key) / f"{content_hash(candidate.edit.model_dump(mode='json'))}.json"

    def _run(self, candidate: Candidate, runs: Iterable[str]) -> dict[str, _Ran]:
        """Outputs by run; none at all where the mutant does not build. Stops at a run that hangs."""
        environment = self._ready.pristine.environment
        contents = broken_files(Defect(edits=(candidate.edit,)), self._read)
        ran: dict[str, _Ran] = {}
        sandbox = self._sandbox()
        put(sandbox, contents)
        built = rebuild(sandbox, environment, list(contents))
        if built is None or built.exit_code == 0:
            for spec in (self._specs[run] for run in runs):
                run = run_case(sandbox, environment, spec)
                failure = "" if run.result.exit_code == 0 else describe_end(run.result)
                hung = run.result.killed_by in ("cpu", "wall")
                ran[spec.id] = _Ran(run.files, failure, run.result.cpu_s, hung)
                if hung:
                    break
        sandbox.reset()
        self._idle.append(sandbox)
        return ran

    def _sandbox(self) -> Sandbox:
        """An idle one, or a new one; one that failed is not seen again and ends with its provider."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._ready.pristine.provider.acquire(self._ready.pristine.spec(purpose="build"))

    def _as_measured(self, ran: Mapping[str, _Ran]) -> Measured:
        outputs: dict[str, Outputs] = dict(self._ready.references)
        for run, result in ran.items():
            outputs[run] = read_outputs(result.files, self._specs[run].case.observables)
        return Measured(
            outputs=outputs,
            failures={run: result.failure for run, result in ran.items() if result.failure},
            cpu_s=sum(result.cpu_s for result in ran.values()),
            wall_s=0.0,
        )


def runs_key(ready: ReadyEnvironment) -> str:
    """A content address of all that decides what the runs of an environment write: code, drivers and inputs."""
    environment = ready.pristine.environment
    files = {name: environment.case_files(name) for name in environment.cases}
    digests = {name: {p: content_hash(d.hex()) for p, d in case.items()} for name, case in files.items()}
    inputs = {spec.id: [spec.case.command, dict(spec.inputs)] for spec in ready.specs}
    return content_hash(1, ready.pristine.key, digests, inputs)


def _save(path: Path, ran: Mapping[str, _Ran]) -> None:
    data = {
        run: {
            "files": {name: base64.b64encode(content).decode() for name, content in result.files.items()},
            "failure": result.failure,
            "cpu_s": result.cpu_s,
            "hung": result.hung,
        }
        for run, result in ran.items()
    }
    write_atomically(path, json.dumps(data))


def _load(path: Path) -> dict[str, _Ran]:
    data: dict[str, dict[str, Any]] = json.loads(path.read_text())
    return {
        run: _Ran(
            {name: base64.b64decode(content) for name, content in result["files"].items()},
            result["failure"],
            result["cpu_s"],
            result["hung"],
        )
        for run, result in data.items()
    }
