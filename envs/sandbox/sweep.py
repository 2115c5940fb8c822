"""Removing what dead owners left: processes, containers, mounts, control groups, folders."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scienceide.base.errors import SandboxError
from scienceide.envs.sandbox import cgroups, owner
from scienceide.envs.sandbox.inside import kernel

if TYPE_CHECKING:
    from scienceide.envs.sandbox.hands import Hands

_NEWBORN_S = 60.0
"""A folder without a record may be about to get one."""


def sweep() -> int:
    """Remove the remains of every sandbox whose owner is dead. Safe to call from several processes at once.

    Returns:
        How many sandboxes were removed.
    """
    count = 0
    for folder in sorted(owner.sandboxes_dir().iterdir()):
        record = owner.load(folder)
        if record is None:
            with contextlib.suppress(OSError):
                if time.time() - folder.stat().st_mtime > _NEWBORN_S:
                    remove_folder(folder)
        elif not record.owner.alive:
            remove_remains(folder, record)
            count += 1
    return count


def remove_remains(folder: Path, record: owner.Record, hands: Hands | None = None) -> None:
    """End one sandbox, whatever state it is in.

    Args:
        folder: its own.
        record: what is known of it.
        hands: what mounted for it, where this process may not unmount; found anew if need be.
    """
    if record.container:
        _remove_container(record.container)
    kill_inside(record)
    cgroups.remove(record.cgroups)
    if record.container and os.geteuid() != 0 and mounts_below(folder):
        _unmount_by_helper(folder, record.image, hands)
    remove_folder(folder)


def _unmount_by_helper(folder: Path, image: str, hands: Hands | None) -> None:
    from scienceide.envs.sandbox.hands import HelperHands

    points = mounts_below(folder)[::-1]
    with contextlib.suppress(SandboxError, OSError):
        if hands is not None:
            hands.do("unmount", points=points)
            return
        helper = HelperHands(image)
        try:
            helper.do("unmount", points=points)
        finally:
            helper.close()


def kill_inside(record: owner.Record) -> None:
    """Kill the process that holds a sandbox up, and with it all others inside."""
    if record.inside is not None and record.inside.alive:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(record.inside.pid, signal.SIGKILL)


def _remove_container(container: str) -> None:
    from scienceide.envs.sandbox import engine

    with contextlib.suppress(SandboxError):
        engine.remove_container(container)


def remove_folder(folder: Path) -> None:
    """Unmount what is mounted below a sandbox's folder, then delete it; never through a mount."""
    for path in reversed(mounts_below(folder)):
        with contextlib.suppress(OSError):
            kernel.detach(path)
    if not mounts_below(folder):
        shutil.rmtree(folder, ignore_errors=True)


def mounts_below(folder: Path) -> list[str]:
    """Mount points at or below a folder, parents first."""
    prefix = os.path.realpath(folder)
    found = []
    with open("/proc/self/mountinfo", "rb") as stream:
        for line in stream:
            point = os.fsdecode(line.split()[4].decode("unicode_escape").encode("latin-1"))
            if point == prefix or point.startswith(prefix + "/"):
                found.append(point)
    return found


if __name__ == "__main__":
    sweep()
