"""Mounting for a sandbox from outside it, as root: by the runner itself, or by a helper for it.

Every operation takes and gives plain values, so that it can be asked for through a socket.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from . import kernel, mounts, tree, wire

_MOST_BODY = 2**20


def stage(folder: str) -> mounts.Stage:
    """Where things lie for the sandbox whose own folder is `folder`."""
    shared = f"{folder}/shared"
    return mounts.Stage(private=folder, tree=f"{shared}/tree", tmp=f"{shared}/tmp", shm=f"{shared}/shm")


def share(folder: str) -> None:
    """Turn the folder `shared` into one whose mounts a container sees."""
    shared = os.path.dirname(stage(folder).tree)
    kernel.mount(shared, shared, None, kernel.MS_BIND)
    # A peer group of its own: what is mounted here shows in the container and nowhere else.
    kernel.mount("none", shared, None, kernel.MS_PRIVATE)
    kernel.mount("none", shared, None, kernel.MS_SHARED)


def show(folder: str, layers: list[str], namespace: int | None = None) -> None:
    """Mount layers read-only below the sandbox's folder, owners translated where a namespace is given."""
    for number, layer in enumerate(layers):
        kernel.bind_read_only(layer, f"{folder}/layers/{number}", namespace)


def hide(folder: str, count: int) -> None:
    """Unmount the first `count` layers."""
    for number in range(count):
        kernel.detach(f"{folder}/layers/{number}")


def lay(folder: str, layers: int, size: int, user: int, group: int) -> None:
    """Mount a pristine tree of the shown layers."""
    paths = [f"{folder}/layers/{number}" for number in range(layers)]
    mounts.lay(stage(folder), paths, size, (user, group), attributes="trusted")


def lift(folder: str) -> None:
    """Take the tree away with all that was written."""
    mounts.lift(stage(folder))


def resize(folder: str, size: int) -> None:
    """Let more bytes be written."""
    mounts.resize(stage(folder), size)


def changes(folder: str) -> list[dict[str, Any]]:
    """What differs from the layers. Nothing may run inside meanwhile."""
    places = stage(folder)
    return tree.changes(places.upper, places.pristine)


def export(folder: str, target: str, only_changes: bool, user: int, group: int) -> None:
    """Copy the tree out and give it to a user. Nothing may run inside meanwhile."""
    kept = [c["path"] for c in changes(folder) if c["kind"] in ("file", "symlink")] if only_changes else None
    tree.copy(stage(folder).tree, target, kept)
    if (user, group) == (os.geteuid(), os.getegid()):
        return
    for path, folders, names in os.walk(target):
        for name in (*folders, *names):
            os.chown(f"{path}/{name}", user, group, follow_symlinks=False)


def unmount(points: list[str]) -> None:
    """Unmount what a sandbox left, deepest first."""
    for point in points:
        kernel.detach(point)


OPERATIONS: dict[str, Callable[..., Any]] = {
    operation.__name__: operation for operation in (share, show, hide, lay, lift, resize, changes, export, unmount)
}


def serve(socket_path: str, pid: int) -> None:
    """The helper: in the mount namespace of the process `pid`, do operations until the other side hangs up."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect(socket_path)
    kernel.enter_mounts(os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC))
    while True:
        try:
            request, _ = wire.receive(link, _MOST_BODY)
            operation = OPERATIONS[request.pop("op")]
            try:
                wire.send(link, {"result": operation(**request)})
            except OSError as error:
                wire.send(link, {"errno": error.errno, "error": error.strerror, "path": error.filename})
        except wire.Closed:
            sys.exit()
