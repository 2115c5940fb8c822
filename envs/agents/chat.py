"""The `chat` agent: any OpenAI-compatible endpoint, by native tool calls.

What the *model* does wrong (no call, arguments that are no JSON) is a failed action that it sees and may put
right. What the *endpoint* does wrong is retried with growing pauses and is in the end a `ModelError`: the
episode is then ungraded.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scienceide.base.errors import ModelError, UserError
from scienceide.envs.agents.base import play, termination
from scienceide.envs.episode import Episode, Observation
from scienceide.envs.record import EpisodeRecord, Termination
from scienceide.envs.tools import TOOLS

SILENT_TURNS = 3
"""So many answers in a row without a call end the episode."""

REMINDER = "Answer with a tool call; `submit` ends the episode."


@dataclass(frozen=True)
class Endpoint:
    """Where the model is, and how patient to be with it."""

    model: str
    base_url: str | None = None
    api_key: str | None = None
    """By default `$OPENAI_API_KEY`; endpoints of one's own often need none."""
    temperature: float | None = None
    max_tokens: int = 4096
    timeout_s: float = 120.0
    attempts: int = 5
    pause_s: float = 1.0
    """Before the second attempt; doubled each time, at most a minute, plus up to a quarter at random."""


@dataclass(frozen=True)
class ChatAgent:
    """Plays through a chat endpoint."""

    endpoint: Endpoint
    name: str = "chat"
    sleep: Callable[[float], None] = time.sleep
    _client: list[Any] = field(default_factory=list, repr=False)

    @property
    def model(self) -> str:
        """The endpoint's model."""
        return self.endpoint.model

    def run(self, episode: Episode, record: EpisodeRecord) -> Termination:
        """Converse until the episode ends."""
        silent = 0
        while True:
            reply = self._ask(record)
            message: dict[str, Any] = {"role": "assistant", "content": reply.content or ""}
            record.messages.append(message)
            calls = list(reply.tool_calls or ())
            if calls:
                silent = 0
                observation = _answer_calls(episode, record, message, calls)
            else:
                silent += 1
                message["failed"] = True
                observation = play(episode, record, message["content"])
                record.messages.append({"role": "user", "content": REMINDER})
            ended = termination(episode, observation)
            if ended is not None or silent >= SILENT_TURNS:
                return ended or "agent_error"

    def _ask(self, record: EpisodeRecord) -> Any:
        """The next message, with retries.

        Raises:
            ModelError: refused, or still failing after the last attempt.
        """
        started = time.perf_counter()
        completion = self._with_retries(lambda: self._complete(record))
        record.seconds["model"] = record.seconds.get("model", 0.0) + time.perf_counter() - started
        usage = completion.usage
        if usage is not None:
            for key, count in (("prompt", usage.prompt_tokens), ("generated", usage.completion_tokens)):
                record.tokens[key] = record.tokens.get(key, 0) + count
        return completion.choices[0].message

    def _complete(self, record: EpisodeRecord) -> Any:
        from openai import NOT_GIVEN

        messages = [{k: v for k, v in m.items() if k not in ("failed", "name")} for m in record.messages]
        completion = self._connect().chat.completions.create(
            model=self.endpoint.model,
            messages=messages,
            tools=[tool.schema() for tool in TOOLS.values()],
            seed=record.seed,
            max_completion_tokens=self.endpoint.max_tokens,
            temperature=NOT_GIVEN if self.endpoint.temperature is None else self.endpoint.temperature,
        )
        if not getattr(completion, "choices", None) or completion.choices[0].message is None:
            raise ValueError("the answer holds no message")
        return completion

    def _with_retries(self, ask: Callable[[], Any]) -> Any:
        from openai import APIConnectionError, APIError, APIStatusError

        where = self.endpoint.base_url or "the default endpoint"
        for attempt in range(1, self.endpoint.attempts + 1):
            pause = min(60.0, self.endpoint.pause_s * 2 ** (attempt - 1)) * random.uniform(1.0, 1.25)
            try:
                return ask()
            except APIStatusError as error:
                if error.status_code not in (408, 409, 429) and error.status_code < 500:
                    raise ModelError(f"{where} refused the request ({error.status_code}): {_short(error)}") from None
                why = f"status {error.status_code}: {_short(error)}"
                pause = max(pause, _asked_pause(error))
            except APIConnectionError as error:
                why = _short(error)
            except (APIError, ValueError, TypeError, AttributeError) as error:
                why = f"an answer that is no chat completion ({_short(error)})"
            if attempt < self.endpoint.attempts:
                self.sleep(pause)
        raise ModelError(f"{where} failed {self.endpoint.attempts} times; the last time: {why}")

    def _connect(self) -> Any:
        """One client for all episodes."""
        if not self._client:
            try:
                from openai import OpenAI
            except ImportError:
                raise UserError("The chat agent needs the openai package: pip install 'scienceide[chat]'.") from None
            key = self.endpoint.api_key or os.environ.get("OPENAI_API_KEY") or "none"
            client = OpenAI(
                base_url=self.endpoint.base_url, api_key=key, timeout=self.endpoint.timeout_s, max_retries=0
            )
            self._client.append(client)
        return self._client[0]


def _answer_calls(
    episode: Episode, record: EpisodeRecord, message: dict[str, Any], calls: Sequence[Any]
) -> Observation:
    """Play the calls of one message; each gets its answer, also those after the end, as endpoints insist."""
    message["tool_calls"] = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.function.name, "arguments": call.function.arguments},
        }
        for call in calls
    ]
    observation: Observation | None = None
    for call in calls:
        if observation is None or not observation.done:
            observation = play(episode, record, _as_action(call.function.name, call.function.arguments))
            if observation.failed:
                message["failed"] = True
        record.messages.append({"role": "tool", "tool_call_id": call.id, "content": observation.text})
    assert observation is not None
    return observation


def _as_action(name: str, arguments: str) -> str:
    """The action's JSON; where the arguments are no JSON object, a text that the episode answers with why."""
    try:
        data = json.loads(arguments or "{}")
    except ValueError:
        return arguments
    return json.dumps({**data, "tool": name}) if isinstance(data, dict) else arguments


def _asked_pause(error: Any) -> float:
    """Seconds that the endpoint asks to wait, at most a minute."""
    try:
        return min(60.0, float(error.response.headers.get("retry-after", "")))
    except ValueError:
        return 0.0


def _short(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 200 else f"{text[:200]}…"
