"""Sandboxes by bubblewrap: no daemon and no root needed, up in tens of milliseconds.

bwrap makes the namespaces and shows the read-only system; the command server inside, alone with its
capabilities over them, mounts the tree and starts commands without any.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from scienceide.base.errors import SandboxError
from scienceide.envs.sandbox import cgroups, check, host, host_root, owner, sweep
from scienceide.envs.sandbox.link import NAME, Link, Listener
from scienceide.envs.sandbox.protocol import Availability, Bind, Change, Limits, Root, SandboxSpec
from scienceide.envs.sandbox.served import ServedSandbox, changes_of, move_tree
from scienceide.envs.sandbox.watchdog import Watchdog

_START_S = 30.0
_END_S = 10.0
_INSIDE = "/.sandbox"
_CAPABILITIES = (
    "CAP_SYS_ADMIN",  # to mount the tree
    "CAP_SYS_CHROOT",  # to enter the mounts that commands see
    "CAP_SYS_RESOURCE",  # to refuse nested user namespaces
    "CAP_DAC_OVERRIDE",  # to export files that a command made unreadable
    "CAP_FOWNER",
    "CAP_SETPCAP",  # to take even the possibility of capabilities from commands
)
_PROGRAM = (
    "import sys; sys.path.insert(0, '/.sandbox/code'); from inside import service; service.serve(sys.argv[1], True)"
)


def arguments(spec: SandboxSpec, layers: Sequence[Path], folder: Path, bwrap: str) -> list[str]:
    """The whole command line of a sandbox whose own folder on the host is `folder`."""
    words = [bwrap, "--unshare-all", "--as-pid-1", "--clearenv", "--cap-drop", "ALL"]
    words += [word for capability in _CAPABILITIES for word in ("--cap-add", capability)]
    words += ["--uid", "1000", "--gid", "1000", "--hostname", "sandbox", *host.system_arguments()]
    if spec.network:
        words += ["--share-net", *host.network_arguments()]
    words += ["--ro-bind", str(folder / "passwd"), "/etc/passwd", "--ro-bind", str(folder / "group"), "/etc/group"]
    words += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", "--dir", "/tmp", "--dir", "/work"]
    words += ["--ro-bind", spec.root.reference, host.ENV, "--tmpfs", _INSIDE]
    words += ["--ro-bind", str(Path(__file__).parent / "inside"), f"{_INSIDE}/code/inside"]
    words += [
        "--ro-bind",
        str(folder / "link"),
        f"{_INSIDE}/link",
        "--bind",
        str(folder / "exchange"),
        f"{_INSIDE}/exchange",
    ]
    for number, layer in enumerate(layers):
        words += ["--ro-bind", str(layer), f"{_INSIDE}/layers/{number}"]
    words += [word for bind in spec.binds for word in _bind(bind)]
    return [*words, "--remount-ro", "/", host.python(), "-I", "-S", "-c", _PROGRAM, f"{_INSIDE}/link/{NAME}"]


def _bind(bind: Bind) -> tuple[str, str, str]:
    return ("--bind" if bind.writable else "--ro-bind", str(bind.host), bind.inside)


class BubblewrapSandbox(ServedSandbox):
    """One sandbox; made by its provider."""

    def __init__(self, spec: SandboxSpec, bwrap: str) -> None:
        """Start it.

        Raises:
            SandboxError: it did not start; the message ends with bwrap's own words.
        """
        self._bwrap = bwrap
        self.closed = False
        self._layers = spec.layers
        self._start(spec, spec.layers)
        self._lay(spec.layers)

    def _start(self, spec: SandboxSpec, layers: Sequence[Path]) -> None:
        """Bring up namespaces and server; the tree is not laid yet."""
        record = self._record = owner.Record(owner.this_process(), "bubblewrap", spec.purpose)
        self._folder = owner.new_folder(record)
        self._shown = tuple(layers)
        for name in ("link", "exchange"):
            (self._folder / name).mkdir()
        (self._folder / "passwd").write_text(host.PASSWD)
        (self._folder / "group").write_text(host.GROUP)
        listener = Listener(self._folder / "link")
        try:
            with open(self._folder / "log", "wb") as log:
                self._process = subprocess.Popen(
                    arguments(spec, layers, self._folder, self._bwrap),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            called = listener.accept(_START_S, lambda: self._process.poll() is None)
        finally:
            listener.close()
        if called is None:
            evidence = self._evidence()
            self._end()
            raise SandboxError(f"bubblewrap could not start a sandbox: {evidence or 'no answer'}.")
        connection, pid = called
        groups = cgroups.create(self._folder.name)
        self._record = replace(record, inside=owner.identify(pid), cgroups=groups)
        owner.save(self._folder, self._record)
        cgroups.join(groups, pid)
        super().__init__(spec, Link(connection, self._evidence), pid)
        self._bound(spec.limits)

    def _evidence(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        code = self._process.returncode
        ended = "" if code is None else f"it ended with {code}" if code >= 0 else f"killed by signal {-code}"
        text = (self._folder / "log").read_bytes()[-2000:].decode("utf-8", "replace").strip()
        return "; ".join(part for part in (ended, " / ".join(text.splitlines()[-3:])) if part)

    def _lay(self, layers: Sequence[Path]) -> None:
        numbers = [self._shown.index(layer) for layer in layers]
        try:
            self._link.call("lay", layers=numbers, disk=self.spec.limits.disk)
        except OSError as error:
            self._end()
            raise SandboxError(f"The kernel refused the sandbox's tree: {error}.") from None

    def _bound(self, limits: Limits) -> None:
        cgroups.bound(self._record.cgroups, processes=limits.processes, memory=limits.memory + limits.disk)

    def changes(self) -> list[Change]:
        """As the protocol says."""
        return changes_of(self._link.call("changes")[0]["changes"])

    def export(self, folder: Path, *, only_changes: bool = False) -> None:
        """As the protocol says."""
        made = self._folder / "exchange" / "tree"
        try:
            self._link.call("export", only_changes=only_changes, timeout=600.0)
            move_tree(made, folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def reset(self, layers: tuple[Path, ...] | None = None) -> None:
        """As the protocol says. Layers that this sandbox was not started with make it start anew."""
        layers = self._layers if layers is None else layers
        if not set(layers) <= set(self._shown):
            self._link.close()
            self._end()
            self._start(self.spec, layers)
        self._layers = layers
        self._lay(layers)

    def close(self) -> None:
        """As the protocol says."""
        if self.closed:
            return
        self.closed = True
        self._link.close()
        self._end()

    def _end(self) -> None:
        """Wait for the namespaces' end, helping where the server does not end by itself."""
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            sweep.kill_inside(self._record)
            self._process.kill()
            self._process.wait()
        sweep.remove_remains(self._folder, self._record)


class BubblewrapProvider:
    """Makes bubblewrap sandboxes."""

    name = "bubblewrap"

    def __init__(self) -> None:
        """Cheap: nothing is started or checked."""
        self._open: set[BubblewrapSandbox] = set()
        self._watchdog = Watchdog()
        self._lock = threading.Lock()

    def availability(self) -> Availability:
        """As the protocol says."""
        return check.bubblewrap()

    def prepare_root(
        self,
        *,
        base: str = "python",
        system: Sequence[str] = (),
        requirements: Sequence[str] = (),
        index_cutoff: str | None = None,
    ) -> Root:
        """As the protocol says."""
        return host_root.prepare(
            check.bwrap_path(), base=base, system=system, requirements=requirements, index_cutoff=index_cutoff
        )

    def acquire(self, spec: SandboxSpec) -> BubblewrapSandbox:
        """As the protocol says."""
        self._watchdog.watch()
        sandbox = BubblewrapSandbox(spec, check.bwrap_path())
        with self._lock:
            self._open = {other for other in self._open if not other.closed} | {sandbox}
        return sandbox

    def close(self) -> None:
        """As the protocol says."""
        with self._lock:
            sandboxes, self._open = self._open, set()
        for sandbox in sandboxes:
            sandbox.close()
        self._watchdog.close()
