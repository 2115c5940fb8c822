"""Comparing and copying trees without ever following what an agent may have planted in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Any

OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")
_BLOCK = 2**20
_SENT = 2**30
_DEEPEST = 200
"""Folders nested deeper are reported as something else and not copied; no scientific code has them."""


def changes(upper: str, pristine: str) -> list[dict[str, Any]]:
    """What an overlay's upper folder changes in the merged layers below it.

    A file that was only touched is no change; one whose contents or permissions differ is.

    Returns:
        `path`, `kind` (file, deleted, symlink, other) and `size` of each, sorted by path.
    """
    found = {change["path"]: change for change in _walk(upper, pristine, "")}
    return [found[path] for path in sorted(found)]


def _walk(upper: str, pristine: str, folder: str) -> Iterator[dict[str, Any]]:
    """Changes below one folder of the upper; relative paths end with `/`."""
    above = {entry.name: entry for entry in os.scandir(os.path.join(upper, folder))}
    if folder and _is_opaque(os.path.join(upper, folder)):
        for name in _names(os.path.join(pristine, folder)):
            if name not in above:
                yield from _gone(pristine, folder + name)
    for name, entry in above.items():
        path = folder + name
        status = entry.stat(follow_symlinks=False)
        below = _status(os.path.join(pristine, path))
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            yield from _gone(pristine, path)
        elif stat.S_ISDIR(status.st_mode):
            if below is not None and not stat.S_ISDIR(below.st_mode):
                yield {"path": path, "kind": "deleted", "size": 0}
            if path.count("/") >= _DEEPEST:
                yield {"path": path, "kind": "other", "size": 0}
            else:
                yield from _walk(upper, pristine, path + "/")
        else:
            if below is not None and stat.S_ISDIR(below.st_mode):
                yield from _gone(pristine, path)
            if below is None or not _same(os.path.join(upper, path), status, os.path.join(pristine, path), below):
                yield {"path": path, "kind": _kind(status.st_mode), "size": status.st_size}


def _is_opaque(path: str) -> bool:
    for name in OPAQUE:
        try:
            if os.getxattr(path, name, follow_symlinks=False) == b"y":
                return True
        except OSError:
            continue
    return False


def _names(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _gone(pristine: str, path: str) -> Iterator[dict[str, Any]]:
    """Everything that is no folder at or below `path` is deleted."""
    status = _status(os.path.join(pristine, path))
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        yield {"path": path, "kind": "deleted", "size": 0}
        return
    for name in _names(os.path.join(pristine, path)):
        yield from _gone(pristine, f"{path}/{name}")


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    return "symlink" if stat.S_ISLNK(mode) else "other"


def _same(new: str, new_status: os.stat_result, old: str, old_status: os.stat_result) -> bool:
    if new_status.st_mode != old_status.st_mode or new_status.st_size != old_status.st_size:
        return False
    if stat.S_ISLNK(new_status.st_mode):
        return os.readlink(new) == os.readlink(old)
    return stat.S_ISREG(new_status.st_mode) and _same_bytes(new, old)


def _same_bytes(one: str, other: str) -> bool:
    with open(one, "rb") as first, open(other, "rb") as second:
        while block := first.read(_BLOCK):
            if block != second.read(_BLOCK):
                return False
        return not second.read(1)


def copy(source: str, target: str, only: list[str] | None = None) -> None:
    """Copy files, folders and symbolic links with modes and times; anything else is passed over.

    Args:
        source: the tree.
        target: an existing, empty folder.
        only: these paths alone, with the folders they lie in.
    """
    if only is None:
        _copy_folder(source, target)
        return
    for path in only:
        _copy_parents(source, target, os.path.dirname(path))
        _copy_entry(os.path.join(source, path), os.path.join(target, path), os.lstat(os.path.join(source, path)))
    for folder in sorted({f for path in only for f in _ancestors(path)}, reverse=True):
        _copy_times(os.path.join(target, folder), os.lstat(os.path.join(source, folder)))


def _ancestors(path: str) -> Iterator[str]:
    while path := os.path.dirname(path):
        yield path


def _copy_parents(source: str, target: str, folder: str) -> None:
    if not folder or os.path.isdir(os.path.join(target, folder)):
        return
    _copy_parents(source, target, os.path.dirname(folder))
    os.mkdir(os.path.join(target, folder))
    mode = os.lstat(os.path.join(source, folder)).st_mode
    os.chmod(os.path.join(target, folder), stat.S_IMODE(mode) & 0o777 | 0o700)


def _copy_folder(source: str, target: str, depth: int = 0) -> None:
    if depth > _DEEPEST:
        return
    for entry in os.scandir(source):
        _copy_entry(entry.path, os.path.join(target, entry.name), entry.stat(follow_symlinks=False), depth)
    status = os.lstat(source)
    os.chmod(target, stat.S_IMODE(status.st_mode) & 0o777 | 0o700)
    _copy_times(target, status)


def _copy_entry(source: str, target: str, status: os.stat_result, depth: int = 0) -> None:
    if stat.S_ISDIR(status.st_mode):
        os.mkdir(target)
        _copy_folder(source, target, depth + 1)
    elif stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(source), target)
        _copy_times(target, status)
    elif stat.S_ISREG(status.st_mode):
        _copy_bytes(source, target)
        os.chmod(target, stat.S_IMODE(status.st_mode) & 0o777 | 0o400)
        _copy_times(target, status)


def _copy_bytes(source: str, target: str) -> None:
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with open(source, "rb") as reading, open(os.open(target, new, 0o600), "wb") as writing:
        while os.sendfile(writing.fileno(), reading.fileno(), None, _SENT):
            pass


def _copy_times(path: str, status: os.stat_result) -> None:
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns), follow_symlinks=False)
