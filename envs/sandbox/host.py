"""What a bubblewrap sandbox shows of the machine it runs on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

ENV = "/opt/env"
"""Where a root's Python environment lies inside."""

_TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "mime.types", "protocols", "services", "fonts")
_NETWORK_ETC = ("resolv.conf", "hosts", "nsswitch.conf", "ssl", "ca-certificates", "pki", "gai.conf")
PASSWD = (
    "root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:1000:1000::/tmp:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n"
)
GROUP = "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"


def python() -> str:
    """The interpreter that this one's virtual environment, if any, was made from."""
    base: str = getattr(sys, "_base_executable", sys.executable)
    return os.path.realpath(base)


def system_arguments() -> list[str]:
    """bwrap arguments for the read-only system: /usr, the base Python, a few files of /etc."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in _TOP:
        path = f"/{name}"
        if os.path.islink(path):
            arguments += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            arguments += ["--ro-bind", path, path]
    for name in _ETC:
        arguments += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    base = os.path.realpath(sys.base_prefix)
    if not Path(base).is_relative_to("/usr"):
        arguments += ["--ro-bind", base, base]
    for folder in _installed_packages(base):
        arguments += ["--tmpfs", folder, "--remount-ro", folder]
    return arguments


def network_arguments() -> list[str]:
    """bwrap arguments for what a process needs of /etc to use the network."""
    return [word for name in _NETWORK_ETC for word in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")]


def _installed_packages(base: str) -> Iterator[str]:
    """Folders of what happens to be installed for this machine's Pythons.

    They are covered: a sandbox has the packages its environment names and no other, and an installed copy
    of the code under repair would be the answer to its tasks.
    """
    seen = set()
    for lib in (Path(base) / "lib", Path("/usr/lib"), Path("/usr/local/lib")):
        for pattern in ("python3*/site-packages", "python3*/dist-packages"):
            for folder in sorted(lib.glob(pattern)):
                real = os.path.realpath(folder)
                if real not in seen:
                    seen.add(real)
                    yield real
