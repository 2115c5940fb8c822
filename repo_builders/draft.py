"""A task before it has passed its gates, and what it is tried on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scienceide.envs.defects import broken_files
from scienceide.envs.formats import Defect, Task
from scienceide.envs.grading import Measured, contents_key, measure
from scienceide.envs.workshop import ReadyEnvironment, Workshop
from scienceide.repo_builders.mutants import MutantRunner
from scienceide.repo_builders.mutate import Candidate


@dataclass(frozen=True)
class Draft:
    """All files of a task, in memory."""

    name: str
    candidate: Candidate
    defect: Defect
    task: Task
    instruction: str


@dataclass(frozen=True)
class Bench:
    """Where drafts are tried: a workshop, the built environment, and what runs mutants in it."""

    shop: Workshop
    ready: ReadyEnvironment
    runner: MutantRunner
    memory: dict[str, Measured] = field(default_factory=dict)
    """Measurements by state of the code."""

    def pristine_bytes(self, file: str) -> bytes:
        """A file of the pristine tree."""
        return (self.ready.pristine.layer / file).read_bytes()

    def initial(self, draft: Draft) -> Mapping[str, bytes]:
        """The files that the draft's defect changes, as an agent would find them."""
        return broken_files(draft.defect, self.pristine_bytes)

    def run_all(self, contents: Mapping[str, bytes]) -> Measured:
        """All runs with `contents` laid over the pristine code; each state of the code is run once.

        Nothing is taken for granted here, unlike in a thrifty workshop: every case really runs.

        Raises:
            SandboxError: no sandbox could be had.
        """
        key = contents_key(self.ready.pristine, contents)
        if key not in self.memory:
            self.memory[key] = measure(self.ready.pristine, contents)
        return self.memory[key]
