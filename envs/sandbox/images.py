"""The roots of Docker sandboxes: images made once from a base, Debian packages and Python requirements.

An image is made by running a container of the base on the host's network and committing it. How pip on
this machine reaches its index is shown to that container on a tmpfs, so that nothing of it is committed.
"""

from __future__ import annotations

import contextlib
import fcntl
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from scienceide.base.errors import SandboxError, UserError
from scienceide.base.paths import cache_dir, content_hash
from scienceide.envs.sandbox import base_image, engine, host, packages
from scienceide.envs.sandbox.host_root import tail
from scienceide.envs.sandbox.protocol import Root

_RECIPE = 1
"""Counts up when the way an image is made changes."""
_REPOSITORY = "scienceide/root"
_BUILD_S = 3600
_SHOWN = "/mnt/host"


def prepare(*, base: str, system: Sequence[str], requirements: Sequence[str], index_cutoff: str | None) -> Root:
    """Make the image, once.

    Raises:
        UserError: an unknown base, or a package that does not install.
        SandboxError: there is no engine, or no base image can be had.
    """
    if base != "python":
        raise UserError(f"No base named {base!r} for Docker; known: python.")
    below = base_image.resolve()
    identity = identity_of(below, system, requirements, index_cutoff)
    tag = f"{_REPOSITORY}:{identity}"
    if (found := base_image.image_id(tag)) is not None:
        return Root("docker", identity, found)
    log = cache_dir("logs") / f"root-{identity}.log"
    with _one_at_a_time(identity):
        if base_image.image_id(tag) is None:
            run_and_commit(below, script(system, requirements, index_cutoff), log, tag, _blame(system, requirements))
    made = base_image.image_id(tag)
    if made is None:
        raise SandboxError(f"The Docker engine lost the image {tag} right after making it.")
    return Root("docker", identity, made)


def identity_of(below: str, system: Sequence[str], requirements: Sequence[str], cutoff: str | None) -> str:
    """Content address of an image made from the image `below`."""
    return content_hash(_RECIPE, below, sorted(system), sorted(requirements), cutoff)


@contextlib.contextmanager
def _one_at_a_time(identity: str) -> Iterator[None]:
    """Other processes that want the same image wait until it is there."""
    with open(cache_dir("roots") / f".image-{identity}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _blame(system: Sequence[str], requirements: Sequence[str]) -> str:
    wanted = ", ".join((*system, *requirements))
    return f"The packages {wanted} do not install." if wanted else ""


def script(system: Sequence[str], requirements: Sequence[str], cutoff: str | None) -> str:
    """The shell script that turns a base into a root. Pure."""
    lines = ["set -e", "export DEBIAN_FRONTEND=noninteractive"]
    if system:
        lines += ["apt-get update -q", f"apt-get install -y -q --no-install-recommends -- {shlex.join(sorted(system))}"]
        lines += ["apt-get clean", "rm -rf /var/lib/apt/lists/*"]
    lines += [f"python3 -I -m venv {host.ENV}"]
    lines += [shlex.join(step) for step in packages.pip_steps(requirements, cutoff)]
    lines += ["grep -q ^agent: /etc/passwd || echo 'agent:x:1000:1000::/tmp:/bin/sh' >> /etc/passwd"]
    lines += ["grep -q ^agent: /etc/group || echo 'agent:x:1000:' >> /etc/group"]
    lines += ["mkdir -p /work /.sandbox/code/inside /.sandbox/link", "rm -rf /root/.cache /tmp/* /var/tmp/*"]
    return "\n".join(lines)


def relocated(access: packages.IndexAccess) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """The way to the package index with every path below `_SHOWN`, and the mounts that make it so. Pure."""
    moved = {str(path): f"{_SHOWN}{path}" for path in access.paths}
    environment = {key: " ".join(_moved(w, moved) for w in value.split()) for key, value in access.environment.items()}
    mounts: list[dict[str, Any]] = [{"Type": "tmpfs", "Target": "/mnt"}]
    mounts += [{"Type": "bind", "Source": a, "Target": b, "ReadOnly": True} for a, b in sorted(moved.items())]
    return environment, mounts


def _moved(word: str, moved: Mapping[str, str]) -> str:
    scheme = "file://" if word.startswith("file://") else ""
    path = word.removeprefix(scheme)
    parents = [path, *map(str, PurePosixPath(path).parents)] if path.startswith("/") else []
    return f"{scheme}{_SHOWN}{path}" if any(parent in moved for parent in parents) else word


def run_and_commit(below: str, commands: str, log: Path, tag: str, blame: str) -> None:
    """Run a script as root in a container of the image `below`, then keep the result as `tag`.

    Raises:
        UserError: the script failed and there are packages to blame (`blame`).
        SandboxError: it failed otherwise.
    """
    environment, mounts = relocated(packages.index_access())
    name = f"scienceide-build-{secrets.token_hex(8)}"
    wanted = {
        "Image": below,
        "Cmd": ["/bin/sh", "-c", commands],
        "Entrypoint": [],
        "User": "0:0",
        "Env": [f"{key}={value}" for key, value in {"LANG": "C.UTF-8", **environment}.items()],
        "Labels": engine.labels("build"),
        "HostConfig": {"NetworkMode": "host", "Mounts": mounts},
    }
    try:
        with engine.speaking("build an image"):
            client = engine.client()
            client.create_container_from_config(wanted, name)
            client.start(name)
            code = _wait(client, name, log)
            if code == 0:
                repository, _, version = tag.partition(":")
                client.commit(
                    name, repository, version, conf={"Env": [], "Cmd": None, "Labels": {engine.LABEL: "root"}}
                )
    finally:
        with contextlib.suppress(SandboxError):
            engine.remove_container(name)
    if code != 0:
        raise (UserError if blame else SandboxError)(f"{blame or 'The base image cannot be used.'} {tail(log)}")


def _wait(client: Any, name: str, log: Path) -> int:
    """Follow a container's output into the log until it ends."""
    with log.open("wb") as stream:
        for block in client.logs(name, stream=True, follow=True):
            stream.write(block)
            stream.flush()
    status: int = client.wait(name, timeout=_BUILD_S)["StatusCode"]
    return status
