"""The actions an agent has: their names, JSON schemas, and reading one from text.

An action is a JSON object `{"tool": name, ...arguments}`. Whatever else arrives becomes an observation that
says what was wrong; it never raises.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ACTION_CHARS = 1_000_000
"""A longer action is refused unread."""

_TYPES: Mapping[str, type] = {"string": str, "integer": int}


@dataclass(frozen=True)
class Tool:
    """One tool: `parameters` maps each argument to its JSON type and meaning."""

    name: str
    description: str
    parameters: Mapping[str, tuple[str, str]]
    required: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """The tool in the OpenAI function-calling form."""
        properties = {n: {"type": kind, "description": text} for n, (kind, text) in self.parameters.items()}
        parameters = {"type": "object", "properties": properties, "required": list(self.required)}
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": parameters},
        }


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "bash",
            "Run a shell command in the code's folder and see its output and exit code.",
            {"command": ("string", "the command line")},
            ("command",),
        ),
        Tool(
            "view",
            "Show a file with line numbers, or a folder's entries.",
            {
                "path": ("string", "relative to the code's folder"),
                "start": ("integer", "first line, from 1"),
                "end": ("integer", "last line"),
            },
            ("path",),
        ),
        Tool(
            "edit",
            "Change a file: replace `old`, which must occur exactly once, by `new`; or, with `line`, "
            "replace that whole line by `new`.",
            {
                "path": ("string", "relative to the code's folder"),
                "old": ("string", "text to replace"),
                "line": ("integer", "line to replace, from 1"),
                "new": ("string", "what to put there"),
            },
            ("path", "new"),
        ),
        Tool(
            "write",
            "Write a whole file.",
            {
                "path": ("string", "relative to the code's folder"),
                "content": ("string", "the file's new content"),
            },
            ("path", "content"),
        ),
        Tool(
            "check",
            "Build what changed and run the visible cases: errors against the reference, with tolerances.",
            {"case": ("string", "one case only; all when left out")},
        ),
        Tool("submit", "End the episode; the code as it now stands is graded.", {}),
    )
}


@dataclass(frozen=True)
class Action:
    """A well-formed call of one tool."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Malformed:
    """Text that is not an action, and why in one sentence."""

    reason: str


def parse_action(text: str) -> Action | Malformed:
    """Read an action from text."""
    if len(text) > ACTION_CHARS:
        return Malformed(f"The action has {len(text)} characters; at most {ACTION_CHARS} are read.")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return Malformed('An action is a JSON object such as {"tool": "bash", "command": "ls"}; this is not JSON.')
    if not isinstance(data, dict) or not isinstance(data.get("tool"), str):
        return Malformed('An action is a JSON object with a "tool", such as {"tool": "bash", "command": "ls"}.')
    name = data.pop("tool")
    tool = TOOLS.get(name)
    if tool is None:
        return Malformed(f"There is no tool {name[:40]!r}; tools: {', '.join(TOOLS)}.")
    return _checked(tool, data)


def _checked(tool: Tool, arguments: dict[str, Any]) -> Action | Malformed:
    for name in tool.required:
        if arguments.get(name) is None:
            return Malformed(f"{tool.name} needs {name!r}.")
    for name, value in arguments.items():
        if name not in tool.parameters:
            known = ", ".join(tool.parameters) or "no arguments"
            return Malformed(f"{tool.name} takes {known}, not {name[:40]!r}.")
        kind = tool.parameters[name][0]
        if value is not None and (not isinstance(value, _TYPES[kind]) or isinstance(value, bool)):
            return Malformed(f"{tool.name}: {name!r} must be of type {kind}.")
    return Action(tool.name, {k: v for k, v in arguments.items() if v is not None})
