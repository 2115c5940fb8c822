"""The base of Docker roots: Python and compilers on Debian.

In this order: the image that SCIENCEIDE_DOCKER_BASE names; the base made here before; a Python image from
the registry with compilers added; where no registry is reachable, Debian built with debootstrap (root).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from scienceide.base.errors import SandboxError, UserError
from scienceide.base.paths import cache_dir, content_hash
from scienceide.envs.sandbox import engine, images, sweep
from scienceide.envs.sandbox.host_root import tail

VARIABLE = "SCIENCEIDE_DOCKER_BASE"
_PULLED = "python:3.11-slim-bookworm"
_SUITE = "bookworm"
_TOOLS = ("bash", "ca-certificates", "g++", "gcc", "gfortran", "make", "procps")
_PYTHON = ("python3", "python3-dev", "python3-venv")
_BOOTSTRAP_S = 1800


def resolve() -> str:
    """The base image's id.

    Raises:
        UserError: the image that was asked for is not there and cannot be pulled.
        SandboxError: none can be had; the message says what was tried.
    """
    asked = os.environ.get(VARIABLE)
    if asked:
        found = image_id(asked) or _pull(asked)
        if found is None:
            raise UserError(f"The image {asked!r} that {VARIABLE} names is neither here nor can it be pulled.")
        return found
    ours = f"scienceide/base:{content_hash(_PULLED, _SUITE, _TOOLS, _PYTHON)}"
    return image_id(ours) or _make(ours)


def image_id(name: str) -> str | None:
    """The id of an image that the engine has."""
    import docker

    with engine.speaking("look for an image"):
        try:
            found: str = engine.client().inspect_image(name)["Id"]
        except docker.errors.ImageNotFound:
            return None
        return found


def _pull(name: str) -> str | None:
    try:
        with engine.speaking(f"pull {name}"):
            engine.client().pull(*name.split(":", 1)) if ":" in name else engine.client().pull(name, "latest")
    except SandboxError:
        return None
    return image_id(name)


def _make(ours: str) -> str:
    pulled = _pull(_PULLED)
    if pulled is not None:
        log = cache_dir("logs") / "base-image.log"
        install = f"apt-get update -q && apt-get install -y -q --no-install-recommends {' '.join(_TOOLS)}"
        clean = "apt-get clean && rm -rf /var/lib/apt/lists/*"
        images.run_and_commit(pulled, f"{install} && {clean}", log, ours, "")
    else:
        _bootstrap(ours)
    found = image_id(ours)
    if found is None:
        raise SandboxError(f"The Docker engine lost the image {ours} right after making it.")
    return found


def _bootstrap(ours: str) -> None:
    """Make Debian from its packages.

    Raises:
        SandboxError: debootstrap is missing, may not run, or fails.
    """
    program = shutil.which("debootstrap") or "/usr/sbin/debootstrap"
    if os.geteuid() != 0 or not os.path.exists(program):
        raise SandboxError(
            f"No base image can be had: {_PULLED} cannot be pulled, and making one needs debootstrap and root. "
            f"Set {VARIABLE} to an image with python3 (and venv), gcc and make, or install debootstrap."
        )
    log = cache_dir("logs") / "base-image.log"
    scratch = Path(tempfile.mkdtemp(dir=cache_dir("roots"), prefix=".debian-"))
    root = scratch / "root"
    try:
        with log.open("wb") as stream:
            made = subprocess.run(
                [program, "--variant=minbase", f"--include={','.join((*_TOOLS, *_PYTHON))}", _SUITE, str(root)],
                stdout=stream,
                stderr=stream,
                stdin=subprocess.DEVNULL,
                check=False,
                timeout=_BOOTSTRAP_S,
            )
        if made.returncode != 0:
            raise SandboxError(f"debootstrap could not make a base image. {tail(log)}")
        shutil.rmtree(root / "var/cache/apt", ignore_errors=True)
        shutil.rmtree(root / "var/lib/apt/lists", ignore_errors=True)
        _import(root, ours)
    finally:
        # debootstrap leaves /proc mounted in there.
        sweep.remove_folder(scratch)


def _import(root: Path, ours: str) -> None:
    repository, _, tag = ours.partition(":")
    archive = subprocess.Popen(["tar", "--one-file-system", "-C", str(root), "-c", "."], stdout=subprocess.PIPE)
    try:
        with engine.speaking("import an image"):
            engine.client().import_image_from_stream(archive.stdout, repository=repository, tag=tag)
    finally:
        archive.terminate()
        archive.wait()
