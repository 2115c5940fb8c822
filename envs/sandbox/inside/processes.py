"""All processes of the sandbox: what they use, and their end. Only process 1 may call these."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from typing import NamedTuple

from . import kernel

_TICK = 1.0 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_END_PATIENCE = 20.0
_IPC_RMID = 0


class Undying(Exception):
    """Processes that do not go away although they were killed (stuck in the kernel)."""


class Usage(NamedTuple):
    """What all processes but the server use now."""

    processes: int
    cpu_s: float
    resident: int
    """Bytes; pages shared between processes are counted for each of them."""


class Account:
    """The CPU time of one command: of the living, of the reaped, and of those that slipped away.

    A process whose parent ignores SIGCHLD vanishes without its time being added to anybody's, so the
    last that was seen of each process counts as well.
    """

    def __init__(self) -> None:
        """Nothing was used yet."""
        self.reaped_s = 0.0
        self.seen: dict[tuple[int, int], float] = {}
        """Own CPU seconds by pid and start time."""
        self.statuses: dict[int, int] = {}
        """Wait statuses of reaped processes."""

    def reap(self) -> bool:
        """Collect the dead; False when no child is left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.reaped_s += usage.ru_utime + usage.ru_stime
            self.statuses[pid] = status

    def look(self) -> Usage:
        """Scan /proc."""
        count, living_s, resident = 0, 0.0, 0
        for name in os.listdir("/proc"):
            if not name.isdigit() or name == "1":
                continue
            try:
                with open(f"/proc/{name}/stat", "rb") as stream:
                    fields = stream.read().rpartition(b")")[2].split()
            except OSError:
                continue
            count += 1
            own = (int(fields[11]) + int(fields[12])) * _TICK
            living_s += own + (int(fields[13]) + int(fields[14])) * _TICK
            resident += int(fields[21]) * _PAGE
            self.seen[int(name), int(fields[19])] = own
        return Usage(count, max(self.reaped_s + living_s, sum(self.seen.values())), resident)

    @property
    def cpu_s(self) -> float:
        """CPU seconds once everything is reaped."""
        return max(self.reaped_s, sum(self.seen.values()))


def private_memory() -> int:
    """Bytes that all processes but the server hold, shared pages counted once between their sharers."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            total += _proportional(name)
    return total


def _proportional(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as stream:
            for line in stream:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        # A process may hide its maps; then its resident pages count whole.
        with contextlib.suppress(OSError), open(f"/proc/{pid}/statm", "rb") as stream:
            return int(stream.read().split()[1]) * _PAGE
    return 0


def end_all(account: Account) -> None:
    """Kill every process but the server, and reap them.

    One signal reaches all of them: the kernel lets no process fork between being counted and dying.

    Raises:
        Undying: some are still there after `_END_PATIENCE` seconds.
    """
    deadline = time.monotonic() + _END_PATIENCE
    pause = 0.0002
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        if not account.reap():
            return
        if time.monotonic() > deadline:
            raise Undying
        time.sleep(pause)
        pause = min(2 * pause, 0.02)


def remove_shared_memory() -> None:
    """Remove System V objects, which outlive their processes."""
    for kind, remove in (("shm", kernel.libc.shmctl), ("msg", kernel.libc.msgctl)):
        for identity in _ipc_identities(kind):
            remove(identity, _IPC_RMID, None)
    for identity in _ipc_identities("sem"):
        kernel.libc.semctl(identity, 0, _IPC_RMID, ctypes.c_void_p())


def _ipc_identities(kind: str) -> list[int]:
    try:
        with open(f"/proc/sysvipc/{kind}", "rb") as stream:
            return [int(line.split()[1]) for line in stream.readlines()[1:]]
    except OSError:
        return []
