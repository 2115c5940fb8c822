"""`cases/<case>/case.toml`: one scientific run and what its outputs must satisfy."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from scienceide.base.quantities import Seconds
from scienceide.verifiers import ObservableSpec, Strict


class Case(Strict):
    """One scientific run: a solver configuration, an analytical test, a benchmark problem.

    The command runs in a scratch folder with the case's own files, `$CASE_INPUT` naming a JSON file
    of inputs (the variant's, or `{}`), and writes its observables into that folder.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    title: str
    science: str = ""
    """Why an expert trusts this check, in a sentence."""
    visible: bool = True
    """Hidden cases never enter the agent's sandbox."""
    command: str = "python driver.py"
    inputs: dict[str, Any] = Field(default_factory=dict)
    variants: tuple[dict[str, Any], ...] = ()
    """Further inputs that the verifier alone knows; each is run and judged like a case of its own."""
    cpu: Seconds | None = None
    """Measured CPU time of the pristine run; the cap is a multiple of it."""
    observables: tuple[ObservableSpec, ...] = Field(alias="observable")

    @model_validator(mode="after")
    def _distinct_names(self) -> Case:
        names = [o.name for o in self.observables]
        if not names:
            raise ValueError("a case needs at least one [[observable]]")
        if len(set(names)) < len(names):
            raise ValueError("two observables of a case have the same name")
        return self
