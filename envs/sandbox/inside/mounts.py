"""The mounts that make a pristine tree, laid and lifted in milliseconds whatever the tree's size.

One size-limited tmpfs takes everything that commands write: the overlay's upper folder (the tree),
/tmp and /dev/shm. Lifting it drops all of that at once; its size is the sandbox's disk limit.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import NamedTuple

from . import kernel

_BYTES_PER_FILE = 4096


class Stage(NamedTuple):
    """Where things lie, as the process that mounts sees them."""

    private: str
    """A folder that commands do not see; `layers/0`, `layers/1`, … in it are the read-only layers."""
    tree: str
    tmp: str
    shm: str

    @property
    def disk(self) -> str:
        """Where the tmpfs of everything writable is mounted."""
        return f"{self.private}/disk"

    @property
    def upper(self) -> str:
        """What was written to the tree."""
        return f"{self.private}/disk/upper"

    @property
    def pristine(self) -> str:
        """The layers alone, merged."""
        return f"{self.private}/pristine"


def lay(stage: Stage, layers: Sequence[str], size: int, owner: tuple[int, int], *, attributes: str = "user") -> None:
    """Mount a pristine tree.

    Args:
        stage: where.
        layers: folders, topmost first; their paths hold no `:` and no `,`.
        size: bytes that may be written.
        owner: user and group that may write.
        attributes: where the overlay keeps its notes: `user` is all that there is in a user namespace;
            root takes `trusted`, which older kernels offer on a tmpfs, too.

    Raises:
        OSError: the kernel refused; what was mounted before is lifted again.
    """
    try:
        _lay(stage, layers, size, owner, ",userxattr" if attributes == "user" else "")
    except OSError:
        lift(stage)
        raise


def _lay(stage: Stage, layers: Sequence[str], size: int, owner: tuple[int, int], notes: str) -> None:
    kept_out = kernel.MS_NOSUID | kernel.MS_NODEV
    inodes = max(65536, size // _BYTES_PER_FILE)
    os.makedirs(stage.disk, exist_ok=True)
    os.makedirs(stage.pristine, exist_ok=True)
    options = f"size={size},nr_inodes={inodes},mode=755"
    kernel.mount("tmpfs", stage.disk, "tmpfs", kept_out, options)
    for name, mode in (("upper", 0o755), ("work", 0o755), ("empty", 0o755), ("tmp", 0o1777), ("shm", 0o1777)):
        path = f"{stage.disk}/{name}"
        os.mkdir(path)
        os.chmod(path, mode)
        os.chown(path, *owner)
    # A second lower folder lets one layer, or none, be merged like several.
    lower = ":".join((*layers, f"{stage.disk}/empty"))
    below = lower if layers else f"{lower}:{stage.disk}/shm"
    kernel.mount("overlay", stage.pristine, "overlay", kept_out | kernel.MS_RDONLY, f"lowerdir={below}{notes}")
    writable = f"lowerdir={lower},upperdir={stage.upper},workdir={stage.disk}/work{notes}"
    kernel.mount("overlay", stage.tree, "overlay", kept_out, writable)
    kernel.mount(f"{stage.disk}/tmp", stage.tmp, None, kernel.MS_BIND)
    kernel.mount(f"{stage.disk}/shm", stage.shm, None, kernel.MS_BIND)


def lift(stage: Stage) -> None:
    """Take the tree away, with all that was written; what is not mounted is passed over."""
    for path in (stage.shm, stage.tmp, stage.tree, stage.pristine, stage.disk):
        with contextlib.suppress(OSError):
            kernel.detach(path)


def resize(stage: Stage, size: int) -> None:
    """Give the sandbox another disk limit; what was written stays."""
    inodes = max(65536, size // _BYTES_PER_FILE)
    flags = kernel.MS_REMOUNT | kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount("tmpfs", stage.disk, "tmpfs", flags, f"size={size},nr_inodes={inodes}")
