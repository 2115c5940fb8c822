import numpy as np
import pytest

from scienceide.base.errors import VerifierError
from scienceide.verifiers import FAILURES, Failure, Outputs, Verdict, judge_case, read_outputs
from tests.verifiers.helpers import EXACT, npz, observable, outputs

TOL = 1e-10
SPECS = [
    observable("position", criterion={"kind": "norm", "scale": "field", "tolerance": TOL}),
    observable("drift", criterion={"kind": "bounds", "max_abs": 1e-9}),
    observable("group", criterion=EXACT),
]
GOOD = {"position": np.array([1.0, -2.0]), "drift": np.array([1e-12, 0.0]), "group": np.array([225, 194])}
REFERENCE = outputs(**GOOD)


def judge(baseline=None, note="", **changed):
    return judge_case("orbit", SPECS, outputs(**{**GOOD, **changed}), REFERENCE, baseline=baseline, note=note)


def test_the_pristine_code_scores_one():
    verdict = judge()
    assert verdict.score == 1.0
    assert verdict.passed
    assert [o.score for o in verdict.observables] == [1.0, 1.0, 1.0]
    assert [o.error for o in verdict.observables] == [0.0, 0.0, 0.0]


def test_one_wrong_observable_of_three_does_not_look_fixed():
    verdict = judge(group=np.array([225, 191]))
    assert [o.score for o in verdict.observables] == [1.0, 1.0, 0.5]
    assert verdict.score == 0.5
    assert not verdict.passed


def test_the_case_is_as_good_as_its_worst_observable():
    verdict = judge(position=np.array([1.0, -2.0 + 2e-5]), group=np.array([225, 191]))
    position, drift, group = verdict.observables
    assert position.score == pytest.approx(0.5, abs=1e-5)  # 1e-5 of the field, from 1 down to 1e-10
    assert verdict.score == min(position.score, drift.score, group.score)


def test_the_untouched_task_scores_zero_on_what_it_breaks():
    broken = {"position": np.array([1.0, -2.002]), "drift": np.array([1e-3, 0.0])}
    baseline = {o.name: o.error for o in judge(**broken).observables}
    untouched = judge(baseline, **broken)
    assert [o.score for o in untouched.observables] == [0.0, 0.0, 1.0]
    assert untouched.score == 0.0
    halfway = judge(baseline, position=np.array([1.0, -2.0000002]), drift=np.array([1e-6, 0.0]))
    assert 0.4 < halfway.score < 0.6
    assert judge(baseline).score == 1.0


def test_a_fix_that_breaks_something_else_shows():
    baseline = {"position": 1e-3, "drift": 0.0, "group": 0.0}
    verdict = judge(baseline, group=np.array([1, 1]))
    assert [o.score for o in verdict.observables] == [1.0, 1.0, 0.0]


def test_a_baseline_without_a_number_falls_back_to_the_default():
    verdict = judge({"position": None, "drift": None, "group": None}, position=np.array([1.0, -2.0 - 2e-5]))
    assert verdict.observables[0].signal == 1.0
    assert verdict.observables[0].score == pytest.approx(0.5, abs=1e-5)


def test_a_run_without_outputs_scores_zero_with_named_failures():
    verdict = judge_case("orbit", SPECS, Outputs(), REFERENCE, visible=False)
    assert verdict.score == 0.0
    assert {o.failure for o in verdict.observables} == {"no output"}
    assert {o.error for o in verdict.observables} == {None}
    assert not verdict.visible


def test_a_command_that_failed_scores_zero_whatever_it_left():
    verdict = judge(note="exit code 1")
    assert verdict.score == 0.0
    assert [o.score for o in verdict.observables] == [1.0, 1.0, 1.0]
    assert verdict.note == "exit code 1"


def test_a_case_without_observables_proves_nothing():
    assert judge_case("orbit", [], Outputs(), Outputs()).score == 0.0


def test_a_shorter_series_is_a_wrong_shape_even_within_bounds():
    verdict = judge(drift=np.array([0.0]))
    assert verdict.observables[1].failure == "wrong shape"
    assert verdict.observables[1].detail == "the reference has (2,), this (1,)"
    assert verdict.score == 0.0


def test_a_reference_that_lacks_an_observable_is_the_verifiers_fault():
    reference = Outputs({"x": np.ones(2)}, {"position": Failure("non-finite", "1 of 2 elements")})
    with pytest.raises(VerifierError, match=r"orbit has no 'position' \(non-finite: 1 of 2 elements\)"):
        judge_case("orbit", SPECS, REFERENCE, reference)
    with pytest.raises(VerifierError, match="no output"):
        judge_case("orbit", SPECS, REFERENCE, Outputs())


RELATIVE = observable(criterion={"kind": "norm", "scale": "relative", "tolerance": TOL}, shape=("n",))
HUGE = npz(x=np.ones(9 * 2**20))
FAILING = {
    "no output": None,
    "missing file": {},
    "missing key": {"o.npz": npz(y=np.ones(2))},
    "too large": {"o.npz": HUGE},
    "unreadable": {"o.npz": b"junk"},
    "not numeric": {"o.npz": npz(x=np.array(["a", "b"]))},
    "wrong shape": {"o.npz": npz(x=np.ones((2, 2)))},
    "non-finite": {"o.npz": npz(x=np.array([1.0, np.nan]))},
    "infinite error": {"o.npz": npz(x=np.array([1.0, 1e-300]))},
}


def test_the_table_of_failures_is_complete():
    assert set(FAILING) == set(FAILURES)


@pytest.mark.parametrize("name", FAILURES)
def test_each_failure_is_named_in_the_verdict_and_scores_zero(name):
    files = FAILING[name]
    found = Outputs() if files is None else read_outputs(files, [RELATIVE])
    case = judge_case("c", [RELATIVE], found, outputs(x=np.array([1.0, 0.0])), baseline={"x": 0.1})
    (judged,) = case.observables
    assert (judged.failure, judged.error, judged.score, case.score) == (name, None, 0.0, 0.0)
    verdict = Verdict.graded(cases=[case])
    assert name in verdict.render()
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
