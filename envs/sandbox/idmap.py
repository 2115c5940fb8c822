"""Showing a folder under other owners: files of this user appear inside as those of the sandbox's user.

The kernel translates owners at a mount point (since Linux 5.12; under an overlay since 5.19), so that no
file has to be copied or given away.
"""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from scienceide.envs.sandbox.inside import kernel

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_AT_FDCWD, _AT_EMPTY_PATH = -100, 0x1000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH = 1, 4
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV, _ATTR_IDMAP = 0x1, 0x2, 0x4, 0x100000
_USER = 1000
_IN_NAMESPACE = "import ctypes, sys; print(ctypes.CDLL(None).unshare(0x10000000), flush=True); sys.stdin.read()"


@dataclass(frozen=True)
class Ownership:
    """Whom the tree belongs to inside a container, and how owners of layers are translated for that."""

    user: int
    namespace: int | None = None

    def close(self) -> None:
        """Let the namespace go."""
        if self.namespace is not None:
            os.close(self.namespace)


def ownership(folder: Path) -> Ownership:
    """How it can be done with layers like `folder`, an existing folder on the same file system.

    Root's files are shown as those of an ordinary user. Where the kernel or the file system cannot do
    that, commands run as root without any capability.
    """
    namespace = None
    with tempfile.TemporaryDirectory() as target:
        try:
            namespace = mapping(_USER)
            bind(folder, Path(target), namespace)
            kernel.detach(target)
        except OSError:
            if namespace is not None:
                os.close(namespace)
            return Ownership(0)
    return Ownership(_USER, namespace)


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


def bind(source: Path, target: Path, namespace: int | None) -> None:
    """Mount `source` read-only at `target`, owners translated where a namespace is given.

    Raises:
        OSError: the kernel or the file system of `source` cannot do that.
    """
    tree = _call(_OPEN_TREE, _AT_FDCWD, os.fsencode(source), _OPEN_TREE_CLONE | os.O_CLOEXEC)
    try:
        wanted = _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV | (0 if namespace is None else _ATTR_IDMAP)
        attributes = struct.pack("QQQQ", wanted, 0, kernel.MS_PRIVATE, namespace or 0)
        _call(_MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH, attributes, len(attributes))
        _call(_MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(target), _MOVE_MOUNT_F_EMPTY_PATH)
    finally:
        os.close(tree)


def _call(number: int, *arguments: int | bytes) -> int:
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result: int = kernel.libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), f"system call {number}")
    return result
