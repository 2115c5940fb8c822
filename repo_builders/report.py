"""What a build did: numbers for people and programs, and the graveyard of what was refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from scienceide.envs.catalog import LoadedEnvironment
from scienceide.repo_builders.draft import Draft
from scienceide.repo_builders.gates import GateResult
from scienceide.repo_builders.mutate import Candidate

if TYPE_CHECKING:
    from rich.console import Group


@dataclass(frozen=True)
class Rejected:
    """A candidate that became no task, and why; holds no upstream text."""

    edit: dict[str, Any]
    function: str
    gate: str
    reason: str

    @classmethod
    def of(cls, candidate: Candidate, gate: str, reason: str) -> Rejected:
        """The record of a refused candidate."""
        return cls(candidate.edit.model_dump(mode="json"), candidate.function, gate, reason)


@dataclass
class BuildReport:
    """Filled stage by stage."""

    environment: str
    cases: list[dict[str, Any]] = field(default_factory=list)
    flags: list[dict[str, str]] = field(default_factory=list)
    candidates: int = 0
    reachable: int = 0
    screened: int = 0
    gates: dict[str, dict[str, int]] = field(default_factory=dict)
    """How many passed and failed each gate."""
    operators: dict[str, dict[str, int]] = field(default_factory=dict)
    """Candidates, refused and accepted by operator: the yield."""
    tasks: list[dict[str, Any]] = field(default_factory=list)
    rejected: dict[str, int] = field(default_factory=dict)
    """Refused candidates by gate."""
    seconds: dict[str, float] = field(default_factory=dict)
    graveyard: list[Rejected] = field(default_factory=list)

    def count_candidates(self, found: Sequence[Candidate], order: Sequence[Candidate]) -> None:
        """Note how many candidates there are, and how many a case reaches."""
        self.candidates, self.reachable = len(found), len(order)
        for operator, count in Counter(c.edit.operator for c in found).items():
            self._operator(operator)["candidates"] = count

    def count_gates(self, results: Iterable[GateResult]) -> None:
        """Note what the gates said of one draft."""
        for result in results:
            counts = self.gates.setdefault(result.gate, {"passed": 0, "failed": 0})
            counts["passed" if result.passed else "failed"] += 1

    def reject(self, rejected: Rejected) -> None:
        """Bury a candidate."""
        self.graveyard.append(rejected)
        self.rejected[rejected.gate] = self.rejected.get(rejected.gate, 0) + 1
        self._operator(rejected.edit["operator"])["refused"] += 1

    def accept(self, draft: Draft) -> None:
        """Note a published task."""
        operator = draft.candidate.edit.operator
        self._operator(operator)["accepted"] += 1
        facts = {"name": draft.name, "split": draft.task.split, "operator": operator, "floor": draft.task.floor}
        self.tasks.append({**facts, "cases_broken": draft.task.difficulty.cases_broken})

    def describe_cases(self, environment: LoadedEnvironment) -> None:
        """Note each observable's tolerance and its margins."""
        for name, case in environment.cases.items():
            for observable in case.observables:
                evidence = observable.evidence
                self.cases.append(
                    {
                        "case": name,
                        "visible": case.visible,
                        "cpu_s": case.cpu,
                        "observable": observable.name,
                        "criterion": observable.criterion.kind,
                        "tolerance": getattr(observable.criterion, "tolerance", None),
                        "noise": evidence.noise if evidence else None,
                        "signal": evidence.signal if evidence else None,
                    }
                )

    def to_json(self) -> str:
        """The report without its graveyard, which is a file of its own."""
        data = asdict(self)
        del data["graveyard"]
        return json.dumps(data, indent=1) + "\n"

    def graveyard_json(self) -> str:
        """All refused candidates with their reasons."""
        return json.dumps([asdict(r) for r in self.graveyard], indent=1) + "\n"

    def table(self) -> Group:
        """The report for a terminal."""
        from rich.console import Group
        from rich.table import Table

        cases = Table(title=f"{self.environment}: cases and tolerances", title_justify="left")
        for heading in ("case", "observable", "noise", "tolerance", "signal"):
            cases.add_column(heading, justify="left" if heading in ("case", "observable") else "right")
        for row in self.cases:
            name = row["case"] + ("" if row["visible"] else " (hidden)")
            cases.add_row(name, row["observable"], *(_number(row[k]) for k in ("noise", "tolerance", "signal")))
        yields = Table(
            title=f"{len(self.tasks)} tasks from {self.reachable} reachable candidates", title_justify="left"
        )
        for heading in ("operator", "candidates", "refused", "accepted"):
            yields.add_column(heading, justify="left" if heading == "operator" else "right")
        for operator, counts in sorted(self.operators.items()):
            yields.add_row(operator, *(str(counts[k]) for k in ("candidates", "refused", "accepted")))
        refused = ", ".join(f"{gate} {count}" for gate, count in sorted(self.rejected.items())) or "none"
        times = ", ".join(f"{stage} {seconds:.1f} s" for stage, seconds in self.seconds.items())
        splits = Counter(task["split"] for task in self.tasks)
        ending = f"split: {dict(splits)}\nrefused by gate: {refused}\ntimes: {times}"
        return Group(cases, yields, ending)

    def _operator(self, operator: str) -> dict[str, int]:
        return self.operators.setdefault(operator, {"candidates": 0, "refused": 0, "accepted": 0})


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1e}"
