"""The Docker engine, through its own SDK, which is imported only when it is used."""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Iterator
from typing import Any

from scienceide.base.errors import SandboxError
from scienceide.envs.sandbox import owner
from scienceide.envs.sandbox.protocol import Availability

LABEL = "scienceide"
_TIMEOUT_S = 120
_NOTICED_S = 3.0


@functools.cache
def client() -> Any:
    """The SDK's low-level client for the engine that the environment names (DOCKER_HOST and so on).

    Raises:
        SandboxError: there is no SDK or no engine; the message says what to do.
    """
    state, made = _connect()
    if made is None:
        raise SandboxError(f"Docker cannot be used here: {state.reason}; {state.remedy}.")
    return made


def availability() -> Availability:
    """Whether an engine answers that can run our sandboxes."""
    return _connect()[0]


def _connect() -> tuple[Availability, Any]:
    try:
        import docker
        import requests
    except ImportError:
        return Availability(False, "the docker SDK is not installed", "pip install 'scienceide[docker]'"), None
    if sys.platform != "linux":
        return Availability(False, "Docker sandboxes need an engine on this same Linux machine", "run on Linux"), None
    try:
        made = docker.APIClient(**docker.utils.kwargs_from_env(), version="auto", timeout=_TIMEOUT_S)
        kind = made.info().get("OSType")
    except (docker.errors.DockerException, requests.RequestException) as error:
        return _explain(str(error)), None
    if kind != "linux":
        return Availability(False, f"the Docker engine runs {kind} containers", "switch it to Linux containers"), None
    return Availability(True), made


def _explain(message: str) -> Availability:
    if "Permission denied" in message:
        return Availability(
            False, "this user may not talk to the Docker engine", "add the user to the group docker and log in again"
        )
    return Availability(False, "no Docker engine answers", "install Docker Engine (docker.io) and start dockerd")


@contextlib.contextmanager
def speaking(doing: str) -> Iterator[None]:
    """Turn what the SDK raises into one sentence.

    Raises:
        SandboxError: the engine refused, or does not answer.
    """
    import docker
    import requests

    try:
        yield
    except docker.errors.APIError as error:
        raise SandboxError(f"The Docker engine refused to {doing}: {error.explanation or error}.") from None
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise SandboxError(f"The Docker engine did not answer while it was to {doing}: {error}.") from None


def remove_container(name: str) -> None:
    """Kill and remove a container; one that is gone already is fine.

    Raises:
        SandboxError: the engine refused or does not answer.
    """
    import docker

    with speaking("remove a container"), contextlib.suppress(docker.errors.NotFound):
        try:
            client().remove_container(name, force=True, v=True)
        except docker.errors.APIError as error:
            # Somebody else is removing it at this moment.
            if error.status_code != 409:
                raise


def state_of(container: str) -> dict[str, Any]:
    """A container's state as the engine tells it; empty when the container is gone."""
    import docker

    with speaking("inspect a container"):
        try:
            state: dict[str, Any] = client().inspect_container(container)["State"]
        except docker.errors.NotFound:
            return {}
        return state


def evidence(container: str) -> str:
    """What is known of a container's end: how it ended, and its last words."""
    with contextlib.suppress(SandboxError):
        state = state_of(container)
        deadline = time.monotonic() + _NOTICED_S
        while state.get("Running") and time.monotonic() < deadline:
            # A busy engine takes a moment to notice that its container has ended.
            time.sleep(0.1)
            state = state_of(container)
        if not state:
            return "the container is gone"
        with speaking("read a log"):
            text = client().logs(container, tail=3).decode("utf-8", "replace")
        parts = [] if state["Running"] else [f"the container ended with {state['ExitCode']}"]
        parts += ["it ran out of memory"] if state["OOMKilled"] else []
        return "; ".join([*parts, *([state["Error"]] if state["Error"] else []), *text.splitlines()])
    return "the Docker engine does not answer"


def labels(purpose: str) -> dict[str, str]:
    """What every container of ours carries: who owns it, by process, start time and boot."""
    process = owner.this_process()
    return {
        LABEL: purpose,
        f"{LABEL}.pid": str(process.pid),
        f"{LABEL}.start": str(process.start),
        f"{LABEL}.boot": process.boot,
    }


def sweep_containers() -> int:
    """Remove containers of ours whose owner is dead, even where its record is lost."""
    with speaking("list containers"):
        found = client().containers(all=True, filters={"label": f"{LABEL}.pid"})
    count = 0
    for container in found:
        said = container["Labels"]
        process = owner.Process(int(said[f"{LABEL}.pid"]), int(said[f"{LABEL}.start"]), said[f"{LABEL}.boot"])
        if not process.alive:
            remove_container(container["Id"])
            count += 1
    return count
