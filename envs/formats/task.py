"""`tasks/<task>/task.toml` and `defect.json`: an initial state of the code to put right."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from scienceide.envs.formats.environment import Sha256
from scienceide.verifiers import Strict


class Edit(Strict):
    """One operation on the pinned source: replace a span of one line by a new token.

    No upstream text is stored: the line is known by its number and the hash of its pristine content
    (without the line ending), `span` is a half-open range of characters in it.
    """

    file: str
    line: int = Field(ge=1)
    span: tuple[int, int]
    line_sha256: Sha256
    operator: str
    new: str


class Defect(Strict):
    """`defect.json`: the edits that turn the pristine source into the task's initial state."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    edits: tuple[Edit, ...] = Field(min_length=1)


class Difficulty(Strict):
    """Measured facts, not labels."""

    cases_broken: float = Field(ge=0, le=1)
    """Share of all cases whose score the defect lowers."""
    sites: int = Field(ge=1)
    verification_cpu: float = Field(ge=0)
    """Seconds of CPU to verify one patch."""


class Provenance(Strict):
    """Where the task comes from."""

    operator: str
    gates: str = "gates.json"
    builder: str = ""


class Task(Strict):
    """A whole `task.toml`."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    kind: Literal["repair"] = "repair"
    split: Literal["train", "heldout"]
    lineage: str
    """Twins of one defect share it and never lie on two sides of the split."""
    instruction: str = "instruction.md"
    hints: tuple[str, ...] = ()
    """Graded, strongest first: file, line and kind of change; file; nature of the symptom."""
    derivation: str = ""
    """What lets one find the fix without recalling a literal; never shown to the agent."""
    floor: float = Field(ge=0, lt=1)
    """Score of the untouched task."""
    baseline: dict[str, dict[str, float | None]] = Field(default_factory=dict)
    """Per case and observable, the error of the untouched task; null where there was no number."""
    difficulty: Difficulty
    provenance: Provenance

    def public(self) -> dict[str, Any]:
        """What an agent or a browser may know."""
        return {"kind": self.kind, "split": self.split, "floor": self.floor, "difficulty": self.difficulty}
