"""The `local` agent: a policy in this process, talking in one of the prompt styles."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from scienceide.envs.agents.base import play, termination
from scienceide.envs.agents.policy import Answer, Policy, Request
from scienceide.envs.agents.protocol import read_call
from scienceide.envs.agents.styles import Style
from scienceide.envs.episode import Episode, Observation
from scienceide.envs.record import EpisodeRecord, Span, Termination
from scienceide.envs.tools import TOOLS


@dataclass(frozen=True)
class LocalAgent:
    """Lets a policy play.

    Args:
        policy: answers; may be shared by many episodes at once.
        style: how the task is put to it.
        turns: answers it may give; after the last one the tree is graded as it stands. A compact episode
            has one, a single edit.
    """

    policy: Policy
    style: Style
    turns: int = 30
    name: str = "local"

    @property
    def model(self) -> str:
        """The policy's name."""
        return self.policy.name

    def run(self, episode: Episode, record: EpisodeRecord) -> Termination:
        """Ask, act, and show what came of it, until the episode ends."""
        opening = self.style.open(record.messages[0]["content"], lambda a: play(episode, record, a))
        record.messages[0] = {"role": "user", "content": opening.prompt}
        tools = tuple(tool.schema() for tool in TOOLS.values()) if self.style.name == "tools" else ()
        for turn in range(self.turns):
            answer = self._ask(record, Request(list(record.messages), record.seed * 1_000 + turn, tools))
            observation = self._act(episode, record, answer, opening.focus)
            ended = termination(episode, observation)
            if ended is not None:
                return ended
        return "max_turns"

    def _ask(self, record: EpisodeRecord, request: Request) -> Answer:
        started = time.perf_counter()
        answer = self.policy.generate([request])[0]
        record.seconds["model"] = record.seconds.get("model", 0.0) + time.perf_counter() - started
        for key, count in (("prompt", answer.prompt_tokens), ("generated", len(answer.token_ids))):
            record.tokens[key] = record.tokens.get(key, 0) + count
        span = Span(len(record.messages), answer.token_ids, answer.logprobs, self.policy.version)
        record.spans.append(span)
        return answer

    def _act(self, episode: Episode, record: EpisodeRecord, answer: Answer, focus: str | None) -> Observation:
        """Do what the answer asks; its message is marked where that was nothing."""
        if not answer.calls:
            message: dict[str, Any] = {"role": "assistant", "content": answer.text}
            record.messages.append(message)
            return _results(episode, record, message, [read_call(answer.text, focus)])
        message = {"role": "assistant", "content": answer.text, "tool_calls": [_as_call(c) for c in answer.calls]}
        record.messages.append(message)
        return _results(episode, record, message, [json.dumps(dict(call)) for call in answer.calls])


def _results(episode: Episode, record: EpisodeRecord, message: dict[str, Any], actions: list[str]) -> Observation:
    """Play the actions of one message until the episode is done; the last observation."""
    for action in actions:
        observation = play(episode, record, action)
        if observation.failed:
            message["failed"] = True
        record.messages.append({"role": "tool", "name": "result", "content": observation.text})
        if observation.done:
            break
    return observation


def _as_call(call: Any) -> dict[str, Any]:
    arguments = {k: v for k, v in call.items() if k != "tool"}
    return {"type": "function", "function": {"name": call["tool"], "arguments": arguments}}
