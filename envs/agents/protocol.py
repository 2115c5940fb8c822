"""Tool calls as plain text, for models whose chat template knows no tools.

A call is a line `@tool key=value …`, alone or followed by a body that goes on to the end of the message:

    @bash                     @edit path=src/a.c line=12        @edit path=src/a.c
    ls -l src                     x = y + z;                    old text
                                                                =====
    @submit                   @view path=src/a.c start=1        new text

The body is the command (`bash`), the file's content (`write`) or the new text (`edit`; where no `line` is
given, the old text comes first, set off by a line `=====`). A value with blanks is written as a JSON
string. Text before the call is the model's thinking and is ignored. Where the conversation is about one file,
its *focus*, `path` may be left out.

Reading never raises: what is no call becomes text that says so and that the environment takes for a failed
action.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from scienceide.envs.tools import TOOLS

BODIES: Mapping[str, str] = {"bash": "command", "write": "content", "edit": "new"}
"""The argument that a call's body stands for."""

SEPARATOR = "====="

_CALL = re.compile(r"^@(\w+)([^\n]*)\n?", re.MULTILINE)
_ARGUMENT = re.compile(r'\s*(\w+)=("(?:[^"\\]|\\.)*"|\S*)')


def describe_tools() -> str:
    """The tools and how to call them, as the prompt tells a model."""
    lines = ["Answer with one call. A call is a line `@tool key=value`, some with a body below it:"]
    for name, tool in TOOLS.items():
        body = BODIES.get(name)
        keys = " ".join(f"{key}=…" for key in tool.parameters if key not in (body, "old"))
        lines.append(f"@{name} {keys}".rstrip() + (f" (body: {body})" if body else "") + f" {tool.description}")
    lines.append(f"To replace text instead of a line: @edit path=…, then the old text, a line {SEPARATOR}, the new.")
    return "\n".join(lines)


def write_call(action: Mapping[str, Any], focus: str | None = None) -> str:
    """The text of a call, which `read_call` turns back into `action`."""
    arguments = {k: v for k, v in action.items() if k != "tool" and v is not None}
    if focus is not None and arguments.get("path") == focus:
        del arguments["path"]
    name = str(action["tool"])
    body = arguments.pop(BODIES.get(name, ""), None)
    old = arguments.pop("old", None)
    head = " ".join([f"@{name}", *(f"{key}={_value(value)}" for key, value in arguments.items())])
    if body is None:
        return head
    return f"{head}\n{body}" if old is None else f"{head}\n{old}\n{SEPARATOR}\n{body}"


def read_call(text: str, focus: str | None = None) -> str:
    """The action, as the JSON text that an episode takes, of the first call in `text`.

    Args:
        text: what a model wrote.
        focus: the path to assume where a call needs one and names none.

    Returns:
        JSON of an action; where there is no call, the text as it is, which an episode answers with what was wrong.
    """
    match = _CALL.search(text)
    if match is None:
        return text
    name = match[1]
    action: dict[str, Any] = {"tool": name, **dict(_arguments(name, match[2]))}
    key = BODIES.get(name)
    body = text[match.end() :]
    if key is not None and (body or name != "bash"):
        if name == "edit" and "line" not in action and f"\n{SEPARATOR}\n" in body:
            action["old"], _, body = body.partition(f"\n{SEPARATOR}\n")
        action[key] = body
    if focus is not None and name in TOOLS and "path" in TOOLS[name].required:
        action.setdefault("path", focus)
    return json.dumps(action)


def _arguments(tool: str, text: str) -> Iterator[tuple[str, Any]]:
    known = TOOLS[tool].parameters if tool in TOOLS else {}
    for key, raw in _ARGUMENT.findall(text):
        value = _unquoted(raw)
        if known.get(key, ("", ""))[0] == "integer" and re.fullmatch(r"[+-]?\d{1,9}", value):
            yield key, int(value)
        else:
            yield key, value


def _unquoted(raw: str) -> str:
    if not raw.startswith('"'):
        return raw
    try:
        return str(json.loads(raw))
    except ValueError:
        return raw


def _value(value: object) -> str:
    text = str(value)
    plain = text and not text.startswith('"') and not re.search(r"\s", text)
    return text if plain else json.dumps(text)
