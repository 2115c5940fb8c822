"""Running one command: start it confined, watch its limits, end all it left behind."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import entering, processes
from .output import Cut
from .starting import Command, Prepared, prepare, start

_SCAN_S = 0.04
_FLOOD = 2**30
"""A command that prints more than this is stopped."""
_BLOCK = 2**18


class LinkLost(Exception):
    """The host is gone while a command ran."""


class _Running(NamedTuple):
    pid: int
    pipe: int
    account: processes.Account
    output: Cut
    started: float


class Runner:
    """Runs commands one after the other. `link` is watched so that nothing outlives the host."""

    def __init__(self, link: int) -> None:
        """Prepare to wait for children."""
        self.view: entering.View | None = None
        """The mounts that commands see, where they are not the server's own."""
        self._next: Prepared | None = None
        self._link = link
        self._wake, wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # The other signals' default actions do not apply to process 1; Python's own for this one would.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self._shell = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"

    def prepare(self) -> None:
        """Make the next command's process ready, if that is not done yet."""
        if self._next is None:
            self._next = prepare(self.view)

    def end_all(self, account: processes.Account) -> None:
        """End every process inside, the one made ready included.

        Raises:
            processes.Undying: some cannot be killed.
        """
        if self._next is not None:
            self._next.close()
            self._next = None
        processes.end_all(account)
        processes.remove_shared_memory()

    def argv(self, command: str | Sequence[str]) -> Sequence[str]:
        """A shell line becomes the shell's argument vector."""
        return [self._shell, "-c", command] if isinstance(command, str) else command

    def run(self, command: Command) -> tuple[dict[str, Any], bytes]:
        """Run it to its end.

        Returns:
            `exit_code`, `bytes_cut`, `killed_by`, `cpu_s`, `wall_s`; and the output.

        Raises:
            starting.Unconfined, LinkLost, processes.Undying: the sandbox can no longer be used.
        """
        started = time.monotonic()
        account = processes.Account()
        ready, refusal = self._start(command)
        running = _Running(ready.pid, ready.output, account, Cut(command.output), started)
        killed_by = self._watch(running, command)
        self.end_all(account)
        _drain(running.pipe, running.output)
        os.close(running.pipe)
        running.output.add(refusal)
        output, cut = running.output.finish()
        code = os.waitstatus_to_exitcode(account.statuses[running.pid])
        return {
            "exit_code": None if killed_by else code if code >= 0 else 128 - code,
            "bytes_cut": cut,
            "killed_by": killed_by,
            "cpu_s": account.cpu_s,
            "wall_s": time.monotonic() - started,
        }, output

    def _start(self, command: Command) -> tuple[Prepared, bytes]:
        """The process that was made ready; a new one, should something have killed it."""
        ready, self._next = self._next or prepare(self.view), None
        try:
            return ready, start(ready, command)
        except BrokenPipeError:
            os.close(ready.output)
            os.close(ready.fault)
            ready = prepare(self.view)
            return ready, start(ready, command)

    def _watch(self, running: _Running, command: Command) -> str | None:
        """Read output and check limits until the command itself ends, or must."""
        poll = select.poll()
        poll.register(running.pipe, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        poll.register(self._link, select.POLLRDHUP)
        scan_at = running.started + _SCAN_S
        while running.pid not in running.account.statuses:
            for handle, event in poll.poll(max(0.0, scan_at - time.monotonic()) * 1000):
                if handle == running.pipe and not _read_once(handle, running.output):
                    poll.unregister(handle)
                elif handle == self._wake:
                    os.read(self._wake, 4096)
                    running.account.reap()
                elif handle == self._link and event:
                    raise LinkLost
            if running.output.total > _FLOOD:
                return "output"
            now = time.monotonic()
            if now >= scan_at:
                running.account.reap()
                exceeded = _exceeded(running, command, now)
                if exceeded:
                    return exceeded
                scan_at = now + _SCAN_S
        return None


def _exceeded(running: _Running, command: Command, now: float) -> str | None:
    """The first limit that is passed."""
    if running.pid in running.account.statuses:
        return None
    if now - running.started > command.wall_s:
        return "wall"
    usage = running.account.look()
    if usage.cpu_s > command.cpu_s:
        return "cpu"
    if usage.processes > command.processes:
        return "processes"
    if usage.resident > command.memory and processes.private_memory() > command.memory:
        return "memory"
    return None


def _read_once(pipe: int, output: Cut) -> bool:
    """Take what is there; False at the end of the stream."""
    try:
        data = os.read(pipe, _BLOCK)
    except BlockingIOError:
        return True
    output.add(data)
    return bool(data)


def _drain(pipe: int, output: Cut) -> None:
    """Take what the dead left in the pipe."""
    while True:
        try:
            data = os.read(pipe, _BLOCK)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return
            raise
        if not data:
            return
        output.add(data)
