"""Instructions report symptoms in a scientist's words; hints get weaker; neither says more than it should."""

import pytest

from scienceide.envs.formats import Case, Edit, Environment, Source
from scienceide.envs.running import RunSpec
from scienceide.repo_builders.describe import KINDS, derivation, deviation, hints, instruction
from scienceide.repo_builders.mutate import Candidate
from scienceide.verifiers import (
    Bounds,
    CaseVerdict,
    Conserved,
    Exact,
    Location,
    Norm,
    ObservableSpec,
    ObservableVerdict,
)


def observable(criterion, name="drag", unit="1"):
    return ObservableSpec(name=name, source=Location(file="o.npz", key=name), criterion=criterion, unit=unit)


ENVIRONMENT = Environment(
    name="pkg",
    title="Drag of spheres",
    source=Source(kind="pypi", name="pkg", version="1.0", sha256="0" * 64),
    editable={"include": ["pkg/*.py"]},
)
CASE = Case(title="Spheres", observables=(observable(Norm(scale="relative", tolerance=1e-9)), observable(Exact(), "n")))
SPECS = [RunSpec("spheres", "spheres", CASE, {}), RunSpec("other", "other", CASE, {})]
EDIT = Edit(file="pkg/drag.py", line=77, span=(0, 1), line_sha256="0" * 64, operator="operator", new="*")
CANDIDATE = Candidate(EDIT, "Stokes", True, 77)


def judged(name="spheres", error=0.032, note="", failure="", detail=""):
    wrong = ObservableVerdict(
        name="drag",
        score=0.0,
        error=None if failure else error,
        tolerance=1e-9,
        signal=1.0,
        failure=failure,
        detail=detail,
    )
    right = ObservableVerdict(name="n", score=1.0, error=0.0, tolerance=0.0, signal=1.0)
    return CaseVerdict(name=name, score=0.0, observables=(wrong, right), note=note)


RIGHT = CaseVerdict(name="other", score=1.0, observables=())


@pytest.mark.parametrize(
    ("criterion", "error", "words"),
    [
        (Norm(scale="relative", tolerance=1e-9), 0.032, "is off by 3.2 % of its value at worst"),
        (Norm(norm="l2", tolerance=1e-9), 25.0, "is off by 25 times of its scale in the root mean square"),
        (Norm(norm="l1", scale="absolute", tolerance=1e-9), 0.5, "is off by 0.5 Pa on average"),
        (Norm(tolerance=1e-9), 2e-6, "is off by 2.0e-06 of its scale at worst"),
        (Conserved(tolerance=1e-9), 0.5, "drifts by 50 % of its initial value"),
        (Bounds(max_abs=2.0, scale=2.0), 0.25, "lies 0.5 Pa outside its bounds"),
        (Exact(), 1.0, "differs"),
    ],
)
def test_deviations_in_words(criterion, error, words):
    assert deviation(observable(criterion, unit="Pa"), error) == words


def test_instruction_tells_symptom_and_acceptance():
    text = instruction(ENVIRONMENT, SPECS, [judged(), RIGHT])
    assert text.startswith("# 1 of 2 visible cases of pkg no longer agree")
    assert "**Spheres** (`spheres`)" in text
    assert "`drag` is off by 3.2 % of its value at worst (accepted: 1e-09)" in text
    assert "`n`" not in text
    assert "agree with the reference: `other`" in text
    assert "drag.py" not in text
    assert "77" not in text


def test_a_crash_is_told_without_quoting_code():
    note = "exit code 1: ZeroDivisionError: in Stokes(Re), 24.0 * Re"
    text = instruction(ENVIRONMENT, SPECS, [judged(note=note)])
    assert "does not finish: exit code 1, ZeroDivisionError" in text
    assert "Stokes" not in text


def test_a_failure_is_named():
    text = instruction(ENVIRONMENT, SPECS, [judged(failure="non-finite", detail="3 of 4")])
    assert "`drag`: non-finite (3 of 4)" in text


def test_no_symptom_is_an_error():
    with pytest.raises(ValueError, match="no visible case"):
        instruction(ENVIRONMENT, SPECS, [RIGHT])


def test_hints_get_weaker():
    strong, middle, weak = hints(CANDIDATE, SPECS, [judged(), RIGHT])
    assert strong == "pkg/drag.py, line 77: a multiplication and a division are confused."
    assert "pkg/drag.py" in middle
    assert "77" not in middle
    assert "drag.py" not in weak
    assert "`drag`" in weak
    assert "`spheres`" in weak


def test_every_operator_has_words():
    for operator in KINDS:
        candidate = Candidate(EDIT.model_copy(update={"operator": operator}), "Stokes", True, 77)
        assert KINDS[operator] in derivation(candidate)
