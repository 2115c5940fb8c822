"""What the verifier says: per observable, per case, and in all."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from scienceide.verifiers.scoring import DIGITS, repair_reward
from scienceide.verifiers.spec import Strict

if TYPE_CHECKING:
    from rich.console import RenderableType

Outcome = Literal["graded", "ungraded", "invalid"]


class Finding(Strict):
    """Something about a patch that a person should know."""

    rule: str
    evidence: str


class ObservableVerdict(Strict):
    """One observable: its error against tolerance and signal, or why it has none."""

    name: str
    score: float = Field(ge=0, le=1)
    error: float | None = None
    tolerance: float
    signal: float | None = None
    failure: str = ""


class CaseVerdict(Strict):
    """One run: as good as its worst observable."""

    name: str
    score: float = Field(ge=0, le=1)
    observables: tuple[ObservableVerdict, ...] = ()
    visible: bool = True
    note: str = ""
    """How the run's command ended, where it did not end well."""


class Verdict(Strict):
    """The whole judgement of one patch.

    graded: it ran; `reward` is the repair reward. ungraded: it could not be graded, through no fault of the
    patch; there is no reward, which is not a reward of zero. invalid: the patch breaks the rules; reward 0.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    outcome: Outcome
    reward: float | None = None
    score: float | None = None
    floor: float = 0.0
    cases: tuple[CaseVerdict, ...] = ()
    integrity: tuple[Finding, ...] = ()
    fault: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    verifier: str = ""
    """Content hash of the code that judged."""

    @classmethod
    def graded(
        cls,
        *,
        cases: Sequence[CaseVerdict],
        floor: float,
        integrity: Sequence[Finding] = (),
        cpu_s: float = 0.0,
        wall_s: float = 0.0,
    ) -> Verdict:
        """Of a patch that ran: score is the mean over all cases."""
        mean = sum(case.score for case in cases) / len(cases)
        score = 1.0 if all(case.score == 1.0 for case in cases) else min(round(mean, DIGITS), 1.0 - 10.0**-DIGITS)
        return cls(
            outcome="graded",
            reward=repair_reward(score, floor),
            score=score,
            floor=floor,
            cases=tuple(cases),
            integrity=tuple(integrity),
            cpu_s=round(cpu_s, 3),
            wall_s=round(wall_s, 3),
            verifier=verifier_hash(),
        )

    @classmethod
    def ungraded(cls, fault: str, *, floor: float = 0.0) -> Verdict:
        """Of a patch that could not be graded, and why, in one sentence."""
        return cls(outcome="ungraded", floor=floor, fault=fault, verifier=verifier_hash())

    @classmethod
    def invalid(cls, findings: Sequence[Finding], *, floor: float = 0.0) -> Verdict:
        """Of a patch that breaks the rules."""
        return cls(outcome="invalid", reward=0.0, floor=floor, integrity=tuple(findings), verifier=verifier_hash())

    @property
    def passed(self) -> bool:
        """Whether everything is right."""
        return self.outcome == "graded" and self.score == 1.0

    def public(self) -> Verdict:
        """What an agent may see: hidden cases are one line with their mean score, no costs, no findings' names."""
        shown = [case for case in self.cases if case.visible]
        hidden = [case.score for case in self.cases if not case.visible]
        if hidden:
            name = f"{len(hidden)} hidden runs"
            shown.append(CaseVerdict(name=name, score=round(sum(hidden) / len(hidden), 6), visible=False))
        return self.model_copy(update={"cases": tuple(shown), "cpu_s": 0.0, "wall_s": 0.0})

    def summary(self) -> str:
        """One line."""
        if self.outcome == "ungraded":
            return f"ungraded: {self.fault}"
        if self.outcome == "invalid":
            return f"invalid, reward 0: {'; '.join(f.rule for f in self.integrity)}"
        right = sum(case.score == 1.0 for case in self.cases)
        return (
            f"reward {self.reward:.3f}  (score {self.score:.3f}, floor {self.floor:.3f}, "
            f"{right} of {len(self.cases)} runs right, {self.cpu_s:.1f} s of CPU)"
        )

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(header_style="bold", expand=False)
        table.add_column("run", overflow="fold")
        for column in ("score", "error", "tolerance"):
            table.add_column(column, justify="right")
        table.add_column("worst observable", overflow="fold")
        for case in self.cases:
            style = "green" if case.score == 1.0 else "red" if case.score == 0.0 else "yellow"
            table.add_row(Text(case.name), Text(f"{case.score:.3f}", style=style), *map(Text, worst(case)))
        lines: list[RenderableType] = [Text(self.summary(), style="bold")]
        if self.cases:
            lines.append(table)
        lines += [Text(f"• {f.rule}: {f.evidence}", style="yellow") for f in self.integrity]
        return Group(*lines)

    def _repr_html_(self) -> str:
        cell = "<td style='text-align:right'>{}</td>"
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(case.name)}</td>{cell.format(f'{case.score:.3f}')}"
            + "".join(cell.format(escape(part)) for part in worst(case))
            + "</tr>"
            for case in self.cases
        )
        head = "<tr><th>run</th><th>score</th><th>error</th><th>tolerance</th><th>worst observable</th></tr>"
        findings = "".join(f"<li>{escape(f.rule)}: {escape(f.evidence)}</li>" for f in self.integrity)
        listed = f"<ul>{findings}</ul>" if findings else ""
        table = f"<table>{head}{rows}</table>" if rows else ""
        return f"<div><b>{escape(self.summary())}</b></div>{table}{listed}"

    def as_json(self) -> dict[str, Any]:
        """JSON values, with `schema` spelt as on disk."""
        return self.model_dump(mode="json", by_alias=True)


def worst(case: CaseVerdict) -> tuple[str, str, str]:
    """Error, tolerance and name of the observable that decides a case, as text."""
    if not case.observables:
        return "", "", case.note
    o = min(case.observables, key=lambda o: (o.score, -(o.error if o.error is not None else float("inf"))))
    error = o.failure.partition(":")[0] if o.failure else f"{o.error:.2e}"
    return error, f"{o.tolerance:.0e}", o.name


@cache
def verifier_hash() -> str:
    """Content hash of the verifier's own code: verdicts of different verifiers are not to be compared."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
