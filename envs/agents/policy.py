"""What a local agent needs of a model: answers to conversations, with the tokens they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """A conversation that awaits the assistant's next message."""

    messages: Sequence[Message]
    seed: int = 0
    """Decides the draw where the policy samples: equal requests with equal seeds get equal answers."""
    tools: Sequence[Mapping[str, Any]] = ()
    """Tool schemas, for models whose chat template carries them."""


@dataclass(frozen=True)
class Answer:
    """What a policy wrote."""

    text: str
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None
    prompt_tokens: int
    calls: tuple[Mapping[str, Any], ...] = field(default=())
    """Tool calls `{"tool": name, …arguments}`, where the model calls tools its own way."""
    truncated: bool = False
    """It ran into the token limit before it had ended its message."""


class Policy(Protocol):
    """A model that answers."""

    @property
    def name(self) -> str:
        """The model's name."""

    @property
    def version(self) -> int:
        """Counts the updates of its weights."""

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer all requests, in their order.

        Raises:
            ModelError: it cannot.
        """
