"""Who mounts for Docker sandboxes: this process where it is root, else a helper container.

Whoever may use the Docker engine may be root through it. The helper makes use of that for nothing but the
operations of `inside.hosting`, and ends when its owner hangs up or dies.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from scienceide.base.errors import SandboxError
from scienceide.envs.sandbox import engine, host, owner, sweep
from scienceide.envs.sandbox.inside import hosting
from scienceide.envs.sandbox.link import NAME, Link, Listener

_START_S = 60.0
_CAPABILITIES = (
    "SYS_ADMIN",  # to mount, and with the next two to enter this machine's mount namespace
    "SYS_CHROOT",
    "SYS_PTRACE",
    "DAC_OVERRIDE",  # to reach and to copy the user's folders
    "CHOWN",
    "FOWNER",
)
_INSIDE = "/.sandbox"
_PROGRAM = (
    "import sys; sys.path.insert(0, '/.sandbox/code'); from inside import hosting; "
    "hosting.serve(sys.argv[1], int(sys.argv[2]))"
)


class Hands(Protocol):
    """Does the operations of `inside.hosting`."""

    def do(self, operation: str, **fields: Any) -> Any:
        """One of them.

        Raises:
            OSError: the kernel refused.
            SandboxError: the helper is gone.
        """

    def close(self) -> None:
        """No more is to be done."""


class OwnHands:
    """For root."""

    def do(self, operation: str, **fields: Any) -> Any:
        """As the protocol says."""
        return hosting.OPERATIONS[operation](**fields)

    def close(self) -> None:
        """As the protocol says."""


class HelperHands:
    """For everybody else: a container of root that mounts in this process's own namespace."""

    def __init__(self, image: str) -> None:
        """Start it from an image with our Python.

        Raises:
            SandboxError: it did not start.
        """
        self._lock = threading.Lock()
        record = owner.Record(owner.this_process(), "docker", "helper")
        self._folder = owner.new_folder(record)
        self._record = replace(record, container=f"scienceide-{self._folder.name}", image=image)
        owner.save(self._folder, self._record)
        listener = Listener(self._folder)
        try:
            with engine.speaking("start the mounting helper"):
                engine.client().create_container_from_config(options(image, self._folder), self._record.container)
                engine.client().start(self._record.container)
            called = listener.accept(_START_S, lambda: bool(engine.state_of(self._record.container).get("Running")))
        except SandboxError:
            sweep.remove_remains(self._folder, self._record)
            raise
        finally:
            listener.close()
        if called is None:
            sweep.remove_remains(self._folder, self._record)
            raise SandboxError("The mounting helper's container did not start.")
        self._link = Link(called[0], lambda: engine.evidence(self._record.container))

    def do(self, operation: str, **fields: Any) -> Any:
        """As the protocol says."""
        with self._lock:
            return self._link.call(operation, timeout=600.0, **fields)[0]["result"]

    def close(self) -> None:
        """As the protocol says."""
        self._link.close()
        sweep.remove_remains(self._folder, self._record)


def options(image: str, folder: Path) -> dict[str, Any]:
    """What the engine is told about the helper's container."""
    code = Path(__file__).parent / "inside"
    shown = [(code, f"{_INSIDE}/code/inside"), (folder, f"{_INSIDE}/link")]
    return {
        "Image": image,
        "Cmd": [f"{host.ENV}/bin/python", "-I", "-S", "-c", _PROGRAM, f"{_INSIDE}/link/{NAME}", str(os.getpid())],
        "Entrypoint": [],
        "User": "0:0",
        "Labels": engine.labels("helper"),
        "HostConfig": {
            "CapDrop": ["ALL"],
            "CapAdd": list(_CAPABILITIES),
            "SecurityOpt": ["seccomp=unconfined", "apparmor=unconfined"],
            "PidMode": "host",
            "NetworkMode": "none",
            "ReadonlyRootfs": True,
            "Mounts": [{"Type": "bind", "Source": str(a), "Target": b, "ReadOnly": True} for a, b in shown],
        },
    }


def hands(image: str) -> Hands:
    """What this process needs: `image` is for the helper."""
    return OwnHands() if os.geteuid() == 0 else HelperHands(image)
