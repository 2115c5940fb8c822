"""The facts that gates judge: each is measured when a gate first asks for it, and once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scienceide.base.errors import TaskError
from scienceide.base.lazy import lazy
from scienceide.envs.defects import fixed_files
from scienceide.envs.grading import Judge, Measured
from scienceide.envs.workshop import build_layer
from scienceide.repo_builders.draft import Bench, Draft
from scienceide.repo_builders.gates.search import Report, Sweep, search_agent_view
from scienceide.verifiers import Verdict

REPEATS = 3
"""Verdicts of the untouched task that must agree."""


class Trial:
    """One draft on the bench."""

    def __init__(self, draft: Draft, bench: Bench, sweep: Sweep | None = None) -> None:
        self.draft = draft
        self.bench = bench
        self._sweep = sweep

    @lazy
    def pristine(self) -> Mapping[str, bytes]:
        """The files that the defect changes, as they were."""
        return {edit.file: self.bench.pristine_bytes(edit.file) for edit in self.draft.defect.edits}

    @lazy
    def initial(self) -> Mapping[str, bytes]:
        """The same files with the defect."""
        return self.bench.initial(self.draft)

    @lazy
    def fixed(self) -> Mapping[str, bytes]:
        """The same files after the exact inverse."""
        return fixed_files(self.draft.defect, self.bench.pristine_bytes)

    @lazy
    def layer(self) -> Path | str:
        """The built initial tree, or why it does not build."""
        try:
            return build_layer(self.bench.ready.pristine, self.initial)
        except TaskError as error:
            return str(error)

    @lazy
    def untouched(self) -> tuple[Verdict, ...]:
        """Verdicts of the untouched task, each from runs of its own.

        The first runs everything the way grading does. The others repeat the runs that reach the defect: the
        rest executes pristine code only, whose noise is measured when tolerances are placed.
        """
        first = self._verdict(self.bench.run_all(self.initial))
        again = (self.bench.runner.again(self.draft.candidate) for _ in range(REPEATS - 1))
        return (first, *(self._verdict(measured) for measured in again))

    @lazy
    def repaired(self) -> Verdict:
        """The verdict of the known fix."""
        return self._verdict(self.bench.run_all(self.fixed))

    @lazy
    def search(self) -> Report:
        """What of the answer lies in the sandbox as the agent sees it."""
        assert isinstance(self.layer, Path)
        return search_agent_view(self.draft, self.bench, self.layer, self._sweep)

    def _verdict(self, measured: Measured) -> Verdict:
        task = self.draft.task
        judge = Judge(self.bench.ready.references, task.floor, task.baseline)
        return judge.verdict(self.bench.ready.specs, measured)
