"""What the verifier says: a score per case, the reward, integrity findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from scienceide.verifiers.failures import FailureName
from scienceide.verifiers.identity import verifier_hash
from scienceide.verifiers.scoring import mean_score, repair_reward
from scienceide.verifiers.spec import Strict

if TYPE_CHECKING:
    from rich.table import Table

Outcome = Literal["graded", "ungraded", "invalid"]


class ObservableVerdict(Strict):
    """One observable of one run, judged."""

    name: str
    error: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """In the criterion's units; None where there is no number, and `failure` says why."""
    tolerance: float = Field(ge=0, allow_inf_nan=False)
    signal: float = Field(ge=0, allow_inf_nan=False)
    """The error that earns nothing."""
    score: float = Field(ge=0, le=1)
    failure: FailureName | Literal[""] = ""
    detail: str = ""


class CaseVerdict(Strict):
    """One run of a case, judged."""

    name: str
    score: float = Field(ge=0, le=1)
    """That of its worst observable; 0 where the command failed."""
    visible: bool = True
    note: str = ""
    """How the command failed, if it did."""
    observables: tuple[ObservableVerdict, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every observable is within its tolerance."""
        return self.score == 1.0


class Finding(Strict):
    """Something about an attempt's integrity: which rule, and what shows it."""

    rule: str
    evidence: str = ""


class PublicVerdict(Strict):
    """A verdict without what is only for the verifier: hidden cases are a number and their mean."""

    outcome: Outcome
    reward: float | None
    score: float | None
    floor: float
    cases: tuple[CaseVerdict, ...] = ()
    hidden_cases: int = 0
    hidden_score: float | None = None
    integrity: tuple[Finding, ...] = ()
    fault: str = ""


class Verdict(Strict):
    """The whole judgement of one attempt.

    graded: the cases ran and were judged. ungraded: the infrastructure failed, `fault` says how, and there
    is no reward. invalid: the attempt broke a rule, and its reward is 0.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    outcome: Outcome
    reward: float | None = Field(default=None, ge=0, le=1)
    score: float | None = Field(default=None, ge=0, le=1)
    floor: float = Field(default=0.0, ge=0, lt=1)
    cases: tuple[CaseVerdict, ...] = ()
    integrity: tuple[Finding, ...] = ()
    fault: str = ""
    cpu_s: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    wall_s: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    verifier: str = ""
    """Content hash of the code, and of the specs where given, that judged; see `verifier_hash`."""

    @model_validator(mode="after")
    def _coherent(self) -> Verdict:
        if self.outcome == "graded" and (self.reward is None or self.score is None):
            raise ValueError("a graded verdict has a reward and a score")
        if self.outcome == "ungraded" and not (self.reward is None and self.score is None and self.fault):
            raise ValueError("an ungraded verdict has a fault, and neither reward nor score")
        if self.outcome == "invalid" and not (self.reward == 0.0 and self.integrity):
            raise ValueError("an invalid verdict has a finding and a reward of 0")
        return self

    @classmethod
    def graded(
        cls,
        *,
        cases: Sequence[CaseVerdict],
        floor: float = 0.0,
        integrity: Sequence[Finding] = (),
        cpu_s: float = 0.0,
        wall_s: float = 0.0,
        verifier: str | None = None,
    ) -> Verdict:
        """The cases were judged; findings are kept, but change nothing.

        Raises:
            ValueError: there are no cases, or the floor is not in [0, 1).
        """
        score = mean_score([case.score for case in cases])
        return cls(
            outcome="graded",
            reward=repair_reward(score, floor),
            score=score,
            floor=floor,
            cases=tuple(cases),
            integrity=tuple(integrity),
            cpu_s=cpu_s,
            wall_s=wall_s,
            verifier=verifier_hash() if verifier is None else verifier,
        )

    @classmethod
    def ungraded(cls, fault: str, *, floor: float = 0.0, cpu_s: float = 0.0, wall_s: float = 0.0) -> Verdict:
        """Nothing can be said: the verifier or its sandbox failed, in one sentence."""
        return cls(outcome="ungraded", floor=floor, fault=fault, cpu_s=cpu_s, wall_s=wall_s, verifier=verifier_hash())

    @classmethod
    def invalid(
        cls,
        findings: Sequence[Finding],
        *,
        floor: float = 0.0,
        cases: Sequence[CaseVerdict] = (),
        cpu_s: float = 0.0,
        wall_s: float = 0.0,
    ) -> Verdict:
        """The attempt broke a rule; whatever it computed earns 0.

        Raises:
            ValueError: no finding says which rule.
        """
        return cls(
            outcome="invalid",
            reward=0.0,
            floor=floor,
            cases=tuple(cases),
            integrity=tuple(findings),
            cpu_s=cpu_s,
            wall_s=wall_s,
            verifier=verifier_hash(),
        )

    @property
    def passed(self) -> bool:
        """Graded, and every case is right."""
        return self.outcome == "graded" and self.score == 1.0

    def public(self) -> PublicVerdict:
        """What the agent may see: visible cases in full, of hidden ones how many and their mean score."""
        hidden = [case.score for case in self.cases if not case.visible]
        return PublicVerdict(
            outcome=self.outcome,
            reward=self.reward,
            score=self.score,
            floor=self.floor,
            cases=tuple(case for case in self.cases if case.visible),
            hidden_cases=len(hidden),
            hidden_score=mean_score(hidden) if hidden else None,
            integrity=self.integrity,
            fault=self.fault,
        )

    def render(self, width: int = 80) -> str:
        """The table as plain text."""
        from scienceide.verifiers.render import as_text

        return as_text(self, width)

    def __rich__(self) -> Table:
        from scienceide.verifiers.render import as_table

        return as_table(self)

    def _repr_html_(self) -> str:
        from scienceide.verifiers.render import as_html

        return as_html(self)


def outcome_line(verdict: Verdict | PublicVerdict) -> str:
    """One sentence: outcome, reward, score and floor."""
    if verdict.outcome == "ungraded":
        return f"ungraded: {verdict.fault}"
    numbers: dict[str, Any] = {"reward": verdict.reward, "score": verdict.score, "floor": verdict.floor}
    shown = ", ".join(f"{name} {value:.4g}" for name, value in numbers.items() if value is not None)
    return f"{verdict.outcome}: {shown}"
