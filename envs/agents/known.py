"""The agents that need no model: `oracle` applies the known fix, `nop` does nothing, `replay` repeats."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scienceide.base.errors import UserError
from scienceide.envs.agents.base import play, termination
from scienceide.envs.agents.protocol import write_call
from scienceide.envs.agents.styles import Style, action_json
from scienceide.envs.defects import to_text
from scienceide.envs.episode import Episode
from scienceide.envs.record import EpisodeRecord, Termination


@dataclass(frozen=True)
class Oracle:
    """Applies the inverse of the defect, line by line, through the ordinary tools.

    With a style its conversation reads as a model's would that was asked in that style and knew the answer:
    what SFT learns from.
    """

    style: Style | None = None
    name: str = "oracle"
    model: str = ""

    def run(self, episode: Episode, record: EpisodeRecord) -> Termination:
        """Repair, then submit."""
        focus = None
        if self.style is not None:
            opening = self.style.open(record.messages[0]["content"], lambda a: play(episode, record, a))
            record.messages[0] = {"role": "user", "content": opening.prompt}
            focus = opening.focus
        repairs = list(repair_actions(episode.task.initial, episode.task.fixed))
        for action in [*repairs, {"tool": "submit"}]:
            observation = play(episode, record, action)
            if action["tool"] == "submit" and self.style is not None and self.style.name == "compact":
                return "submitted"  # A compact conversation ends with its edit; nothing is left to say.
            record.messages.append(_spoken(action, focus, self.style))
            record.messages.append({"role": "tool", "name": action["tool"], "content": observation.text})
            ended = termination(episode, observation)
            if ended is not None:
                return ended
        raise AssertionError("submit ends every episode")


@dataclass(frozen=True)
class Nop:
    """Leaves everything as it is: the floor."""

    name: str = "nop"
    model: str = ""

    def run(self, episode: Episode, record: EpisodeRecord) -> Termination:
        """Submit at once."""
        play(episode, record, action_json("submit"))
        return "submitted"


@dataclass(frozen=True)
class Replay:
    """Repeats recorded actions, whatever comes of them."""

    actions: Sequence[str]
    name: str = "replay"
    model: str = ""

    def run(self, episode: Episode, record: EpisodeRecord) -> Termination:
        """Do them in order; the tree as it then stands is graded."""
        for action in self.actions:
            observation = play(episode, record, action)
            record.messages.append({"role": "assistant", "content": action})
            record.messages.append({"role": "tool", "name": "replay", "content": observation.text})
            ended = termination(episode, observation)
            if ended is not None:
                return ended
        return "submitted"


def repair_actions(initial: Mapping[str, bytes], fixed: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    """Tool calls that turn the initial files into the fixed ones: an edit per line, or a whole file."""
    for path in sorted(fixed):
        before, after = to_text(initial[path]).split("\n"), to_text(fixed[path]).split("\n")
        if len(before) != len(after):
            yield {"tool": "write", "path": path, "content": "\n".join(after)}
            continue
        for number, (old, new) in enumerate(zip(before, after, strict=True), start=1):
            if old != new:
                yield {"tool": "edit", "path": path, "line": number, "new": new.removesuffix("\r")}


def _spoken(action: Mapping[str, Any], focus: str | None, style: Style | None) -> dict[str, Any]:
    """An action as an assistant's message."""
    if style is not None and style.name != "tools":
        return {"role": "assistant", "content": write_call(action, focus)}
    arguments = {k: v for k, v in action.items() if k != "tool"}
    call = {"type": "function", "function": {"name": action["tool"], "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def read_record(text: str, where: str) -> list[str]:
    """The actions in the JSON text of an episode.

    Raises:
        UserError: it is not JSON, or no episode record; `where` names the file.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise UserError(f"{where}: not valid JSON: {error}.") from None
    actions = data.get("actions") if isinstance(data, dict) else None
    if not isinstance(actions, list) or not all(isinstance(a, str) for a in actions):
        raise UserError(f"{where}: no episode record, it has no list 'actions' of texts.")
    return actions
