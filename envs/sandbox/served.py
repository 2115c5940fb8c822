"""What all sandboxes with a command server have in common."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from scienceide.base.errors import SandboxError
from scienceide.envs.sandbox import cgroups
from scienceide.envs.sandbox.link import Link
from scienceide.envs.sandbox.protocol import TREE, Change, CommandResult, Limits, SandboxSpec

ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/opt/env/bin:/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "USER": "agent",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}
"""The same run gives the same result: one thread, one locale, one time zone, one hash seed."""

_GRACE_S = 60.0
_FRAME = 2**16
_KILLED = 128 + 9


class ServedSandbox:
    """The part of a sandbox that its command server does."""

    def __init__(self, spec: SandboxSpec, link: Link, server: int) -> None:
        """Take over a connected server, whose process id on this machine is `server`."""
        self.spec = spec
        self._link = link
        self._roomy = spec.limits
        self._memory_group = cgroups.memory_group(server)
        self._memory_kills = cgroups.out_of_memory_kills(self._memory_group)

    def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str = TREE,
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        limits: Limits | None = None,
    ) -> CommandResult:
        """As the protocol says."""
        limits = limits or self.spec.limits
        request = {
            "command": command if isinstance(command, str) else list(command),
            "cwd": os.path.join(TREE, cwd),
            "environment": {**ENVIRONMENT, **self.spec.environment, **(environment or {})},
            "memory": limits.memory,
            "processes": limits.processes,
            "disk": limits.disk,
            "cpu_s": limits.cpu_s,
            "wall_s": limits.wall_s,
            "output": limits.output,
        }
        self._make_room(limits)
        try:
            reply, output = self._link.call(
                "run", stdin, timeout=limits.wall_s + _GRACE_S, most=limits.output + _FRAME, **request
            )
        except OSError as error:
            raise SandboxError(f"The sandbox could not start a command: {error}.") from None
        return self._explained(CommandResult(output=output, **reply))

    def _make_room(self, limits: Limits) -> None:
        """Before a command that may use more than the sandbox is bounded to."""
        now = self._roomy
        if limits.memory > now.memory or limits.processes > now.processes or limits.disk > now.disk:
            self._roomy = replace(
                now,
                memory=max(now.memory, limits.memory),
                processes=max(now.processes, limits.processes),
                disk=max(now.disk, limits.disk),
            )
            self._bound(self._roomy)

    def _bound(self, limits: Limits) -> None:
        """Set the kernel's bounds on the whole sandbox."""
        raise NotImplementedError

    def _explained(self, result: CommandResult) -> CommandResult:
        """Whether it was the kernel that killed a command, because the sandbox's memory was used up."""
        if result.exit_code != _KILLED:
            return result
        before, self._memory_kills = self._memory_kills, cgroups.out_of_memory_kills(self._memory_group)
        return replace(result, exit_code=None, killed_by="memory") if self._memory_kills > before else result

    def write(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """As the protocol says."""
        self._link.call("write", data, path=path, mode=mode)

    def read(self, path: str, limit: int = 64 * 2**20) -> bytes:
        """As the protocol says."""
        return self._link.call("read", most=limit, path=path, limit=limit)[1]


def changes_of(found: Sequence[Mapping[str, Any]]) -> list[Change]:
    """The server's words for changes, as values."""
    return [Change(**change) for change in found]


def move_tree(made: Path, folder: Path) -> None:
    """Move an exported tree's contents into an existing empty folder, keeping all times."""
    for entry in sorted(os.listdir(made)):
        shutil.move(made / entry, folder / entry)
    shutil.copystat(made, folder)
