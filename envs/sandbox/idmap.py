"""Showing a folder under other owners: files of this user appear inside as those of the sandbox's user.

The kernel translates owners at a mount point (since Linux 5.12; under an overlay since 5.19), so that no
file has to be copied or given away.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scienceide.envs.sandbox.inside import kernel

_USER = 1000
_IN_NAMESPACE = "import ctypes, sys; print(ctypes.CDLL(None).unshare(0x10000000), flush=True); sys.stdin.read()"


@dataclass(frozen=True)
class Ownership:
    """Whom the tree belongs to inside a container, and how owners of layers are translated for that."""

    user: int
    group: int
    namespace: int | None = None
    outside: tuple[int, int] = (0, 0)
    """User and group of what is exported."""

    def close(self) -> None:
        """Let the namespace go."""
        if self.namespace is not None:
            os.close(self.namespace)


def ownership(folder: Path) -> Ownership:
    """How it can be done with layers like `folder`, an existing folder on the same file system.

    Root's files are shown as those of an ordinary user. Where the kernel or the file system cannot do
    that, commands run as root without any capability. For other users nothing needs translating.
    """
    if os.geteuid() != 0:
        mine = (os.geteuid(), os.getegid())
        return Ownership(*mine, outside=mine)
    namespace = None
    try:
        namespace = mapping(_USER)
        _try(folder, namespace)
    except OSError:
        if namespace is not None:
            os.close(namespace)
        return Ownership(0, 0)
    return Ownership(_USER, _USER, namespace)


def _try(folder: Path, namespace: int) -> None:
    """Mount an overlay over a translated folder, and take it away again."""
    with tempfile.TemporaryDirectory() as scratch:
        layer, merged, empty = (Path(scratch, name) for name in ("layer", "merged", "empty"))
        for path in (layer, merged, empty):
            path.mkdir()
        kernel.bind_read_only(str(folder), str(layer), namespace)
        try:
            kernel.mount("overlay", str(merged), "overlay", kernel.MS_RDONLY, f"lowerdir={layer}:{empty}")
            kernel.detach(str(merged))
        finally:
            kernel.detach(str(layer))


def mapping(inside: int) -> int:
    """A user namespace that swaps user (and group) 0 with `inside`, as a file descriptor.

    Raises:
        OSError: the kernel refused.
    """
    lines = f"0 {inside} 1\n{inside} 0 1\n1 1 {inside - 1}\n{inside + 1} {inside + 1} {65535 - inside}\n"
    helper = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _IN_NAMESPACE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        if helper.stdout is None or helper.stdout.readline() != b"0\n":
            raise OSError("user namespaces are refused")
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{helper.pid}/{name}").write_text(lines)
        return os.open(f"/proc/{helper.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        helper.communicate()
