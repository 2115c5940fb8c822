"""Sandboxes: isolated machines for one tree of code. See `protocol` for what they promise."""

from __future__ import annotations

from scienceide.base.errors import SandboxError, unknown
from scienceide.envs.sandbox import check, engine
from scienceide.envs.sandbox.protocol import Availability, Provider

__all__ = ["available", "provider"]

_PREFERRED = ("bubblewrap", "docker")


def available() -> dict[str, Availability]:
    """Every kind of sandbox, and whether it works on this machine."""
    return {"bubblewrap": check.bubblewrap(), "docker": engine.availability()}


def provider(name: str = "auto") -> Provider:
    """What makes sandboxes of the kind `name`.

    Args:
        name: `auto` (bubblewrap where it works, else Docker), `bubblewrap` or `docker`.

    Raises:
        UserError: there is no such kind.
        SandboxError: it does not work on this machine; the message says what to do.
    """
    kinds = available()
    if name == "auto":
        name = next((kind for kind in _PREFERRED if kinds[kind].ok), "")
        if not name:
            ways = "; ".join(f"{kind}: {state.reason} ({state.remedy})" for kind, state in kinds.items())
            raise SandboxError(f"No sandbox can be had on this machine. {ways}.")
    if name not in kinds:
        raise unknown("sandbox", name, ["auto", *kinds])
    state = kinds[name]
    if not state.ok:
        raise SandboxError(f"{name} sandboxes cannot be had here: {state.reason}; {state.remedy}.")
    if name == "docker":
        from scienceide.envs.sandbox.docker_provider import DockerProvider

        return DockerProvider()
    from scienceide.envs.sandbox.bubblewrap import BubblewrapProvider

    return BubblewrapProvider()
