"""From a mutant that ran to a task on disk: floor, instruction, hints, and the files that hold them."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from scienceide.base.paths import content_hash, write_atomically
from scienceide.envs.formats import Difficulty, Provenance, Task, to_toml
from scienceide.envs.grading import Judge
from scienceide.envs.workshop import ReadyEnvironment
from scienceide.repo_builders import describe
from scienceide.repo_builders.draft import Draft
from scienceide.repo_builders.gates import GateResult
from scienceide.repo_builders.gates.floor import HIGHEST
from scienceide.repo_builders.mutants import Mutant
from scienceide.verifiers import CaseVerdict, Verdict

BUILDER = "repo_builders 1"


@dataclass(frozen=True)
class Assessment:
    """What a mutant's outputs are worth as a task."""

    mutant: Mutant
    verdict: Verdict
    baseline: Mapping[str, Mapping[str, float | None]]

    @property
    def floor(self) -> float:
        """The score of the untouched mutant."""
        assert self.verdict.score is not None, "what was run is graded"
        return self.verdict.score

    @property
    def visible(self) -> list[CaseVerdict]:
        """The verdicts an agent can see."""
        return [case for case in self.verdict.cases if case.visible]

    @property
    def crashes(self) -> bool:
        """Whether every visible symptom is a run that does not finish."""
        return all(case.note for case in self.visible if case.score < 1.0)

    def numbers(self) -> dict[str, dict[str, float | None]]:
        """The baseline without what left no number: TOML has no null, and an absent entry says the same."""
        numbers = {run: {o: e for o, e in errors.items() if e is not None} for run, errors in self.baseline.items()}
        return {run: dict(errors) for run, errors in numbers.items() if errors}

    @property
    def rejected(self) -> str:
        """The gate that this can never pass, or nothing. Screening costs less than gating."""
        if self.mutant.died:
            return self.mutant.died
        if self.floor > HIGHEST:
            return "silent" if self.floor == 1.0 else "floor"
        return "" if any(case.score < 1.0 for case in self.visible) else "symptom"


def assess(mutant: Mutant, ready: ReadyEnvironment) -> Assessment:
    """Judge a mutant against the references, with its own errors as the level that earns nothing."""
    plain = Judge(ready.references).verdict(ready.specs, mutant.measured)
    baseline = {
        case.name: {o.name: _finite(o.error) for o in case.observables} for case in plain.cases if case.score < 1.0
    }
    verdict = Judge(ready.references, 0.0, baseline).verdict(ready.specs, mutant.measured)
    return Assessment(mutant, verdict, baseline)


def draft(assessment: Assessment, ready: ReadyEnvironment, name: str) -> Draft:
    """All of a task but its split, which depends on what other tasks there are."""
    candidate = assessment.mutant.candidate
    cases = assessment.verdict.cases
    environment = ready.pristine.environment.environment
    task = Task(
        split="train",
        lineage=candidate.lineage,
        hints=describe.hints(candidate, ready.specs, assessment.visible),
        derivation=describe.derivation(candidate),
        floor=assessment.floor,
        baseline=assessment.numbers(),
        difficulty=Difficulty(
            cases_broken=round(sum(case.score < 1.0 for case in cases) / len(cases), 4), sites=1, verification_cpu=0.0
        ),
        provenance=Provenance(operator=candidate.edit.operator, builder=BUILDER),
    )
    text = describe.instruction(environment, ready.specs, assessment.visible)
    return Draft(name, candidate, assessment.mutant.defect, task, text)


def name_drafts(assessments: Sequence[Assessment]) -> list[str]:
    """A name for each: the visible case that shows it and a number; nothing of the place.

    Numbers follow a hash of the defect, so that they say nothing about the order in the code either.
    """
    shown = [min(a.visible, key=lambda case: case.score).name for a in assessments]
    order = sorted(range(len(shown)), key=lambda i: content_hash(assessments[i].mutant.candidate.edit.model_dump()))
    counts: Counter[str] = Counter()
    names = [""] * len(shown)
    for index in order:
        counts[shown[index]] += 1
        names[index] = f"{shown[index]}-{counts[shown[index]]:02d}"
    return names


def finished(made: Draft, split: str, verification_cpu: float) -> Draft:
    """The draft with what is known only at the end."""
    difficulty = made.task.difficulty.model_copy(update={"verification_cpu": round(verification_cpu, 2)})
    side = cast(Literal["train", "heldout"], split)
    return replace(made, task=made.task.model_copy(update={"split": side, "difficulty": difficulty}))


def write(made: Draft, results: Sequence[GateResult], folder: Path) -> None:
    """Write `task.toml`, `instruction.md`, `defect.json` and `gates.json` into `folder`."""
    folder.mkdir(parents=True)
    write_atomically(folder / "task.toml", to_toml(made.task))
    write_atomically(folder / made.task.instruction, made.instruction)
    defect = made.defect.model_dump(mode="json", by_alias=True)
    write_atomically(folder / "defect.json", json.dumps(defect, indent=1) + "\n")
    gates = [result.to_json() for result in results]
    write_atomically(folder / made.task.provenance.gates, json.dumps(gates, indent=1) + "\n")


def _finite(error: float | None) -> float | None:
    return error if error is not None and math.isfinite(error) else None
