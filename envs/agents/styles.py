"""How a task is put to a model and how its answers are read: the prompt styles.

`full`: the whole instruction and the text protocol; the model explores by itself.
`compact`: for small models and short prompts. The few source lines around the place that the strongest hint
names, and one thing to do: write the marked line right. Without such a hint it shows the symptom alone.
`tools`: the whole instruction and nothing else, for models whose chat template carries the tools.

Training and evaluation open an episode by the same function, so a model is asked in the form it learnt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from scienceide.base.errors import unknown
from scienceide.envs.agents.protocol import describe_tools
from scienceide.envs.episode import Observation

CONTEXT_LINES = 2
"""Lines shown before and after the hinted one."""
LINE_CHARS = 160
"""A longer line of the surroundings is cut."""
SYMPTOM_CHARS = 480

StyleName = Literal["full", "compact", "tools"]
Act = Callable[[Mapping[str, object]], Observation]
"""Does one action in the episode, on the record."""

_HINT = re.compile(r"^Hint: (?P<path>\S+?),? line (?P<line>\d+): (?P<kind>.*?)\.?$", re.MULTILINE)
_NUMBERED = re.compile(r"^ *(\d+)  (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Opening:
    """The first message of a conversation."""

    prompt: str
    focus: str | None = None
    """The file that calls mean when they name none."""


@dataclass(frozen=True)
class Style:
    """A way to talk about a task."""

    name: StyleName
    open: Callable[[str, Act], Opening]
    """Makes the opening from the episode's first observation; may look at files through ordinary actions."""


def find_style(name: str) -> Style:
    """A style by its name.

    Raises:
        UserError: there is none; the nearest are offered.
    """
    if name not in STYLES:
        raise unknown("prompt style", name, STYLES)
    return STYLES[name]


def action_json(tool: str, **arguments: object) -> str:
    """The JSON text of an action."""
    return json.dumps({"tool": tool, **arguments})


def _open_full(first: str, act: Act) -> Opening:
    return Opening(f"{first}\n\n{describe_tools()}")


def _open_tools(first: str, act: Act) -> Opening:
    return Opening(first)


def _open_compact(first: str, act: Act) -> Opening:
    hint = _HINT.search(first)
    if hint is None:
        return Opening(f"{first[:SYMPTOM_CHARS]}\nAnswer with @edit path=… line=… and, below it, the line put right.")
    path, line = hint["path"], int(hint["line"])
    start = max(1, line - CONTEXT_LINES)
    seen = act({"tool": "view", "path": path, "start": start, "end": line + CONTEXT_LINES})
    lines = {int(number): text for number, text in _NUMBERED.findall(seen.text)}
    return Opening(compact_prompt(path, line, hint["kind"], lines), path)


def compact_prompt(path: str, line: int, kind: str, lines: Mapping[int, str]) -> str:
    """The text of a compact prompt.

    Args:
        path: the file.
        line: number of the line to put right.
        kind: what kind of mistake it has, in words.
        lines: source lines by number, the wrong one among them.
    """
    shown = "\n".join(text[:LINE_CHARS] for _, text in sorted(lines.items()))
    wrong = lines.get(line, "")
    return (
        f"{path}:\n{shown}\nIn line {line} {kind}:\n{wrong}\n"
        f"Answer with @edit line={line} and, below it, the line put right."
    )


STYLES: Mapping[str, Style] = {
    "full": Style("full", _open_full),
    "compact": Style("compact", _open_compact),
    "tools": Style("tools", _open_tools),
}
