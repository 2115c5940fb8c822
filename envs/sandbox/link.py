"""The host's end of the line to a command server."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scienceide.base.errors import SandboxError
from scienceide.envs.sandbox.inside import wire

NAME = "s"
"""The socket's name in the folder that both sides see."""


class Link:
    """Asks one server, one thing at a time. Once it failed it stays failed."""

    def __init__(self, connection: socket.socket, evidence: Callable[[], str]) -> None:
        """`evidence` says what is known of the sandbox's end, for the error's sentence."""
        wire.widen(connection)
        self._connection = connection
        self._evidence = evidence
        self._ended = ""

    @classmethod
    def closed(cls) -> Link:
        """A line that was hung up."""
        link = cls(socket.socket(socket.AF_UNIX), lambda: "")
        link.close()
        return link

    def call(
        self, op: str, body: bytes = b"", *, timeout: float = 120.0, most: int = 2**20, **fields: Any
    ) -> tuple[dict[str, Any], bytes]:
        """One request and its answer.

        Args:
            op: what to do.
            body: bytes that go with it.
            timeout: seconds without any answer after which the sandbox counts as dead.
            most: the answer's bytes that are accepted.
            fields: the request's other fields.

        Raises:
            SandboxError: the server is gone or does not answer.
            OSError: the operation failed inside, such as a file that is not there.
        """
        if self._ended:
            raise SandboxError(self._ended)
        try:
            self._connection.settimeout(timeout)
            wire.send(self._connection, {"op": op, **fields}, body)
            reply, data = wire.receive(self._connection, most)
        except TimeoutError:
            self._end(f"The sandbox did not answer within {timeout:.0f} s during {op!r}.")
            raise SandboxError(self._ended) from None
        except (wire.Closed, OSError):
            evidence = self._evidence()
            self._end(f"The sandbox died during {op!r}" + (f": {evidence}" if evidence else "."))
            raise SandboxError(self._ended) from None
        if "error" in reply:
            raise OSError(reply["errno"], reply["error"], reply["path"])
        return reply, bytes(data)

    def close(self) -> None:
        """Hang up, which ends the server."""
        self._end(self._ended or "The sandbox is closed.")

    def _end(self, reason: str) -> None:
        self._ended = reason
        self._connection.close()


class Listener:
    """Waits for a server to call, in a folder that the sandbox shows it."""

    def __init__(self, folder: Path) -> None:
        """Listen on the socket `NAME` in `folder`."""
        self._folder = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Through /proc, as the path of a socket may not be longer than 107 bytes.
        self._socket.bind(f"/proc/self/fd/{self._folder}/{NAME}")
        os.chmod(folder / NAME, 0o666)
        self._socket.listen(1)

    def accept(self, timeout: float, starting: Callable[[], bool]) -> tuple[socket.socket, int] | None:
        """The server's connection and its process id on the host.

        None when nobody called in time, or `starting()` said that nobody is going to.
        """
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if select.select([self._socket], [], [], 0.05)[0]:
                connection, _ = self._socket.accept()
                credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
                return connection, struct.unpack("iII", credentials)[0]
            if not starting():
                return None
        return None

    def close(self) -> None:
        """Listen no more; nobody else can call."""
        self._socket.close()
        with contextlib.suppress(OSError):
            os.unlink(NAME, dir_fd=self._folder)
        os.close(self._folder)
