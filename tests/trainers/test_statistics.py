from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scienceide.trainers.statistics import bootstrap, mean_pass, mean_reward, pass_at_k

interval = partial(bootstrap, confidence=0.95, resamples=500, seed=0)


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.data())
def test_pass_at_k_is_the_share_of_draws_with_a_success(outcomes, data):
    k = data.draw(st.integers(1, len(outcomes)))
    draws = list(combinations(outcomes, k))
    assert pass_at_k(len(outcomes), sum(outcomes), k) == pytest.approx(sum(map(any, draws)) / len(draws))


@pytest.mark.parametrize("k", [0, 4])
def test_pass_at_k_needs_k_samples(k):
    with pytest.raises(ValueError, match="samples"):
        pass_at_k(3, 1, k)


def test_intervals_are_seeded_and_hold_the_mean():
    values = [0.0, 0.91, 0.52, 0.27, 0.83, 0.77]
    first = interval(values)
    assert first == interval(values)
    assert first.mean == pytest.approx(0.55)
    assert first.low < first.mean < first.high
    assert bootstrap(values, confidence=0.95, resamples=500, seed=1) != first


def test_intervals_cover_about_as_often_as_they_say():
    draw = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        found = bootstrap(list(draw.random(30) < 0.4), confidence=0.9, resamples=200, seed=0)
        hits += found.low <= 0.4 <= found.high
    assert 0.82 < hits / 300 < 0.97


def test_one_task_has_no_spread():
    assert interval([0.5]).low == interval([0.5]).high == 0.5
    with pytest.raises(ValueError, match="at least one"):
        interval([])


def test_tasks_weigh_the_same_however_often_they_were_played():
    assert mean_reward({"a": [1.0] * 9, "b": [0.0]}, interval).mean == 0.5


def test_only_full_repairs_count_as_passed_and_short_tasks_are_left_out():
    rewards = {"a": [1.0, 0.99, 0.0], "b": [1.0]}
    assert mean_pass(rewards, 1, interval).mean == pytest.approx((1 / 3 + 1) / 2)
    assert mean_pass(rewards, 3, interval).mean == 1.0
    assert mean_pass(rewards, 4, interval) is None
