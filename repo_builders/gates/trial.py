"""The facts that gates judge: each is measured when a gate first asks for it, and once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from scienceide.base.errors import TaskError
from scienceide.envs.defects import fixed_files
from scienceide.envs.grading import Judge, measure
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

    @cached_property
    def pristine(self) -> Mapping[str, bytes]:
        """The files that the defect changes, as they were."""
        return {edit.file: self.bench.pristine_bytes(edit.file) for edit in self.draft.defect.edits}

    @cached_property
    def initial(self) -> Mapping[str, bytes]:
        """The same files with the defect."""
        return self.bench.initial(self.draft)

    @cached_property
    def fixed(self) -> Mapping[str, bytes]:
        """The same files after the exact inverse."""
        return fixed_files(self.draft.defect, self.bench.pristine_bytes)

    @cached_property
    def layer(self) -> Path | str:
        """The built initial tree, or why it does not build."""
        try:
            return build_layer(self.bench.ready.pristine, self.initial)
        except TaskError as error:
            return str(error)

    @cached_property
    def untouched(self) -> tuple[Verdict, ...]:
        """Verdicts of the untouched task, each from a sandbox and runs of its own."""
        return tuple(self._verdict(self.initial) for _ in range(REPEATS))

    @cached_property
    def repaired(self) -> Verdict:
        """The verdict of the known fix."""
        measured = self.bench.shop.measure(self.bench.ready, self.fixed)
        return self._judge.verdict(self.bench.ready.specs, measured)

    @cached_property
    def search(self) -> Report:
        """What of the answer lies in the sandbox as the agent sees it."""
        assert isinstance(self.layer, Path)
        return search_agent_view(self.draft, self.bench, self.layer, self._sweep)

    @property
    def _judge(self) -> Judge:
        task = self.draft.task
        return Judge(self.bench.ready.references, task.floor, task.baseline)

    def _verdict(self, contents: Mapping[str, bytes]) -> Verdict:
        measured = measure(self.bench.ready.pristine, contents)
        return self._judge.verdict(self.bench.ready.specs, measured)
