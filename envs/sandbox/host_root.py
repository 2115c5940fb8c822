"""The root of bubblewrap sandboxes: this machine's system, and a Python environment made for it.

The environment is made inside a sandbox (with network), so that its paths are right there and what a
package does while it installs cannot reach this machine.
"""

from __future__ import annotations

import logging
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scienceide.base.errors import SandboxError, UserError
from scienceide.base.paths import building, cache_dir, content_hash
from scienceide.envs.sandbox import host, packages
from scienceide.envs.sandbox.protocol import Root

_RECIPE = 1
"""Counts up when the way a root is made changes."""
_INSTALL_S = 3600
_LAST_LINES = 12
_log = logging.getLogger(__name__)


def identity_of(requirements: Sequence[str], cutoff: str | None) -> str:
    """Content address of a root: what decides its contents, as far as it can be known beforehand."""
    system = Path("/etc/os-release")
    compiler = shutil.which("cc")
    return content_hash(
        _RECIPE,
        sys.version,
        host.python(),
        platform.machine(),
        system.read_text() if system.exists() else platform.platform(),
        Path(compiler).resolve().name if compiler else "no compiler",
        sorted(requirements),
        cutoff,
    )


def prepare(
    bwrap: str, *, base: str, system: Sequence[str], requirements: Sequence[str], index_cutoff: str | None
) -> Root:
    """Make the environment folder, once.

    Raises:
        UserError: an unknown base, or a package that does not install.
        SandboxError: not even an empty environment can be made.
    """
    if base != "python":
        raise UserError(f"No base named {base!r} for bubblewrap; known: python.")
    if system:
        _log.info("bubblewrap uses this machine's own system; not installing %s", ", ".join(system))
    identity = identity_of(requirements, index_cutoff)
    final = cache_dir("roots") / identity
    log = cache_dir("logs") / f"root-{identity}.log"
    with building(final) as scratch:
        if scratch is not None:
            _make_environment(bwrap, scratch, log)
            _install(bwrap, scratch, log, requirements, index_cutoff)
    return Root("bubblewrap", identity, str(final))


def _make_environment(bwrap: str, folder: Path, log: Path) -> None:
    log.write_bytes(b"")
    code = _run_inside(bwrap, folder, log, [host.python(), "-I", "-m", "venv", host.ENV], packages.IndexAccess({}, ()))
    if code != 0:
        raise SandboxError(f"No Python environment can be made here; is the venv module installed? {tail(log)}")


def _install(bwrap: str, folder: Path, log: Path, requirements: Sequence[str], cutoff: str | None) -> None:
    steps = packages.pip_steps(requirements, cutoff)
    access = packages.index_access() if steps else packages.IndexAccess({}, ())
    for step in steps:
        if _run_inside(bwrap, folder, log, step, access) != 0:
            raise UserError(f"The requirements {', '.join(requirements)} do not install. {tail(log)}")


def tail(log: Path) -> str:
    """The last lines of a log and where it lies, for the end of an error's sentence."""
    lines = log.read_text(errors="replace").rstrip().splitlines()[-_LAST_LINES:]
    return "The log ends:\n" + "".join(f"  {line}\n" for line in lines) + f"Whole log: {log}"


def _run_inside(bwrap: str, folder: Path, log: Path, command: Sequence[str], access: packages.IndexAccess) -> int:
    words = [bwrap, "--unshare-all", "--share-net", "--die-with-parent", "--new-session", "--clearenv"]
    words += ["--cap-drop", "ALL", *host.system_arguments(), *host.network_arguments()]
    # /proc read-only: to the kernel, the user inside may be the host's root, who owns the settings in it.
    words += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    words += ["--bind", str(folder), host.ENV]
    for path in access.paths:
        words += ["--ro-bind", str(path), str(path)]
    environment = {"PATH": f"{host.ENV}/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", **access.environment}
    words += [word for key, value in environment.items() for word in ("--setenv", key, value)]
    try:
        with log.open("ab") as stream:
            return subprocess.run(
                [*words, *command],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                timeout=_INSTALL_S,
            ).returncode
    except subprocess.TimeoutExpired:
        raise SandboxError(f"{' '.join(command[:4])} … took longer than {_INSTALL_S} s. {tail(log)}") from None
