"""Reading and writing single files with the rights of a command."""

from __future__ import annotations

import contextlib
import errno
import os
import stat

TREE = "/work"


def write(path: str, data: bytes | bytearray, mode: int) -> None:
    """Put a file, whole or not at all; a symbolic link at `path` is replaced, not followed.

    Raises:
        OSError: it cannot be written.
    """
    path = _absolute(path)
    folder, name = os.path.split(path)
    if not name or (os.path.isdir(path) and not os.path.islink(path)):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    os.makedirs(folder, exist_ok=True)
    scratch = os.path.join(folder, f".{os.urandom(8).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(scratch, flags, 0o600)
    try:
        with os.fdopen(handle, "wb", buffering=0) as stream:
            view = memoryview(data)
            while view:
                view = view[stream.write(view) or 0 :]
            os.fchmod(handle, mode & 0o777)
        os.rename(scratch, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(scratch)
        raise


def read(path: str, limit: int) -> bytes:
    """A regular file's bytes; a symbolic link at `path` is refused.

    Raises:
        OSError: it is no regular file, or larger than `limit`.
    """
    path = _absolute(path)
    # Without O_NONBLOCK a named pipe would hold the server up for ever.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            code = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
            raise OSError(code, "not a regular file", path)
        data = b"" if status.st_size > limit else stream.read(limit + 1)
        if status.st_size > limit or len(data) > limit:
            raise OSError(errno.EFBIG, f"larger than {limit} bytes", path)
        return data


def _absolute(path: str) -> str:
    if not path or "\x00" in path:
        raise OSError(errno.EINVAL, "not a path", path)
    return os.path.join(TREE, path)
