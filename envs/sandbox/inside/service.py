"""The server's loop: one request, one answer, until the host hangs up."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any

from . import entering, files, kernel, mounts, processes, tree, wire
from .commands import LinkLost, Runner
from .starting import Command, Unconfined

_MOST_BODY = 2**33
_EXPORTED = f"{entering.PRIVATE}/exchange/tree"
STAGE = mounts.Stage(private=entering.PRIVATE, tree=files.TREE, tmp="/tmp", shm="/dev/shm")


class Service:
    """Answers requests."""

    def __init__(self, link: socket.socket, mounts_itself: bool) -> None:
        """`mounts_itself`: this server lays the tree; otherwise the host does."""
        self.link = link
        self.mounts_itself = mounts_itself
        self.runner = Runner(link.fileno())
        self.disk = 0

    def answer(self, request: dict[str, Any], body: bytearray) -> None:
        """Do what is asked and send the answer; a failed file operation is an answer too."""
        try:
            getattr(self, f"_op_{request['op']}")(request, body)
        except OSError as error:
            self._reply({"errno": error.errno, "error": error.strerror or str(error), "path": error.filename})

    def prepare(self) -> None:
        """Between requests: make the next command's process ready."""
        if self.runner.view is not None or not self.mounts_itself:
            self.runner.prepare()

    def _reply(self, header: dict[str, Any], body: bytes = b"") -> None:
        wire.send(self.link, header, body)

    def _op_ping(self, request: dict[str, Any], body: bytearray) -> None:
        self._reply({})

    def _op_run(self, request: dict[str, Any], body: bytearray) -> None:
        if self.mounts_itself and request["disk"] > self.disk:
            self.disk = request["disk"]
            mounts.resize(STAGE, self.disk)
        argv = self.runner.argv(request.pop("command"))
        del request["op"]
        result, output = self.runner.run(Command(argv=argv, stdin=bytes(body), **request))
        self._reply(result, output)

    def _op_write(self, request: dict[str, Any], body: bytearray) -> None:
        def work() -> None:
            files.write(request["path"], body, request["mode"])
            self._reply({})

        self._as_command(work)

    def _op_read(self, request: dict[str, Any], body: bytearray) -> None:
        def work() -> None:
            self._reply({}, files.read(request["path"], request["limit"]))

        self._as_command(work)

    def _as_command(self, work: Any) -> None:
        """A server with powers of its own must not lend them to a path that an agent may have prepared."""

        def answered() -> None:
            try:
                work()
            except OSError as error:
                self._reply({"errno": error.errno, "error": error.strerror or str(error), "path": error.filename})

        if self.runner.view is None:
            answered()
            return
        try:
            entering.in_child(self.runner.view, answered)
        except OSError as error:
            raise Unconfined(str(error)) from None

    def _op_changes(self, request: dict[str, Any], body: bytearray) -> None:
        self._reply({"changes": tree.changes(STAGE.upper, STAGE.pristine)})

    def _op_export(self, request: dict[str, Any], body: bytearray) -> None:
        os.mkdir(_EXPORTED)
        tree.copy(STAGE.tree, _EXPORTED, self._changed() if request["only_changes"] else None)
        self._reply({})

    def _changed(self) -> list[str]:
        kept = ("file", "symlink")
        return [c["path"] for c in tree.changes(STAGE.upper, STAGE.pristine) if c["kind"] in kept]

    def _op_kill(self, request: dict[str, Any], body: bytearray) -> None:
        self.runner.end_all(processes.Account())
        self._reply({})

    def _op_lay(self, request: dict[str, Any], body: bytearray) -> None:
        self.runner.end_all(processes.Account())
        if self.runner.view is not None:
            self.runner.view.close()
            self.runner.view = None
        mounts.lift(STAGE)
        self.disk = request["disk"]
        layers = [f"{entering.PRIVATE}/layers/{number}" for number in request["layers"]]
        mounts.lay(STAGE, layers, self.disk, (os.getuid(), os.getgid()))
        self.runner.view = entering.View()
        self._reply({})


def serve(socket_path: str, mounts_itself: bool) -> None:
    """Connect to the host and answer until it hangs up. Returning ends the sandbox, as this is process 1."""
    kernel.hide_process()
    if mounts_itself:
        kernel.unshare(kernel.CLONE_NEWNS)
        kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
        _refuse_user_namespaces()
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect(socket_path)
    wire.widen(link)
    service = Service(link, mounts_itself)
    try:
        while True:
            request, body = wire.receive(link, _MOST_BODY)
            service.answer(request, body)
            service.prepare()
    except (wire.Closed, LinkLost):
        return
    except processes.Undying:
        sys.exit("some processes could not be killed")
    except Unconfined as error:
        sys.exit(f"a command could not be isolated: {error}")


def _refuse_user_namespaces() -> None:
    """In a namespace of its own a process would hold capabilities again. Not every kernel lets us say so."""
    try:
        with open("/proc/sys/user/max_user_namespaces", "w") as stream:
            stream.write("0")
    except OSError as error:
        print(f"nested user namespaces stay possible: {error}", file=sys.stderr)
