"""Collecting trajectories as a job: which agent, which tasks, from a configuration.

    result = gather(CollectConfig(agent="oracle", split="train"), folder)

A run that was killed goes on where it was: what is in the folder's trajectories is not played again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scienceide.base.errors import UserError
from scienceide.base.progress import Progress, Silent
from scienceide.base.recorder import Recorder, Unrecorded
from scienceide.envs.agents import Agent, ChatAgent, Endpoint, LocalAgent, find_style, make_agent
from scienceide.envs.workshop import Workshop
from scienceide.trainers.collect import Batcher, Job, collect, jobs
from scienceide.trainers.config import CollectConfig, EvalConfig, hint_level
from scienceide.trainers.policy import load_policy
from scienceide.trainers.selection import choose
from scienceide.trainers.trajectories import Trajectories

MAX_ACTIONS = 60


@dataclass(frozen=True)
class CollectResult:
    """What was collected, earlier calls on the same folder included."""

    trajectories: str
    """The store's folder."""
    episodes: int
    ungraded: int
    reward: float | None
    """Mean of the graded episodes."""

    def as_json(self) -> dict[str, Any]:
        """For the run store."""
        return asdict(self)


def gather(
    config: CollectConfig,
    folder: Path,
    *,
    shop: Workshop | None = None,
    recorder: Recorder | None = None,
    progress: Progress | None = None,
) -> CollectResult:
    """Play what the configuration asks for into `folder/trajectories`.

    Raises:
        UserError: unknown agent, model or task.
        SandboxError: no sandbox can be had.
    """
    report, bar = recorder or Unrecorded(), progress or Silent()
    tasks = choose(config.tasks, config.split, config.environments)
    if shop is None:
        with Workshop(config.sandbox, progress=bar) as own:
            return gather(config, folder, shop=own, recorder=recorder, progress=progress)
    store = Trajectories(folder / "trajectories")
    records = store.read()
    done = {Job(r.task, r.seed, r.hint) for r in records if r.reward is not None}
    todo = jobs([task.id for task in tasks], config.seeds, [hint_level(hint) for hint in config.hints])
    missing = [job for job in todo if job not in done]
    if missing:
        new = collect(
            _agent(config, bar),
            shop,
            missing,
            concurrency=config.concurrency,
            max_turns=MAX_ACTIONS,
            store=store,
            recorder=report,
            progress=bar,
        )
        records += new.records
    rewards = [r.reward for r in records if r.reward is not None]
    mean = float(np.mean(rewards)) if rewards else None
    return CollectResult(str(store.folder), len(records), len(records) - len(rewards), mean)


def model_agent(config: CollectConfig | EvalConfig, progress: Progress) -> Agent:
    """The agent behind a configuration's model: an endpoint's, or a model loaded here, shared by all episodes.

    Raises:
        UserError: no model is named, or there is none of that name.
    """
    if not config.model:
        raise UserError("A model has to be named for this agent.")
    if config.base_url is not None:
        return ChatAgent(Endpoint(config.model, config.base_url, max_tokens=config.max_tokens))
    policy = load_policy(config.model, max_tokens=config.max_tokens, temperature=config.temperature, progress=progress)
    return LocalAgent(Batcher(policy, size=config.concurrency), find_style(config.style), config.turns)


def _agent(config: CollectConfig, progress: Progress) -> Agent:
    if config.agent == "local":
        return model_agent(config.model_copy(update={"base_url": None}), progress)
    return make_agent(config.agent, model=config.model, base_url=config.base_url, style=config.style)
