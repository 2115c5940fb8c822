"""Counting what sandboxes of one cache folder and one owner have on this machine right now."""

import json
import os
import time
from pathlib import Path

from scienceide.envs.sandbox import cgroups, engine


def census(cache: Path, owner: int) -> dict[str, list[str]]:
    """Folders, mounts, processes, control groups and containers; all lists are empty when nothing is left."""
    folders = sorted(p.name for p in (cache / "sandboxes").glob("*"))
    with open("/proc/self/mountinfo") as stream:
        mounts = [line.split()[4] for line in stream if f"{cache}/sandboxes/" in line.split()[4]]
    groups = [str(p) for pattern in ("*/scienceide/*/", "scienceide/*/") for p in cgroups.ROOT.glob(pattern)]
    return {
        "folders": folders,
        "mounts": mounts,
        "processes": [p for p in _command_lines() if f"{cache}/sandboxes/" in p or f"waiting.py {owner} " in p],
        "groups": [g for g in groups if Path(g).name in _ids(cache)],
        "containers": _containers(owner),
    }


def nothing(found: dict[str, list[str]]) -> bool:
    return not any(found.values())


def wait_for_nothing(cache: Path, owner: int, seconds: float = 60.0) -> dict[str, list[str]]:
    """The census once it is empty, or the last one."""
    deadline = time.monotonic() + seconds
    while not nothing(found := census(cache, owner)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


_seen: dict[Path, set[str]] = {}


def _ids(cache: Path) -> set[str]:
    """Sandboxes that are or were in this cache, as far as a census saw them."""
    seen = _seen.setdefault(cache, set())
    seen |= {p.name for p in (cache / "sandboxes").glob("*")}
    return seen


def _command_lines() -> list[str]:
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                line = Path(entry.path, "cmdline").read_bytes()
            except OSError:
                continue
            found.append(line.replace(b"\0", b" ").decode("utf-8", "replace"))
    return found


def _containers(owner: int) -> list[str]:
    if not engine.availability().ok:
        return []
    return [
        c["Names"][0] for c in engine.client().containers(all=True, filters={"label": f"{engine.LABEL}.pid={owner}"})
    ]


def records(cache: Path) -> list[dict]:
    """What the sandboxes of a cache say of themselves; a helper that mounts for them is none."""
    found = [json.loads(p.read_text()) for p in sorted((cache / "sandboxes").glob("*/owner.json"))]
    return [record for record in found if record["purpose"] != "helper"]
