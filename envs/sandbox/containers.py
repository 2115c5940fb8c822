"""One hardened container with a command server in it, ready for any tree."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from scienceide.base.errors import SandboxError
from scienceide.envs.sandbox import engine, host, owner, sweep
from scienceide.envs.sandbox.hands import Hands
from scienceide.envs.sandbox.host_tree import HostTree
from scienceide.envs.sandbox.idmap import Ownership
from scienceide.envs.sandbox.link import NAME, Link, Listener
from scienceide.envs.sandbox.protocol import TREE, SandboxSpec

_START_S = 60.0
_INSIDE = "/.sandbox"
_PROGRAM = (
    "import sys; sys.path.insert(0, '/.sandbox/code'); from inside import service; service.serve(sys.argv[1], False)"
)
_SPARE_MEMORY = 64 * 2**20
_SPARE_TASKS = 16


def options(spec: SandboxSpec, folder: Path, name: str, user: int, group: int) -> dict[str, Any]:
    """Everything the engine is told about a sandbox's container. Pure.

    Args:
        spec: what it is for.
        folder: the sandbox's own folder on the host.
        name: the container's.
        user, group: of server and commands.
    """
    limits = spec.limits
    memory = limits.memory + limits.disk + _SPARE_MEMORY
    return {
        "Image": spec.root.reference,
        "name": name,
        "Cmd": [f"{host.ENV}/bin/python", "-I", "-S", "-c", _PROGRAM, f"{_INSIDE}/link/{NAME}"],
        "Entrypoint": [],
        "User": f"{user}:{group}",
        "WorkingDir": "/",
        "Hostname": "sandbox",
        "Labels": engine.labels(spec.purpose),
        "HostConfig": {
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges:true"],
            "ReadonlyRootfs": True,
            "NetworkMode": "bridge" if spec.network else "none",
            "IpcMode": "private",
            "PidsLimit": limits.processes + _SPARE_TASKS,
            # What is written to the tree and to /tmp lies in memory, too; equal limits mean no swap.
            "Memory": memory,
            "MemorySwap": memory,
            "NanoCPUs": int((os.cpu_count() or 1) * 1e9),
            "Ulimits": [
                {"Name": "core", "Soft": 0, "Hard": 0},
                {"Name": "nofile", "Soft": 4096, "Hard": 4096},
            ],
            # Only the server writes there, and only if it dies.
            "LogConfig": {"Type": "json-file", "Config": {"max-size": "64k", "max-file": "1"}},
            "Mounts": [*_own_mounts(folder), *_asked_mounts(spec)],
        },
    }


def _own_mounts(folder: Path) -> list[dict[str, Any]]:
    code = Path(__file__).parent / "inside"
    shown = [("tree", TREE), ("tmp", "/tmp"), ("shm", "/dev/shm")]
    writable = [_mount(folder / "shared" / name, inside, False, "rslave") for name, inside in shown]
    return [*writable, _mount(code, f"{_INSIDE}/code/inside"), _mount(folder / "link", f"{_INSIDE}/link")]


def _asked_mounts(spec: SandboxSpec) -> list[dict[str, Any]]:
    return [_mount(bind.host, bind.inside, not bind.writable) for bind in spec.binds]


def _mount(source: Path, target: str, read_only: bool = True, propagation: str = "rprivate") -> dict[str, Any]:
    return {
        "Type": "bind",
        "Source": str(source),
        "Target": target,
        "ReadOnly": read_only,
        "BindOptions": {"Propagation": propagation},
    }


class Box:
    """A running container whose server has called, with a place for its tree. Not tied to any layers."""

    def __init__(self, spec: SandboxSpec, ownership: Ownership, hands: Hands) -> None:
        """Start it.

        Raises:
            SandboxError: it did not start; the message says what the engine knows.
        """
        self.served = 0
        self._hands = hands
        self._record = owner.Record(owner.this_process(), "docker", spec.purpose)
        self.folder = owner.new_folder(self._record)
        self.name = f"scienceide-{self.folder.name}"
        self._record = replace(self._record, container=self.name, image=spec.root.reference)
        owner.save(self.folder, self._record)
        try:
            self.tree = HostTree(self.folder, ownership, hands)
            self.link, self.server = self._start(spec, ownership)
        except (OSError, SandboxError) as error:
            self.remove()
            if isinstance(error, OSError):
                raise SandboxError(f"The kernel refused the sandbox's mounts: {error}.") from None
            raise

    def _start(self, spec: SandboxSpec, ownership: Ownership) -> tuple[Link, int]:
        (self.folder / "link").mkdir()
        listener = Listener(self.folder / "link")
        try:
            wanted = options(spec, self.folder, self.name, ownership.user, ownership.group)
            with engine.speaking("start a container"):
                name = wanted.pop("name")
                engine.client().create_container_from_config(wanted, name)
                engine.client().start(name)
            called = listener.accept(_START_S, self._is_running)
        finally:
            listener.close()
        if called is None:
            raise SandboxError(f"The container did not start: {self.evidence() or 'no answer'}.")
        connection, pid = called
        self._record = replace(self._record, inside=owner.identify(pid))
        owner.save(self.folder, self._record)
        return Link(connection, self.evidence), pid

    def _is_running(self) -> bool:
        return bool(engine.state_of(self.name).get("Running"))

    def evidence(self) -> str:
        """What the engine knows of the container's end."""
        return engine.evidence(self.name)

    def clean(self) -> None:
        """Kill everything but the server, and take the tree away with all that was written.

        Raises:
            SandboxError: the server is gone, or something cannot be killed.
        """
        self.link.call("kill")
        self.tree.lift()
        self.served += 1

    def remove(self) -> None:
        """End it; nothing of it is left."""
        link = getattr(self, "link", None)
        if link is not None:
            link.close()
        sweep.remove_remains(self.folder, self._record, self._hands)
