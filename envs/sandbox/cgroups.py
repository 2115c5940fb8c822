"""Control groups: the kernel's own bound on all of a sandbox's processes together, where it may be set.

Without them (an ordinary user) the command server's watch, and the limits that each process inherits, do
the same a few hundredths of a second later.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
_OURS = "scienceide"
_SPARE_TASKS = 16
"""Above the limit on processes: for the server, and so that its watch can see the limit passed."""
_SPARE_MEMORY = 64 * 2**20


def create(name: str, root: Path = ROOT) -> tuple[str, ...]:
    """Make the groups of one sandbox: one (version 2) or one each for tasks and memory (version 1).

    Returns:
        Their folders; none where this process may not make any.
    """
    if os.geteuid() != 0:
        return ()
    try:
        if (root / "cgroup.controllers").exists():
            return (str(_make_unified(root / _OURS, name)),)
        folders = [root / controller / _OURS / name for controller in ("pids", "memory")]
        folders = [folder for folder in folders if folder.parent.parent.is_dir()]
        for folder in folders:
            folder.mkdir(parents=True)
        return tuple(map(str, folders))
    except OSError:
        return ()


def _make_unified(ours: Path, name: str) -> Path:
    controllers = "+pids +memory"
    (ours.parent / "cgroup.subtree_control").write_text(controllers)
    ours.mkdir(exist_ok=True)
    (ours / "cgroup.subtree_control").write_text(controllers)
    (ours / name).mkdir()
    return ours / name


def bound(groups: Sequence[str], *, processes: int, memory: int) -> None:
    """Set or change the limits. `memory` counts what is written to the tree and to /tmp, too. Bytes."""
    values = {
        "pids.max": processes + _SPARE_TASKS,
        "memory.limit_in_bytes": memory + _SPARE_MEMORY,
        "memory.memsw.limit_in_bytes": memory + _SPARE_MEMORY,
        "memory.max": memory + _SPARE_MEMORY,
        "memory.swap.max": 0,
    }
    # Twice, as of two related limits one must be raised before the other, and lowered after it.
    for group, name in [(group, name) for _ in range(2) for group in groups for name in values]:
        if os.path.exists(f"{group}/{name}"):
            with contextlib.suppress(OSError):
                Path(group, name).write_text(str(values[name]))


def join(groups: Sequence[str], pid: int) -> None:
    """Put a process in; its children follow."""
    for group in groups:
        Path(group, "cgroup.procs").write_text(str(pid))


def memory_group(pid: int, root: Path = ROOT) -> Path | None:
    """The group that bounds a process's memory."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            return root / "memory" / path.lstrip("/")
        if controllers == "" and (root / "cgroup.controllers").exists():
            return root / path.lstrip("/")
    return None


def out_of_memory_kills(group: Path | None) -> int:
    """How often the kernel killed a process of this group for want of memory."""
    if group is None:
        return 0
    for name in ("memory.events", "memory.oom_control"):
        try:
            words = (group / name).read_text().split()
        except OSError:
            continue
        if "oom_kill" in words:
            return int(words[words.index("oom_kill") + 1])
    return 0


def remove(groups: Sequence[str]) -> None:
    """Remove groups whose processes have been told to end, waiting a moment for them to do so."""
    for group in groups:
        deadline = time.monotonic() + 5.0
        while True:
            try:
                os.rmdir(group)
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno == errno.EBUSY and time.monotonic() < deadline:
                    time.sleep(0.005)
                    continue
            break
