"""Where episodes and verdicts are made: everything prepared once, then shared by many episodes.

    with Workshop("bubblewrap") as shop:
        episode = shop.episode("fluids/friction-03")
        verdict = shop.verify("fluids/friction-03", patch)

A workshop is safe to use from several threads at once; two that ask for the same task wait for one
preparation.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from scienceide.base.errors import SandboxError, TaskError, VerifierError
from scienceide.base.paths import building, cache_dir, content_hash
from scienceide.base.progress import Progress, Silent
from scienceide.envs.catalog import LoadedEnvironment, LoadedTask, load_task
from scienceide.envs.defects import broken_files, fixed_files, reader
from scienceide.envs.grading import (
    Contents,
    Judge,
    Measured,
    apply_patch,
    contents_key,
    differing,
    measure,
    pristine_bytes,
    put,
    rebuild,
)
from scienceide.envs.patch import Patch
from scienceide.envs.pristine import Pristine, prepare, references
from scienceide.envs.reach import Reach, reached, record
from scienceide.envs.running import RunSpec, run_specs
from scienceide.envs.sandbox import provider as make_provider
from scienceide.envs.sandbox.protocol import Provider, SandboxSpec
from scienceide.verifiers import Finding, Outputs, Verdict, read_outputs

T = TypeVar("T")

REMEMBERED = 512
"""Measurements kept in memory, by content of the code; many episodes end in the same state."""


@dataclass(frozen=True)
class ReadyEnvironment:
    """An environment that is built, with the outputs of its pristine code."""

    pristine: Pristine
    specs: Sequence[RunSpec]
    references: Mapping[str, Outputs]
    reach: Reach
    """What each run calls; a run that a patch cannot reach keeps its reference outputs."""


@dataclass(frozen=True)
class ReadyTask:
    """A task whose initial tree is built."""

    task: LoadedTask
    environment: ReadyEnvironment
    initial: Mapping[str, bytes]
    """The files that the defect changes, as the agent finds them."""
    fixed: Mapping[str, bytes]
    """The same files after the known fix; the oracle alone uses them."""
    layer: Path
    """The defective files and what was built from them, to be laid over the pristine tree."""

    @property
    def judge(self) -> Judge:
        """What judges a patch of this task."""
        record = self.task.task
        return Judge(self.environment.references, record.floor, record.baseline)

    def sandbox_spec(self) -> SandboxSpec:
        """The agent's sandbox."""
        return self.environment.pristine.spec((self.layer,))


class Workshop:
    """Prepares environments and tasks, starts episodes, and verifies patches."""

    def __init__(
        self,
        sandbox: str | Provider = "auto",
        *,
        thrifty: bool = True,
        progress: Progress | None = None,
    ) -> None:
        """Make a workshop.

        Args:
            sandbox: `auto`, `bubblewrap`, `docker`, or a provider of one's own (which stays open).
            thrifty: run only the cases that a patch can reach (see `reach`), and no state of the code twice.
                Without it every verification runs everything.
            progress: told about preparations, which can take minutes the first time.

        Raises:
            SandboxError: no sandbox of that kind can be had here; the message says what to install.
        """
        self._owns_provider = isinstance(sandbox, str)
        self.provider: Provider = make_provider(sandbox) if isinstance(sandbox, str) else sandbox
        self._progress = progress or Silent()
        self._thrifty = thrifty
        self._memory: OrderedDict[str, Measured] = OrderedDict()
        self._ready: dict[str, object] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def environment(self, environment: LoadedEnvironment) -> ReadyEnvironment:
        """Build an environment and run its references, or take them from the cache.

        Raises:
            UserError, TaskError, SandboxError: as `prepare` and `references` say.
        """
        return self._once(f"environment {environment.folder}", lambda: self._prepare_environment(environment))

    def task(self, task: str | LoadedTask) -> ReadyTask:
        """Prepare a task, by its id or loaded.

        Raises:
            UserError: there is no such task.
            TaskError: its defect no longer applies, or no longer builds.
        """
        loaded = load_task(task) if isinstance(task, str) else task
        return self._once(f"task {loaded.folder}", lambda: self._prepare_task(loaded))

    def verify(self, task: str | LoadedTask, patch: Patch, findings: Sequence[Finding] = ()) -> Verdict:
        """Grade a patch. What stops the grading itself makes the verdict ungraded; nothing is raised for it.

        Raises:
            UserError, TaskError: the task itself cannot be prepared.
        """
        ready = self.task(task)
        try:
            measured = self.measure(ready.environment, apply_patch(ready.initial, patch))
            return ready.judge.verdict(ready.environment.specs, measured, findings)
        except (SandboxError, VerifierError) as fault:
            return Verdict.ungraded(str(fault), floor=ready.task.task.floor)

    def measure(self, environment: ReadyEnvironment, contents: Contents) -> Measured:
        """Run all cases with `contents` laid over the pristine code, or remember having done so.

        Raises:
            SandboxError: no sandbox could be had, twice.
        """
        key = contents_key(environment.pristine, contents)
        with self._guard:
            if self._thrifty and key in self._memory:
                self._memory.move_to_end(key)
                return self._memory[key]
        measured = self._measure(environment, contents)
        with self._guard:
            self._memory[key] = measured
            while len(self._memory) > REMEMBERED:
                self._memory.popitem(last=False)
        return measured

    def close(self) -> None:
        """End the provider, unless it was given."""
        if self._owns_provider:
            self.provider.close()

    def __deepcopy__(self, memo: dict[int, object]) -> Workshop:
        """Itself: Gymnasium copies the arguments of environments, but this is what they share."""
        return self

    def __enter__(self) -> Workshop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _measure(self, environment: ReadyEnvironment, contents: Contents) -> Measured:
        if not self._thrifty:
            return measure(environment.pristine, contents)
        changed = differing(environment.pristine, contents)
        before = {path: pristine_bytes(environment.pristine, path) for path in changed}
        runs = reached(environment.reach, before, changed)
        measured = measure(environment.pristine, contents, runs) if runs else Measured({}, {}, 0.0, 0.0)
        if measured.build_log:
            return measured
        return replace(measured, outputs={**environment.references, **measured.outputs})

    def _prepare_environment(self, environment: LoadedEnvironment) -> ReadyEnvironment:
        pristine = prepare(environment, self.provider, self._progress)
        specs = tuple(run_specs(environment))
        runs = references(pristine, specs, self._progress)
        outputs = {s.id: read_outputs(runs[s.id].files, s.case.observables) for s in specs}
        reach = record(pristine, specs, self._progress) if self._thrifty else {spec.id: None for spec in specs}
        return ReadyEnvironment(pristine, specs, outputs, reach)

    def _prepare_task(self, task: LoadedTask) -> ReadyTask:
        environment = self.environment(task.environment)
        read = reader(environment.pristine.layer)
        initial = broken_files(task.defect, read)
        layer = build_layer(environment.pristine, initial)
        return ReadyTask(task, environment, initial, fixed_files(task.defect, read), layer)

    def _once(self, key: str, make: Callable[[], T]) -> T:
        """The value of `make`, made by one thread while others wait; a failure is not kept."""
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._ready:
                self._ready[key] = make()
            return self._ready[key]  # type: ignore[return-value]


def build_layer(pristine: Pristine, initial: Mapping[str, bytes]) -> Path:
    """The layer that turns the pristine tree into a task's initial tree; built once, kept in the cache.

    Raises:
        TaskError: the defective code does not build.
        SandboxError: no sandbox could be had.
    """
    digests = {path: content_hash(data.hex()) for path, data in initial.items()}
    final = cache_dir("tasks") / content_hash(pristine.key, digests)
    with building(final) as scratch:
        if scratch is not None:
            sandbox = pristine.provider.acquire(pristine.spec(purpose="build"))
            try:
                put(sandbox, initial)
                result = rebuild(sandbox, pristine.environment, list(initial))
                if result is not None and result.exit_code != 0:
                    raise TaskError(f"The defective code does not build: {result.text.strip()[-400:]}")
                (scratch / "tree").mkdir()
                sandbox.export(scratch / "tree", only_changes=True)
            finally:
                sandbox.close()
    return final / "tree"
