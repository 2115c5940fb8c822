"""Means, pass@k and their intervals; pure functions of rewards by task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

SOLVED = 1.0 - 1e-9
"""A reward from here on counts as solved."""


@dataclass(frozen=True)
class Interval:
    """A mean over tasks with its bootstrap interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def pass_at_k(samples: int, solved: int, k: int) -> float:
    """Probability that at least one of `k` episodes drawn without replacement from `samples` is solved.

    Raises:
        ValueError: `k` is larger than `samples`.
    """
    if not 1 <= k <= samples:
        raise ValueError(f"pass@{k} needs at least {k} samples, there are {samples}")
    return 1.0 - comb(samples - solved, k) / comb(samples, k)


def bootstrap(values: Sequence[float], *, confidence: float, resamples: int, seed: int) -> Interval:
    """Mean of one value per task, with the percentile interval of tasks drawn anew.

    Tasks, not episodes, are resampled: episodes of one task are not independent.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("an interval needs at least one value")
    array = np.asarray(values, dtype=float)
    draws = np.random.default_rng(seed).integers(0, len(array), size=(resamples, len(array)))
    tail = 100 * (1 - confidence) / 2
    low, high = np.percentile(array[draws].mean(axis=1), [tail, 100 - tail])
    return Interval(float(array.mean()), float(low), float(high))


def mean_reward(rewards: Mapping[str, Sequence[float]], interval: Callable[[Sequence[float]], Interval]) -> Interval:
    """Mean over tasks of each task's mean reward."""
    return interval([float(np.mean(values)) for values in rewards.values()])


def mean_pass(
    rewards: Mapping[str, Sequence[float]], k: int, interval: Callable[[Sequence[float]], Interval]
) -> Interval | None:
    """Mean over tasks of pass@k; tasks with fewer than `k` graded episodes are left out, None if all are."""
    counted = [(len(v), sum(r >= SOLVED for r in v)) for v in rewards.values() if len(v) >= k]
    return interval([pass_at_k(n, c, k) for n, c in counted]) if counted else None
