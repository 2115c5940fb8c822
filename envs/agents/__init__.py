"""Agents: who acts in an episode, how tasks are put to models, and running one on the record."""

from __future__ import annotations

from pathlib import Path

from scienceide.base.errors import UserError, unknown
from scienceide.envs.agents.base import Agent, conduct, run
from scienceide.envs.agents.chat import ChatAgent, Endpoint
from scienceide.envs.agents.known import Nop, Oracle, Replay, read_record
from scienceide.envs.agents.local import LocalAgent
from scienceide.envs.agents.policy import Answer, Policy, Request
from scienceide.envs.agents.styles import STYLES, Style, find_style

AGENTS = ("oracle", "nop", "replay", "chat", "local")

__all__ = [
    "AGENTS",
    "STYLES",
    "Agent",
    "Answer",
    "ChatAgent",
    "Endpoint",
    "LocalAgent",
    "Nop",
    "Oracle",
    "Policy",
    "Replay",
    "Request",
    "Style",
    "conduct",
    "find_style",
    "make_agent",
    "run",
]


def make_agent(
    name: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    replay: Path | None = None,
    policy: Policy | None = None,
    style: str = "full",
    turns: int = 30,
) -> Agent:
    """An agent by name.

    Args:
        name: one of `AGENTS`.
        model: for chat, the endpoint's model.
        base_url: for chat, the endpoint; the `openai` library's default when left out.
        replay: for replay, a file with an episode's JSON.
        policy: for local, the model in memory, as `scienceide.trainers.policy.load_policy` gives it.
        style: for local, how tasks are put to it; for oracle, how its conversation reads.
        turns: for local, answers it may give.

    Raises:
        UserError: no such agent (the nearest are offered), or what it needs is missing.
    """
    if name == "oracle":
        return Oracle(find_style(style))
    if name == "nop":
        return Nop()
    if name == "replay":
        if replay is None:
            raise UserError("The replay agent needs an episode's JSON: --replay FILE.")
        return Replay(_recorded(replay))
    if name == "chat":
        if not model:
            raise UserError("The chat agent needs the name of the endpoint's model: --model NAME.")
        return ChatAgent(Endpoint(model, base_url))
    if name == "local":
        if policy is None:
            raise UserError("The local agent needs a model: --model NAME.")
        return LocalAgent(policy, find_style(style), turns)
    raise unknown("agent", name, AGENTS)


def _recorded(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {error}.") from None
    return read_record(text, str(path))
