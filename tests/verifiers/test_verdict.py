import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from rich.console import Console

from scienceide.verifiers import CaseVerdict, Finding, ObservableVerdict, Outputs, Verdict, judge_case, verifier_hash
from scienceide.verifiers.identity import _code_hash
from tests.verifiers.helpers import observable, outputs

RIGHT = ObservableVerdict(name="energy", error=0.0, tolerance=1e-10, signal=1e-2, score=1.0)
WRONG = ObservableVerdict(name="position", error=1e-6, tolerance=1e-10, signal=1e-2, score=0.5)
LOST = ObservableVerdict(name="group", tolerance=0, signal=1, score=0, failure="missing key", detail="no 'group'")
CASES = (
    CaseVerdict(name="kepler", score=1.0, observables=(RIGHT,)),
    CaseVerdict(name="resonance", score=0.5, observables=(RIGHT, WRONG)),
    CaseVerdict(name="secret-orbit", score=0.0, visible=False, note="exit code 1: boom", observables=(LOST,)),
    CaseVerdict(name="secret-spin", score=1.0, visible=False, observables=(RIGHT,)),
)


def verdict(**changed):
    return Verdict.graded(**{"cases": CASES, "floor": 0.25, "cpu_s": 9.1, "wall_s": 5.2, **changed})


def test_graded():
    v = verdict()
    assert (v.outcome, v.score, v.floor, v.reward) == ("graded", 0.625, 0.25, 0.5)
    assert not v.passed
    assert v.verifier == verifier_hash()


def test_costs_and_floor_default_to_nothing():
    for v in (Verdict.graded(cases=CASES), Verdict.invalid([Finding(rule="r")])):
        assert (v.floor, v.cpu_s, v.wall_s) == (0.0, 0.0, 0.0)


def test_fixed_and_untouched():
    fixed = verdict(cases=[CASES[0], CASES[3]], floor=0.9)
    assert (fixed.reward, fixed.passed) == (1.0, True)
    assert verdict(floor=0.625).reward == 0.0


def test_findings_of_a_graded_verdict_change_nothing():
    v = verdict(integrity=[Finding(rule="edit outside editable paths, ignored", evidence="setup.py")])
    assert v.reward == 0.5


def test_ungraded_has_no_reward():
    v = Verdict.ungraded("The sandbox died.", floor=0.3)
    assert (v.outcome, v.reward, v.score, v.floor, v.fault) == ("ungraded", None, None, 0.3, "The sandbox died.")
    assert (v.cpu_s, v.wall_s) == (0.0, 0.0)
    assert not v.passed


def test_invalid_earns_nothing():
    v = Verdict.invalid([Finding(rule="reads the reference", evidence="a.py")], cases=CASES[:1])
    assert (v.outcome, v.reward, v.score, v.passed) == ("invalid", 0.0, None, False)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Verdict.graded(cases=[]),
        lambda: verdict(floor=1.0),
        lambda: Verdict.invalid([]),
        lambda: Verdict.ungraded(""),
        lambda: Verdict(outcome="graded"),
        lambda: Verdict(outcome="graded", reward=0.5),
        lambda: Verdict(outcome="ungraded", fault="x", reward=0.0),
        lambda: Verdict(outcome="invalid", reward=0.5, integrity=(Finding(rule="x"),)),
        lambda: Verdict(outcome="graded", reward=float("nan"), score=0.5),
        lambda: Verdict(outcome="fine"),
    ],
)
def test_incoherent_verdicts_are_refused(make):
    with pytest.raises(ValueError):  # noqa: PT011 - each has a text of its own
        make()


def test_a_verdict_cannot_be_changed():
    with pytest.raises(ValidationError):
        verdict().reward = 1.0


def test_json_has_the_documented_keys_and_comes_back():
    v = verdict(integrity=[Finding(rule="r", evidence="e")])
    data = json.loads(v.model_dump_json())
    assert list(data) == [
        "schema_version",
        "outcome",
        "reward",
        "score",
        "floor",
        "cases",
        "integrity",
        "fault",
        "cpu_s",
        "wall_s",
        "verifier",
    ]
    assert data["cases"][1]["observables"][1] == {
        "name": "position",
        "error": 1e-6,
        "tolerance": 1e-10,
        "signal": 1e-2,
        "score": 0.5,
        "failure": "",
        "detail": "",
    }
    assert Verdict.model_validate(data) == v
    assert Verdict.model_validate_json(v.model_dump_json(by_alias=True)) == v


@given(
    st.lists(st.floats(0, 1e3), min_size=1, max_size=4),
    st.lists(st.one_of(st.none(), st.floats(0, 1e300)), min_size=4, max_size=4),
    st.floats(0, 0.99),
)
def test_any_verdict_survives_json(values, baseline, floor):
    specs = [observable(f"o{n}") for n in range(len(values))]
    reference = outputs(**{f"o{n}": np.ones(2) for n in range(len(values))})
    found = outputs(**{f"o{n}": np.array([1.0, value]) for n, value in enumerate(values)})
    untouched = {f"o{n}": error for n, error in enumerate(baseline)}
    cases = [judge_case("c", specs, found, reference, baseline=untouched), judge_case("d", specs, Outputs(), reference)]
    v = Verdict.graded(cases=cases, floor=floor)
    assert Verdict.model_validate_json(v.model_dump_json()) == v
    assert 0.0 <= v.reward < 1.0


def test_public_hides_the_hidden():
    v = verdict()
    public = v.public()
    assert [case.name for case in public.cases] == ["kepler", "resonance"]
    assert (public.hidden_cases, public.hidden_score) == (2, 0.5)
    assert (public.reward, public.score, public.floor) == (v.reward, v.score, v.floor)
    text = public.model_dump_json()
    assert "secret" not in text
    assert "boom" not in text


def test_public_without_hidden_cases():
    public = verdict(cases=CASES[:2]).public()
    assert (public.hidden_cases, public.hidden_score) == (0, None)


def test_public_of_an_ungraded_verdict():
    assert Verdict.ungraded("No disk.").public().fault == "No disk."


def test_the_table():
    lines = verdict().render().splitlines()
    assert lines[0] == "graded: reward 0.5, score 0.625, floor 0.25"
    assert lines[2].split() == ["case,", "observable", "right", "score", "error", "tolerance", "signal"]
    body = [line.split() for line in lines[4:9]]
    assert body == [
        ["kepler", "1/1", "1"],
        ["resonance", "1/2", "0.500"],
        ["position", "0.500", "1.00e-06", "1.0e-10", "1.00e-02"],
        ["secret-orbit", "(hidden)", "0/1", "0.000"],
        ["group", "0.000", "missing", "key", "0", "1.00e+00"],
    ]
    assert "secret-orbit: exit code 1: boom" in lines
    assert lines[-1] == "9.1 s of CPU, 5.2 s"


@pytest.mark.parametrize("cost", [{"cpu_s": 2.0, "wall_s": 0.0}, {"cpu_s": 0.0, "wall_s": 2.0}])
def test_costs_are_shown_where_there_are_any(cost):
    assert f"{cost['cpu_s']:.1f} s of CPU, {cost['wall_s']:.1f} s" in verdict(**cost).render()
    assert "of CPU" not in verdict(cpu_s=0.0, wall_s=0.0).render()


def test_long_names_stay_within_80_columns():
    long = CaseVerdict(
        name="two-phase-pressure-drop-in-horizontal-tubes#2",
        score=0.0,
        visible=False,
        note="n" * 300,
        observables=(
            ObservableVerdict(
                name="lockhart_martinelli_two_phase_multiplier_gradient",
                tolerance=1e-10,
                signal=1,
                score=0,
                failure="infinite error",
            ),
        ),
    )
    text = verdict(cases=[long]).render()
    assert max(map(len, text.splitlines())) <= 80
    joined = "".join(text.split())
    assert "infiniteerror" in joined
    assert "1.0e-10" in text
    assert "1.00e+00" in text


def test_almost_right_is_not_shown_as_right():
    almost = CaseVerdict(name="c", score=0.999999, observables=(WRONG.model_copy(update={"score": 0.999999}),))
    assert "0.999" in verdict(cases=[almost]).render()
    assert "1.000" not in verdict(cases=[almost]).render()


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (Verdict.ungraded("The sandbox died."), "ungraded: The sandbox died."),
        (Verdict.invalid([Finding(rule="no cheating")]), "invalid: reward 0, floor 0"),
    ],
)
def test_other_outcomes_in_a_line(made, line):
    assert made.render().splitlines()[0] == line


def test_rich_prints_the_table():
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(verdict())
    assert "resonance" in console.export_text()


def test_what_agents_write_is_shown_harmlessly():
    evil = Finding(rule="edit outside", evidence="<script>[red]\x1b[31m.py")
    v = verdict(integrity=[evil], cases=[CaseVerdict(name="<b>", score=0.0, note="[bold]\x1b]0;")])
    assert "\x1b" not in v.render()
    assert "<script>[red]?[31m.py" in v.render()
    html = v._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "&lt;b&gt;" in html


def test_html_has_the_same_cells():
    html = verdict()._repr_html_()
    assert html.count("<tr>") == 7
    for cell in ("  position", "1.00e-06", "missing key", "secret-orbit (hidden)"):
        assert f"<td>{cell}</td>" in html


def test_the_verifiers_hash_covers_code_and_specs(monkeypatch, tmp_path):
    plain = verifier_hash()
    one = verifier_hash({"c": [observable()]})
    other = verifier_hash({"c": [observable(criterion={"kind": "norm", "tolerance": 1e-8})]})
    assert len({plain, one, other}) == 3
    assert one == verifier_hash({"c": [observable()]})
    (tmp_path / "m.py").write_text("x = 1\n")
    monkeypatch.setattr("scienceide.verifiers.identity.__file__", str(tmp_path / "identity.py"))
    assert _code_hash.__wrapped__() != plain
