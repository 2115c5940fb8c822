"""Records which Python lines below $TRACE_TREE run, into $TRACE_FOLDER; loaded as `sitecustomize`."""

from __future__ import annotations

import atexit
import json
import os
import sys
from types import CodeType, FrameType
from typing import Any

TREE = os.environ.get("TRACE_TREE", "/work").rstrip("/") + "/"
FOLDER = os.environ.get("TRACE_FOLDER", "/tmp/line-trace/out")
PATIENCE = 3000
"""A function called so often without a new line is not followed any more: recording must end some day."""
_seen: dict[str, set[int]] = {}
_left: dict[CodeType, set[int]] = {}
_idle: dict[CodeType, int] = {}


def _local(frame: FrameType, event: str, _: Any) -> Any:
    """Trace the lines of one frame until all lines of its code have been seen."""
    code = frame.f_code
    if event == "line" and frame.f_lineno in _left[code]:
        _left[code].discard(frame.f_lineno)
        _seen[code.co_filename].add(frame.f_lineno)
        _idle[code] = 0
    return _local if _left[code] else None


def _global(frame: FrameType, _event: str, _: Any) -> Any:
    """Follow a new frame if it runs code of the tree that has unseen lines."""
    code = frame.f_code
    if not code.co_filename.startswith(TREE):
        return None
    _seen.setdefault(code.co_filename, set()).add(frame.f_lineno)
    if code not in _left:
        _left[code] = {line for _, _, line in code.co_lines() if line}
        _idle[code] = 0
    _idle[code] += 1
    return _local if _left[code] and _idle[code] < PATIENCE else None


def _dump() -> None:
    sys.settrace(None)
    os.makedirs(FOLDER, exist_ok=True)
    lines = {name[len(TREE) :]: sorted(numbers) for name, numbers in _seen.items()}
    with open(os.path.join(FOLDER, f"{os.getpid()}.json"), "w", encoding="utf-8") as out:
        out.write(json.dumps(lines) + "\n")


atexit.register(_dump)
sys.settrace(_global)
