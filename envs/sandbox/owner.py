"""Who a sandbox belongs to, written down where a later process can find it.

Each sandbox has a folder `sandboxes/<id>` in the cache with `owner.json` in it. A process id alone says
little, since ids are used again; with its start time and the boot it names one process for ever.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from scienceide.base.paths import cache_dir

RECORD = "owner.json"


@dataclass(frozen=True)
class Process:
    """One process, once."""

    pid: int
    start: int
    """Clock ticks after boot."""
    boot: str

    @property
    def alive(self) -> bool:
        """Whether it still runs; one that has ended but is not reaped yet does not."""
        return self == identify(self.pid)


def identify(pid: int) -> Process | None:
    """The running process of that id, if there is one."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else Process(pid, int(fields[19]), boot)


def this_process() -> Process:
    """The process that calls."""
    process = identify(os.getpid())
    if process is None:
        raise RuntimeError("/proc does not show this process")
    return process


@dataclass(frozen=True)
class Record:
    """What lies in `owner.json`."""

    owner: Process
    provider: str
    purpose: str
    inside: Process | None = None
    """The process that holds the sandbox up: killing it ends the sandbox."""
    container: str = ""
    image: str = ""
    """Of the container."""
    cgroups: tuple[str, ...] = ()


def sandboxes_dir() -> Path:
    """The folder of all sandboxes' folders."""
    return cache_dir("sandboxes")


def new_folder(record: Record) -> Path:
    """A fresh sandbox folder, with its record written before anything else happens."""
    folder = sandboxes_dir() / secrets.token_hex(8)
    folder.mkdir(mode=0o755)
    save(folder, record)
    return folder


def save(folder: Path, record: Record) -> None:
    """Write the record, whole or not at all."""
    scratch = folder / f".{RECORD}"
    scratch.write_text(json.dumps(asdict(record)))
    scratch.replace(folder / RECORD)


def load(folder: Path) -> Record | None:
    """The record of a sandbox folder; None where there is none that can be read."""
    try:
        data = json.loads((folder / RECORD).read_text())
        inside = Process(**data.pop("inside")) if data["inside"] else None
        owner = Process(**data.pop("owner"))
        data.pop("inside", None)
        return replace(
            Record(owner, data["provider"], data["purpose"]),
            inside=inside,
            container=data["container"],
            image=data["image"],
            cgroups=tuple(data["cgroups"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
