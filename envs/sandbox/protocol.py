"""What a sandbox is: an isolated machine for one tree of code, that starts and resets in milliseconds.

A sandbox shows three things to the code inside: a read-only system (the root), the *tree* at
`/work`, laid copy-on-write over read-only layers, and `/tmp`. There is no network unless asked for,
and nothing inside can outlive `close()`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

TREE = "/work"
"""Where the copy-on-write tree lies inside every sandbox."""

KilledBy = Literal["wall", "cpu", "memory", "processes", "output"]


@dataclass(frozen=True)
class Limits:
    """What a sandbox, or one command in it, may use. Bytes and seconds."""

    memory: int = 2 * 2**30
    """Of all processes together; files in the tree and in /tmp lie in memory, too, and count as disk."""
    processes: int = 128
    disk: int = 2**30
    """What may be written to the tree, /tmp and /dev/shm together."""
    cpu_s: float = 120.0
    wall_s: float = 300.0
    output: int = 64 * 1024
    """Bytes of a command's output that are kept: the first half and the last half of this many.

    A command that prints more than 1 GiB in all is stopped.
    """


@dataclass(frozen=True)
class Bind:
    """A host folder or file shown inside; read-only unless said otherwise."""

    host: Path
    inside: str
    writable: bool = False


@dataclass(frozen=True)
class SandboxSpec:
    """All that decides what a sandbox contains. Equal specs are interchangeable."""

    root: Root
    layers: tuple[Path, ...] = ()
    """Read-only folders that make up the tree, topmost first (overlay semantics, whiteouts included)."""
    binds: tuple[Bind, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    network: bool = False
    purpose: str = "episode"
    """A word for labels and logs: episode, verify, build."""


@dataclass(frozen=True)
class Root:
    """The read-only system a sandbox runs on, made by a provider's `prepare_root`."""

    provider: str
    identity: str
    """Content address: the same string means the same system."""
    reference: str
    """What the provider needs to use it: a folder (bubblewrap) or an image id (Docker)."""


@dataclass(frozen=True)
class CommandResult:
    """What came of one command. `exit_code` is None when it was killed by a limit."""

    exit_code: int | None
    output: bytes
    """stdout and stderr interleaved, cut in the middle when longer than the limit."""
    bytes_cut: int = 0
    killed_by: KilledBy | None = None
    cpu_s: float = 0.0
    wall_s: float = 0.0

    @property
    def text(self) -> str:
        """The output as text, with a note where it was cut."""
        return self.output.decode("utf-8", "replace")


@dataclass(frozen=True)
class Change:
    """One path of the tree that differs from its layers."""

    path: str
    """Relative to the tree, POSIX separators."""
    kind: Literal["file", "deleted", "symlink", "other"]
    size: int = 0


@runtime_checkable
class Sandbox(Protocol):
    """One isolated tree. Not safe for use by two threads at once; many sandboxes are."""

    spec: SandboxSpec

    def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: str = TREE,
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        limits: Limits | None = None,
    ) -> CommandResult:
        """Run a shell line (`str`, by bash where the root has one, else sh) or an argument vector.

        The command and all it started are gone when this returns, whatever they did.

        Raises:
            SandboxError: the sandbox itself failed; what the command does never raises.
        """

    def write(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Put a file, making folders as needed; relative paths lie in the tree.

        Raises:
            OSError: the path cannot be written inside (read-only, a folder, no space).
        """

    def read(self, path: str, limit: int = 64 * 2**20) -> bytes:
        """A regular file's bytes, at most `limit`; symbolic links are not followed.

        Raises:
            OSError: there is no such regular file, or it is larger.
        """

    def changes(self) -> list[Change]:
        """What in the tree differs from its layers, sorted by path."""

    def export(self, folder: Path, *, only_changes: bool = False) -> None:
        """Copy the tree as it now stands into an empty host folder, usable as a layer afterwards.

        Modification times (to the nanosecond), modes and symbolic links are kept: incremental builds
        depend on them. `only_changes` copies new and modified files alone.
        """

    def reset(self, layers: tuple[Path, ...] | None = None) -> None:
        """Kill everything inside and return to pristine; with `layers`, to that tree instead.

        Costs the same however large the tree is.
        """

    def close(self) -> None:
        """End it. Idempotent; afterwards no process, mount or file of it is left."""


@dataclass(frozen=True)
class Availability:
    """Whether a provider can work here, and if not, why and what to do."""

    ok: bool
    reason: str = ""
    remedy: str = ""


@runtime_checkable
class Provider(Protocol):
    """Makes sandboxes of one kind."""

    name: str

    def availability(self) -> Availability:
        """Whether this machine can run it; cheap, no side effects that last."""

    def prepare_root(
        self,
        *,
        base: str = "python",
        system: Sequence[str] = (),
        requirements: Sequence[str] = (),
        index_cutoff: str | None = None,
    ) -> Root:
        """The read-only system with these packages, built once and cached by content.

        Python of the root is `python` on PATH inside, with `requirements` importable.

        Args:
            base: a named base; `python` is the one there is.
            system: Debian packages; Docker installs them, bubblewrap shows this machine as it is.
            requirements: for pip, which reaches the same index as pip on this machine.
            index_cutoff: a day; later uploads are not taken, where the index tells when files were uploaded.

        Raises:
            UserError: a package does not exist or does not install; the message ends with the log's path.
        """

    def acquire(self, spec: SandboxSpec) -> Sandbox:
        """A pristine sandbox, from the warm pool where one fits.

        Raises:
            SandboxError: none could be started; the message says what to do.
        """

    def close(self) -> None:
        """End all sandboxes and spares of this provider object."""
