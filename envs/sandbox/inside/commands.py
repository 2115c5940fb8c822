"""Running one command: start it confined, watch its limits, end all it left behind."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from . import entering, processes
from .output import Cut

_SCAN_S = 0.04
_FLOOD = 2**30
"""A command that prints more than this is stopped."""
_BLOCK = 2**18


class Unconfined(Exception):
    """The kernel refused a part of the isolation, so the command was not started."""


class LinkLost(Exception):
    """The host is gone while a command ran."""


@dataclass(frozen=True)
class Command:
    """One command with everything it needs."""

    argv: Sequence[str]
    cwd: str
    environment: Mapping[str, str]
    stdin: bytes
    memory: int
    processes: int
    disk: int
    cpu_s: float
    wall_s: float
    output: int


@dataclass
class _Running:
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
        self._link = link
        self._wake, wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # The other signals' default actions do not apply to process 1; Python's own for this one would.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self._shell = "/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh"

    def argv(self, command: str | Sequence[str]) -> Sequence[str]:
        """A shell line becomes the shell's argument vector."""
        return [self._shell, "-c", command] if isinstance(command, str) else command

    def run(self, command: Command) -> tuple[dict[str, Any], bytes]:
        """Run it to its end.

        Returns:
            `exit_code`, `bytes_cut`, `killed_by`, `cpu_s`, `wall_s`; and the output.

        Raises:
            Unconfined, LinkLost, processes.Undying: the sandbox can no longer be used.
        """
        started = time.monotonic()
        account = processes.Account()
        pid, pipe, refusal = self._start(command)
        running = _Running(pid, pipe, account, Cut(command.output), started)
        killed_by = self._watch(running, command)
        processes.end_all(account)
        processes.remove_shared_memory()
        _drain(pipe, running.output)
        os.close(pipe)
        if refusal:
            running.output.add(refusal)
        output, cut = running.output.finish()
        code = os.waitstatus_to_exitcode(account.statuses[pid])
        return {
            "exit_code": None if killed_by else code if code >= 0 else 128 - code,
            "bytes_cut": cut,
            "killed_by": killed_by,
            "cpu_s": account.cpu_s,
            "wall_s": time.monotonic() - started,
        }, output

    def _start(self, command: Command) -> tuple[int, int, bytes]:
        """Fork the command; the third value says why it could not be executed, if so."""
        pipe_read, pipe_write = os.pipe2(os.O_CLOEXEC)
        fault_read, fault_write = os.pipe2(os.O_CLOEXEC)
        stdin = _stdin(command.stdin)
        pid = os.fork()
        if pid == 0:
            _become(command, stdin, pipe_write, fault_write, self.view)
        for handle in (pipe_write, fault_write, stdin):
            os.close(handle)
        os.set_blocking(pipe_read, False)
        with os.fdopen(fault_read, "rb") as stream:
            fault = stream.read()
        kind, _, text = fault.partition(b":")
        if kind == b"confine":
            raise Unconfined(text.decode("utf-8", "replace"))
        return pid, pipe_read, text

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


def _stdin(data: bytes) -> int:
    if not data:
        return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    handle = os.memfd_create("stdin", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(handle), "wb") as stream:
        stream.write(data)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _become(command: Command, stdin: int, output: int, fault: int, view: entering.View | None) -> NoReturn:
    """In the forked child: turn into the command, or say why not."""
    stage = "confine"
    try:
        os.setsid()
        entering.plain_signals()
        os.dup2(stdin, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        entering.confine(view)
        entering.limit(entering.Caps(command.memory, command.processes, command.disk))
        stage = "command"
        os.chdir(command.cwd)
        os.execvpe(command.argv[0], list(command.argv), dict(command.environment))
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        what = command.cwd if isinstance(error, OSError) and error.filename == command.cwd else command.argv[0]
        os.write(fault, f"{stage}:{what}: {reason}\n".encode("utf-8", "replace"))
        os._exit(127 if missing else 126)
    finally:
        os._exit(126)


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
