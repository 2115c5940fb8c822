"""Tolerances stand ten times clear of noise and signal, or say that they cannot."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scienceide.repo_builders.placement import MARGIN, ROUNDING, observe, place


@given(
    st.lists(st.floats(0, 1e-6), max_size=5),
    st.lists(st.one_of(st.none(), st.floats(1e-3, 1e3), st.just(math.inf)), max_size=9),
)
def test_placed_tolerances_keep_their_margins(noises, errors):
    placed = place(noises, errors, 1.0, 1e-5)
    if placed.flag == "":
        assert placed.tolerance >= MARGIN * max([*noises, ROUNDING]) * 0.999
        assert placed.tolerance <= placed.signal / MARGIN * 1.001
        assert placed.signal <= 1.0


def test_the_middle_is_geometric():
    placed = place([1e-12], [1e-2, 1e-1, 1e-3], 1.0, None)
    assert placed.signal == 1e-2
    assert placed.tolerance == pytest.approx(math.sqrt(1e-11 * 1e-3), rel=0.05)


def test_no_noise_leaves_room_for_rounding():
    assert place([0.0], [1e-10], 1.0, None).tolerance >= 10 * ROUNDING
    assert place([0.0], [1e-3], 1e6, None).tolerance >= 10 * ROUNDING * 1e6


def test_mutants_below_the_noise_are_no_signal():
    assert place([1e-6], [1e-7, 1e-8, 0.5], 1.0, None).signal == 0.5


@pytest.mark.parametrize(
    ("noises", "errors", "flag"),
    [
        ([1e-3], [2e-2], "not clear of the noise"),
        ([0.0], [None, None], "no mutant moves it"),
        ([0.0], [], "no mutant moves it"),
        ([math.inf], [1.0], "without bound"),
    ],
)
def test_unfit_observables_are_flagged(noises, errors, flag):
    placed = place(noises, errors, 1.0, 1e-9)
    assert flag in placed.flag
    assert placed.tolerance is not None


def test_authors_tolerance_stays_where_nothing_moves_it_unless_below_the_noise():
    assert place([1e-14], [], 1.0, 1e-9).tolerance == 1e-9
    assert place([1e-9], [], 1.0, 1e-9).tolerance == pytest.approx(1e-8)


def test_a_quantity_that_vanishes_has_a_tolerance_too():
    assert place([0.0], [1e-3], 0.0, None).tolerance > 0


@pytest.mark.parametrize(
    ("noises", "errors", "flag"),
    [
        ([0.0], [0.5, 2.0], ""),
        ([0.0], [None], ""),
        ([0.1], [0.5], "a legitimate run does not meet it"),
        ([0.0], [0.0], "no mutant moves it"),
    ],
)
def test_criteria_without_tolerance_are_only_observed(noises, errors, flag):
    seen = observe(noises, errors)
    assert (seen.tolerance, seen.flag) == (None, flag)


def test_wild_mutants_widen_nothing():
    assert place([1e-14], [1e8], 1.0, None).tolerance == place([1e-14], [1.0], 1.0, None).tolerance
