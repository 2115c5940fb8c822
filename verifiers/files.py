"""Bytes of the files in a folder that a hostile program filled."""

from __future__ import annotations

import os
import stat
from itertools import islice
from pathlib import Path, PurePosixPath

from scienceide.verifiers.failures import Unusable

FILE_BYTES = 64 * 2**20
"""The largest file that is read."""


def read_regular(folder: Path, name: str, most: int = FILE_BYTES) -> bytes:
    """The content of a plain file below `folder`; no link is followed, on the way or at the end.

    Raises:
        Unusable: it is missing, not a plain file, or larger than `most` bytes.
    """
    *parents, last = PurePosixPath(name).parts
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        for parent in parents:
            handle = _step(handle, parent, os.O_DIRECTORY)
        # A pipe would block the open, and a device does as it likes: neither is waited for.
        handle = _step(handle, last, os.O_NONBLOCK)
    except FileNotFoundError:
        raise Unusable("missing file", name) from None
    except OSError as error:
        raise Unusable("unreadable", f"{name}: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Unusable("unreadable", f"{name} is not a plain file")
        with os.fdopen(handle, "rb", closefd=False) as stream:
            data = stream.read(most + 1)
    except OSError as error:
        raise Unusable("unreadable", f"{name}: {error.strerror}") from None
    finally:
        os.close(handle)
    if len(data) > most:
        raise Unusable("too large", f"{name}: more than {most >> 20} MiB")
    return data


def names_in(folder: Path, most: int = 1000) -> list[str]:
    """Names of at most `most` entries of a folder, sorted; none where there is no folder."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in islice(entries, most))
    except OSError:
        return []


def _step(folder: int, name: str, flags: int) -> int:
    """Open `name` in an open folder, which is closed."""
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=folder)
    finally:
        os.close(folder)
