"""What an agent is, and running one through an episode with everything it does on the record."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, Protocol
from uuid import uuid4

from scienceide.base.errors import ModelError, SandboxError
from scienceide.envs.episode import Episode, EpisodeLimits, Observation
from scienceide.envs.record import EpisodeRecord, Termination
from scienceide.envs.workshop import ReadyTask, Workshop
from scienceide.verifiers import Verdict


class Agent(Protocol):
    """Something that acts in episodes. One agent may play many episodes at once, from several threads."""

    @property
    def name(self) -> str:
        """What records call it."""

    @property
    def model(self) -> str:
        """The model behind it, or an empty string."""

    def run(self, episode: Episode, record: EpisodeRecord) -> Termination:
        """Act until the episode ends.

        `record.messages` holds the first observation as the user's message; the agent may rewrite it and
        appends what follows. It acts through `play`.

        Raises:
            ModelError: its model cannot answer; the episode will be ungraded.
            SandboxError: the sandbox failed.
        """


def play(episode: Episode, record: EpisodeRecord, action: str | Mapping[str, Any]) -> Observation:
    """Do one action, keeping what is needed to replay it."""
    text = action if isinstance(action, str) else json.dumps(dict(action))
    record.actions.append(text)
    return episode.act(text)


def termination(episode: Episode, observation: Observation) -> Termination | None:
    """Why the episode is over, or None while it is not."""
    if observation.done:
        used_up = episode.turns >= episode.limits.max_turns and observation.text != "Submitted."
        return "max_turns" if used_up else "submitted"
    return "timeout" if episode.time_left <= 0 else None


def run(
    agent: Agent,
    shop: Workshop,
    task: str | ReadyTask,
    *,
    seed: int = 0,
    hint: int | None = None,
    max_turns: int = 30,
) -> EpisodeRecord:
    """Let an agent attempt a task and grade what it leaves.

    A fault of the sandbox, the verifier or the model ends in an ungraded record that says whose it was.

    Args:
        agent: who plays.
        shop: where the task is prepared.
        task: its id, or the prepared task.
        seed: for agents that draw at random.
        hint: hint level shown, 1 the strongest.
        max_turns: actions until the episode ends by itself.

    Raises:
        UserError, TaskError: the task does not exist or is broken.
    """
    ready = shop.task(task) if isinstance(task, str) else task
    record = EpisodeRecord(
        episode=uuid4().hex[:12], task=ready.task.id, agent=agent.name, seed=seed, hint=hint, model=agent.model
    )
    limits = EpisodeLimits(max_turns=max_turns, wall_s=ready.task.environment.environment.limits.episode_wall)
    with Episode(shop, ready, limits) as episode:
        conduct(agent, episode, record)
    return record


def conduct(agent: Agent, episode: Episode, record: EpisodeRecord) -> None:
    """Play one episode to its verdict, filling `record`."""
    started = time.perf_counter()
    fault: ModelError | SandboxError | None = None
    try:
        first = episode.start(record.seed, record.hint)
        record.messages.append({"role": "user", "content": first})
        record.termination = agent.run(episode, record)
    except SandboxError as error:
        record.termination, fault = "sandbox_error", error
    except ModelError as error:
        record.termination, fault = "agent_error", error
    if isinstance(fault, ModelError):
        # An endpoint that is down says nothing on what the model would have done.
        verdict = Verdict.ungraded(str(fault), floor=episode.task.task.task.floor)
    else:
        verdict = episode.finish(record.termination)
    record.verdict = verdict
    record.fault = str(fault) if fault is not None else verdict.fault
    if verdict.outcome == "ungraded" and fault is None:
        record.termination = "verifier_error"
    record.seconds = {**record.seconds, **episode.seconds, "total": time.perf_counter() - started}
