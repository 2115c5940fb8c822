"""What this machine can do, and what to do about what is missing."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from scienceide.base.paths import cache_dir, home_dir
from scienceide.base.quantities import human_bytes
from scienceide.envs.sandbox import available
from scienceide.envs.sandbox.protocol import Availability
from scienceide.infra import Machine, disk_free, this_machine

Status = Literal["ok", "missing", "optional"]

DISK_WANTED = 10 * 2**30
MEMORY_WANTED = 4 * 2**30

_EXTRAS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "training": (("torch", "transformers", "trl", "peft"), "pip install 'scienceide[train]'"),
    "chat agents": (("openai",), "pip install 'scienceide[chat]'"),
    "JupyterLab": (("jupyterlab", "ipykernel"), "pip install 'scienceide[lab]'"),
}


@dataclass(frozen=True)
class Check:
    """One line of the doctor's table."""

    what: str
    status: Status
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """All checks, and the sandbox that `auto` means here."""

    checks: tuple[Check, ...]
    sandbox: str | None

    @property
    def healthy(self) -> bool:
        """Whether nothing that is needed is missing."""
        return all(check.status != "missing" for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"healthy": self.healthy, "sandbox": self.sandbox, "checks": [asdict(c) for c in self.checks]}


def diagnose() -> Diagnosis:
    """Look at this machine; changes nothing."""
    sandboxes = available()
    machine = this_machine()
    chosen = next((name for name in ("bubblewrap", "docker") if name in sandboxes and sandboxes[name].ok), None)
    checks = (
        *_sandbox_checks(sandboxes, chosen),
        *machine_checks(machine, disk_free(cache_dir())),
        *(_extra_check(what, *extra) for what, extra in _EXTRAS.items()),
        Check("cache", "ok", str(cache_dir())),
        Check("runs", "ok", str(home_dir())),
    )
    return Diagnosis(checks, chosen)


def machine_checks(machine: Machine, disk: int) -> list[Check]:
    """Hardware and compilers."""
    lacking = [c for c in ("gcc", "g++") if c not in machine.compilers]
    compilers = ", ".join(machine.compilers) or "none"
    return [
        Check("machine", "ok", machine.line()),
        Check(
            "compilers",
            "missing" if lacking else "ok",
            compilers,
            "environments with a compiled core need gcc and g++: apt-get install build-essential" if lacking else "",
        ),
        Check(
            "memory",
            "ok" if machine.memory >= MEMORY_WANTED else "missing",
            f"{human_bytes(machine.memory_free)} of {human_bytes(machine.memory)} free",
            "" if machine.memory >= MEMORY_WANTED else f"training wants at least {human_bytes(MEMORY_WANTED)}",
        ),
        Check(
            "disk",
            "ok" if disk >= DISK_WANTED else "missing",
            f"{human_bytes(disk)} free for the cache",
            "" if disk >= DISK_WANTED else f"free {human_bytes(DISK_WANTED - disk)}, or set SCIENCEIDE_CACHE elsewhere",
        ),
        Check(
            "GPU",
            "ok" if machine.gpus else "optional",
            ", ".join(machine.gpus) or "none",
            "" if machine.gpus else "everything runs on the CPU; the larger models need one",
        ),
    ]


def _sandbox_checks(sandboxes: Mapping[str, Availability], chosen: str | None) -> list[Check]:
    """One line per provider; one that works is enough, so the other is then merely optional."""
    checks = []
    for name, state in sandboxes.items():
        status: Status = "ok" if state.ok else ("optional" if chosen else "missing")
        found = ("chosen by auto" if name == chosen else "works") if state.ok else state.reason
        checks.append(Check(f"sandbox: {name}", status, found, state.remedy))
    return checks


def _extra_check(what: str, modules: tuple[str, ...], remedy: str) -> Check:
    lacking = [m for m in modules if importlib.util.find_spec(m) is None]
    if lacking:
        return Check(what, "optional", f"{', '.join(lacking)} not installed", remedy)
    return Check(what, "ok", ", ".join(modules))
