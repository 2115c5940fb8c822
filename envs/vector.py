"""Many sandboxes behind one Gymnasium vector environment.

Gymnasium's own `AsyncVectorEnv` moves observations through shared memory, which garbles Text spaces (seen
in 1.4.0), and would start a Python process for each copy although the work is done in sandboxes. Here one
thread per copy waits for its sandbox, and observations stay Python strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from scienceide.base.errors import UserError
from scienceide.envs.gym_env import Obs, ScienceEnv, action_space, observation_space
from scienceide.envs.workshop import Workshop

VecObs = dict[str, Any]


class ScienceVectorEnv(VectorEnv[VecObs, Sequence[str], NDArray[Any]]):
    """`num_envs` episodes at once, all of one task or each of its own.

    Observations are a dict of `text` (tuple of strings), `exit_code` and `turn` (int64 arrays of shape
    `(num_envs,)`). Autoreset is NEXT_STEP: the step after an episode's end resets that copy, whatever the
    action.
    """

    def __init__(
        self,
        num_envs: int = 1,
        task: str | Sequence[str] | None = None,
        sandbox: str = "auto",
        *,
        workshop: Workshop | None = None,
        **settings: Any,
    ) -> None:
        """Make the copies.

        Args:
            num_envs: how many.
            task: one task for all, or one for each.
            sandbox: as for `ScienceEnv`.
            workshop: share one; else one is made for all copies.
            **settings: passed on to each `ScienceEnv`.
        """
        tasks = [task] * num_envs if task is None or isinstance(task, str) else list(task)
        if len(tasks) != num_envs:
            raise UserError(f"{len(tasks)} tasks for num_envs={num_envs}; give one, or one for each.")
        self.num_envs = num_envs
        self.metadata = {**ScienceEnv.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}
        self.single_observation_space = observation_space()
        self.single_action_space = action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.render_mode = settings.get("render_mode")
        self._shop = workshop or Workshop(sandbox)
        self._owns_shop = workshop is None
        self._pool = ThreadPoolExecutor(num_envs, thread_name_prefix="science-env")
        self.envs = list(self._pool.map(lambda t: ScienceEnv(t, workshop=self._shop, **settings), tasks))
        self._ended = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[VecObs, dict[str, Any]]:
        """Reset all copies; an integer seed gives copy `i` the seed `seed + i`."""
        seeds: list[int | None] = [None] * self.num_envs
        if isinstance(seed, int):
            seeds = [seed + i for i in range(self.num_envs)]
        elif seed is not None:
            seeds = list(seed)
        results = list(self._pool.map(lambda e, s: e.reset(seed=s, options=options), self.envs, seeds))
        self._ended[:] = False
        return self._batch([r[0] for r in results]), self._infos([r[1] for r in results])

    def step(self, actions: Sequence[str]) -> tuple[VecObs, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """One action for each copy, all sandboxes at work at once."""
        if len(actions) != self.num_envs:
            raise UserError(f"{len(actions)} actions for {self.num_envs} environments.")
        results = list(self._pool.map(_step, self.envs, actions, self._ended.tolist()))
        terminated = np.array([r[2] for r in results], dtype=np.bool_)
        truncated = np.array([r[3] for r in results], dtype=np.bool_)
        self._ended = terminated | truncated
        rewards = np.array([r[1] for r in results], dtype=np.float64)
        observations = self._batch([r[0] for r in results])
        return observations, rewards, terminated, truncated, self._infos([r[4] for r in results])

    def render(self) -> tuple[str | None, ...]:  # type: ignore[override]
        """What each copy shows."""
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **_: Any) -> None:
        """End all sandboxes; `close` calls this once."""
        list(self._pool.map(ScienceEnv.close, self.envs))
        self._pool.shutdown()
        if self._owns_shop:
            self._shop.close()

    def _batch(self, observations: Sequence[Obs]) -> VecObs:
        return {
            "text": tuple(o["text"] for o in observations),
            "exit_code": np.array([o["exit_code"] for o in observations], dtype=np.int64),
            "turn": np.array([o["turn"] for o in observations], dtype=np.int64),
        }

    def _infos(self, infos: Sequence[dict[str, Any]]) -> dict[str, Any]:
        vector: dict[str, Any] = {}
        for index, info in enumerate(infos):
            vector = self._add_info(vector, info, index)
        return vector


def _step(env: ScienceEnv, action: str, ended: bool) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
    if ended:
        observation, info = env.reset()
        return observation, 0.0, False, False, info
    return env.step(action)
