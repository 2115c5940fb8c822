"""Where ScienceIDE keeps what it makes: a cache that may be deleted, and runs that may not.

Cache: `$SCIENCEIDE_CACHE`, else `$XDG_CACHE_HOME/scienceide`, else `~/.cache/scienceide`.
Runs:  `$SCIENCEIDE_HOME`, else `~/.local/share/scienceide`.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def cache_dir(*parts: str) -> Path:
    """The cache folder, or a folder below it; made if missing."""
    root = os.environ.get("SCIENCEIDE_CACHE")
    if root is None:
        root = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "scienceide")
    path = Path(root, *parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


def home_dir(*parts: str) -> Path:
    """The folder of the run store, or a folder below it; made if missing."""
    root = os.environ.get("SCIENCEIDE_HOME") or os.path.expanduser("~/.local/share/scienceide")
    path = Path(root, *parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


def content_hash(*parts: object) -> str:
    """A short stable name for JSON-serialisable values: 20 hex digits of their SHA-256."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def write_atomically(path: Path, data: bytes | str) -> None:
    """Write a file so that a reader, or a crash, sees the old content or the new, never half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    payload = data.encode() if isinstance(data, str) else data
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(payload)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def building(final: Path) -> Iterator[Path | None]:
    """Make the folder `final` exactly once, whole or not at all, even with several processes at it.

    Yields a scratch folder beside `final` to fill, which is renamed into place when the block ends
    without an error; or None when `final` is there already. Others wait on a lock meanwhile.
    """
    if final.exists():
        yield None
        return
    final.parent.mkdir(parents=True, exist_ok=True)
    with open(final.parent / f".{final.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if final.exists():
            yield None
            return
        for stale in final.parent.glob(f".{final.name}.?*"):
            if stale.is_dir():  # of a process that was killed: nobody else can hold the lock
                shutil.rmtree(stale, ignore_errors=True)
        scratch = Path(tempfile.mkdtemp(dir=final.parent, prefix=f".{final.name}."))
        scratch.chmod(0o755)
        try:
            yield scratch
            scratch.rename(final)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
