"""A process made ready ahead of its command, so that starting the command costs little more than exec.

Forking the server and giving up its powers takes longer than most of what agents run. So the next
command's process is forked and confined while nobody waits, and then only has to be told what to be.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple, NoReturn

from . import entering


class Unconfined(Exception):
    """The kernel refused a part of the isolation, so the command was not started."""


class Command(NamedTuple):
    """One command with everything it needs. Bytes and seconds."""

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


class Prepared(NamedTuple):
    """A confined process that waits for its command."""

    pid: int
    order: int
    """Pipe to write the command to."""
    stdin: int
    """Shared with the process as its standard input."""
    output: int
    """Pipe to read its output from."""
    fault: int
    """Pipe that ends when the command is executed, or says why it was not."""

    def close(self) -> None:
        """Let go of a process that was killed."""
        for handle in self[1:]:
            os.close(handle)


def prepare(view: entering.View | None) -> Prepared:
    """Fork the next command's process."""
    order_read, order_write = os.pipe2(os.O_CLOEXEC)
    output_read, output_write = os.pipe2(os.O_CLOEXEC)
    fault_read, fault_write = os.pipe2(os.O_CLOEXEC)
    stdin = os.memfd_create("stdin", os.MFD_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        os.close(order_write)
        _become(view, order_read, stdin, output_write, fault_write)
    for handle in (order_read, output_write, fault_write):
        os.close(handle)
    os.set_blocking(output_read, False)
    return Prepared(pid, order_write, stdin, output_read, fault_read)


def start(prepared: Prepared, command: Command) -> bytes:
    """Have a prepared process become the command; only its pid and its output are of use afterwards.

    Returns:
        Why the command could not be executed; empty if it was.

    Raises:
        Unconfined: the process could not be confined.
        BrokenPipeError: it is dead.
    """
    try:
        with os.fdopen(prepared.stdin, "wb") as stream:
            stream.write(command.stdin)
            stream.flush()
            os.lseek(prepared.stdin, 0, os.SEEK_SET)
    finally:
        with os.fdopen(prepared.order, "wb") as stream:
            stream.write(json.dumps({**command._asdict(), "stdin": bool(command.stdin)}).encode())
    with os.fdopen(prepared.fault, "rb") as stream:
        kind, _, text = stream.read().partition(b":")
    if kind == b"confine":
        raise Unconfined(text.decode("utf-8", "replace"))
    return text


def _become(view: entering.View | None, order: int, stdin: int, output: int, fault: int) -> NoReturn:
    """In the forked child: give up all powers, wait for the command, turn into it or say why not."""
    stage, what = "confine", ""
    try:
        os.setsid()
        entering.plain_signals()
        os.dup2(stdin, 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        entering.confine(view)
        with os.fdopen(order, "rb") as stream:
            words = stream.read()
        if not words:
            os._exit(0)
        command = json.loads(words)
        entering.limit(command["memory"], command["processes"], command["disk"])
        if not command["stdin"]:
            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        stage, what = "command", command["cwd"]
        os.chdir(what)
        what = command["argv"][0]
        os.execvpe(what, command["argv"], command["environment"])
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        os.write(fault, f"{stage}:{what}: {reason}\n".encode("utf-8", "replace"))
        os._exit(127 if missing else 126)
    finally:
        os._exit(126)
