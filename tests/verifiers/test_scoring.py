import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scienceide.verifiers import (
    Bounds,
    Conserved,
    Exact,
    Norm,
    error,
    graded,
    repair_reward,
    score_of,
    signal_of,
    wholly_wrong,
)
from scienceide.verifiers.scoring import ALMOST, DEAD_BAND, mean_score, width_of
from tests.verifiers.helpers import EXACT, observable

TOL = 1e-9


@pytest.mark.parametrize(
    ("wrong", "tolerance", "signal", "score"),
    [
        (0.0, 1e-10, 1e-2, 1.0),
        (1e-10, 1e-10, 1e-2, 1.0),
        (1e-6, 1e-10, 1e-2, 0.5),
        (1e-8, 1e-10, 1e-2, 0.75),
        (1e-2, 1e-10, 1e-2, 0.0),
        (1.0, 1e-10, 1e-2, 0.0),
        (math.nan, 1e-10, 1e-2, 0.0),
        (math.inf, 1e-10, 1e-2, 0.0),
        (None, 1e-10, 1e-2, 0.0),
        (0.0, 0.0, 1.0, 1.0),
        (0.25, 0.0, 1.0, 0.75),
        (1e-12, 0.0, 1.0, ALMOST),
        (1.0, 0.0, 1.0, 0.0),
        (0.2, 0.1, 0.1, 0.0),
        (0.1, 0.1, 0.05, 1.0),
        (0.2, 0.1, None, 0.0),
        (0.05, 0.1, None, 1.0),
        (0.2, 0.1, math.inf, 0.0),
        (0.2, 0.1, math.nan, 0.0),
        (5e-324, 0.0, 5e-324, 0.0),
        (1e10, 1e-300, 1e300, 0.483333),
        (math.nextafter(1e-9, 1), 1e-9, 1.0, ALMOST),
    ],
)
def test_graded_by_hand(wrong, tolerance, signal, score):
    assert graded(wrong, tolerance, signal) == score


positive = st.floats(1e-300, 1e300)


@given(positive, positive, positive, positive)
def test_graded_is_monotone_and_bounded(a, b, tolerance, signal):
    low, high = sorted((a, b))
    better, worse = graded(low, tolerance, signal), graded(high, tolerance, signal)
    assert 0.0 <= worse <= better <= 1.0
    assert (better == 1.0) == (low <= tolerance)


@given(positive, positive, st.floats(0, 1))
def test_graded_does_not_depend_on_units(tolerance, ratio, place):
    ratio = 2.0 + min(ratio, 1e12)
    tolerance = min(max(tolerance, 1e-100), 1e100)
    wrong, signal = tolerance * ratio**place, tolerance * ratio
    assert graded(wrong * 2**20, tolerance * 2**20, signal * 2**20) == graded(wrong, tolerance, signal)
    if tolerance < wrong < signal:
        assert graded(wrong, tolerance, signal) == pytest.approx(1 - place, abs=2e-6)


@given(
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.sampled_from([Exact(), Bounds(max_abs=1e-6), Bounds(low=0, high=2), Bounds(low=0)]),
)
def test_scores_without_a_tolerance_are_monotone_and_strict(a, b, criterion):
    low, high = sorted((a, b))
    better, worse = score_of(criterion, low, 1.0), score_of(criterion, high, 1.0)
    assert 0.0 <= worse <= better <= 1.0
    assert (better == 1.0) == (low == 0.0)


@pytest.mark.parametrize(
    ("criterion", "wrong", "signal", "score"),
    [
        (Norm(tolerance=1e-10), 1e-6, 1e-2, 0.5),
        (Conserved(tolerance=1e-10), 1e-6, 1e-2, 0.5),
        (Exact(), 0.25, 0.5, 0.5),
        (Bounds(max_abs=1e-10), 1e-6 - 1e-10, 1e-2 - 1e-10, 0.5),
        (Bounds(low=0, high=2), 99.0, 9999.0, 0.5),
        (Bounds(low=0, high=2), 0.0, 1.0, 1.0),
        (Bounds(low=0, high=2), 1e-30, 1.0, ALMOST),
        (Bounds(low=0, high=2), None, 1.0, 0.0),
        (Norm(tolerance=1e-10), math.nan, 1e-2, 0.0),
    ],
)
def test_score_by_criterion(criterion, wrong, signal, score):
    assert score_of(criterion, wrong, signal) == score


@pytest.mark.parametrize(
    ("bounds", "width"),
    [
        ({"max_abs": 0.5}, 0.5),
        ({"max_abs": 0.5, "scale": 0.1}, 5.0),
        ({"low": -1, "high": 3}, 2.0),
        ({"low": -1, "high": 3, "max_abs": 0.5}, 0.5),
        ({"low": 0}, 1.0),
        ({"low": 2, "high": 2}, 1.0),
    ],
)
def test_width_of_bounds(bounds, width):
    assert width_of(Bounds.model_validate(bounds)) == width


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        (Norm(tolerance=TOL), 1.0),
        (Norm(tolerance=0.5), 5.0),
        (Norm(scale="relative", tolerance=TOL), 1.0),
        (Norm(scale="absolute", tolerance=TOL), 4.0),
        (Norm(scale="absolute", norm="l1", tolerance=TOL), 2.0),
        (Norm(tolerance=1e308), 1.7976931348623157e308),
        (Exact(), 1.0),
        (Conserved(tolerance=TOL), 1.0),
        (Bounds(max_abs=1e-9), 1.0),
        (Bounds(low=250, high=350), 50.0),
    ],
)
def test_wholly_wrong(criterion, expected):
    assert wholly_wrong(criterion, np.array([0.0, -4.0])) == expected


def test_all_zeros_earn_nothing():
    reference = np.array([3.0, -4.0, 0.5])
    for scale in ("absolute", "relative", "field"):
        for kind in ("linf", "l1", "l2"):
            criterion = Norm(norm=kind, scale=scale, tolerance=TOL)
            spec = observable(criterion=criterion.model_dump())
            zeros = error(criterion, np.zeros(3), reference)
            for untouched in (None, zeros, 1e300):
                assert score_of(criterion, zeros, signal_of(spec, reference, untouched)) == 0.0


@pytest.mark.parametrize(
    ("untouched", "evidence", "expected"),
    [
        (1e-3, None, 1e-3 * (1 - DEAD_BAND)),
        (1e-3, 1e-5, 1e-3 * (1 - DEAD_BAND)),
        (1e-10, 1e-5, 1e-5),
        (None, 1e-5, 1e-5),
        (math.inf, 1e-5, 1e-5),
        (None, None, 1.0),
        (1e-10, None, 1.0),
        (None, 1e-10, 1.0),
        (None, 7.0, 1.0),
        (1e300, 1e-5, 1.0),
    ],
)
def test_the_signal_is_the_defects_own_then_the_mutants_then_all_zeros(untouched, evidence, expected):
    spec = observable(evidence=None if evidence is None else {"noise": 0, "signal": evidence})
    assert signal_of(spec, np.array([1.0, 2.0]), untouched) == expected


@given(st.floats(1.0001e-9, 1e300), st.floats(-1e-3, 1e-3))
def test_the_untouched_task_earns_nothing_on_another_machine_too(own, drift):
    spec = observable()
    signal = signal_of(spec, np.ones(3), own)
    there = own * (1 + drift)
    if there > TOL:
        assert score_of(spec.criterion, there, signal) == 0.0


def test_exact_signal_is_a_share():
    assert signal_of(observable(criterion=EXACT), np.arange(4), 0.5) == 0.5 * (1 - DEAD_BAND)


def test_mean_score():
    assert mean_score([1.0, 0.5]) == 0.75
    assert mean_score([1.0] * 7) == 1.0
    assert mean_score([1.0] * 999 + [ALMOST]) == ALMOST
    with pytest.raises(ValueError, match="at least one case"):
        mean_score([])


@pytest.mark.parametrize(
    ("score", "floor", "reward"),
    [
        (1.0, 0.0, 1.0),
        (1.0, 0.9, 1.0),
        (1.0, 1 / 3, 1.0),
        (0.31, 0.31, 0.0),
        (0.1, 0.31, 0.0),
        (0.0, 0.0, 0.0),
        (0.75, 0.5, 0.5),
        (0.88, 0.31, 0.826087),
        (ALMOST, 0.0, ALMOST),
        (ALMOST, 0.9, 0.99999),
    ],
)
def test_repair_reward_by_hand(score, floor, reward):
    assert repair_reward(score, floor) == reward


@pytest.mark.parametrize("floor", [1.0, 1.5, -0.1, math.nan])
def test_a_floor_lies_below_one(floor):
    with pytest.raises(ValueError, match="floor lies in"):
        repair_reward(1.0, floor)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1, exclude_max=True))
def test_repair_reward_is_monotone_bounded_and_exact_at_its_ends(a, b, floor):
    low, high = sorted((a, b))
    assert 0.0 <= repair_reward(low, floor) <= repair_reward(high, floor) <= 1.0
    assert repair_reward(floor, floor) == 0.0
    assert repair_reward(1.0, floor) == 1.0
    assert (repair_reward(high, floor) == 1.0) == (high == 1.0)
