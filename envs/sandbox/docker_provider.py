"""Sandboxes by Docker: hardened containers, kept warm, whose trees the host lays and resets.

A container that served one sandbox may serve another of the same kind and purpose: everything that could
be written to is mounted anew, and every process but the server was killed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from scienceide.base.errors import SandboxError
from scienceide.base.paths import cache_dir
from scienceide.envs.sandbox import engine, idmap, images
from scienceide.envs.sandbox.containers import Box
from scienceide.envs.sandbox.hands import Hands, hands
from scienceide.envs.sandbox.link import Link
from scienceide.envs.sandbox.protocol import Availability, Bind, Change, Limits, Root, SandboxSpec
from scienceide.envs.sandbox.served import ServedSandbox
from scienceide.envs.sandbox.watchdog import Watchdog

_MOST_WARM = 8
_MOST_SERVED = 200
"""After so many sandboxes a container is replaced by a new one."""
_log = logging.getLogger(__name__)


class DockerSandbox(ServedSandbox):
    """One sandbox; made by its provider."""

    def __init__(self, spec: SandboxSpec, box: Box, release: Callable[[DockerSandbox], None]) -> None:
        """Lay the tree in a fresh box.

        Raises:
            SandboxError: the kernel refused.
        """
        super().__init__(spec, box.link, box.server)
        self._box = box
        self._release = release
        self._layers = spec.layers
        self.closed = False
        self._lay()

    def _lay(self) -> None:
        try:
            self._box.tree.lay(self._layers, self._roomy.disk)
        except OSError as error:
            raise SandboxError(f"The kernel refused the sandbox's tree: {error}.") from None

    def _bound(self, limits: Limits) -> None:
        memory = limits.memory + limits.disk
        with engine.speaking("change a container's limits"):
            engine.client().update_container(self._box.name, mem_limit=memory, memswap_limit=memory)
        self._box.tree.resize(limits.disk)

    def changes(self) -> list[Change]:
        """As the protocol says."""
        self._link.call("ping")
        return self._box.tree.changes()

    def export(self, folder: Path, *, only_changes: bool = False) -> None:
        """As the protocol says."""
        self._link.call("ping")
        self._box.tree.export(folder, only_changes)

    def reset(self, layers: tuple[Path, ...] | None = None) -> None:
        """As the protocol says."""
        self._layers = self._layers if layers is None else layers
        self._link.call("kill")
        self._box.tree.lift()
        self._lay()

    def close(self) -> None:
        """As the protocol says. A container in good order goes back to the provider, pristine."""
        if self.closed:
            return
        self.closed = True
        self._link = Link.closed()
        self._release(self)

    def give_back(self) -> Box | None:
        """The box, cleaned for another sandbox; None, and removed, where it cannot serve again."""
        box = self._box
        if self._roomy == self.spec.limits and box.served < _MOST_SERVED:
            try:
                box.clean()
                return box
            except SandboxError:
                pass
        box.remove()
        return None

    def discard(self) -> None:
        """Remove the box."""
        self._box.remove()


class Kind(NamedTuple):
    """What makes containers interchangeable."""

    root: Root
    binds: tuple[Bind, ...]
    limits: Limits
    network: bool
    purpose: str


def kind_of(spec: SandboxSpec) -> Kind:
    """Layers and environment variables do not belong to a container."""
    return Kind(spec.root, spec.binds, spec.limits, spec.network, spec.purpose)


class Means(NamedTuple):
    """What a provider needs for its trees, found out once."""

    ownership: idmap.Ownership
    hands: Hands

    def close(self) -> None:
        """Let go of it."""
        self.ownership.close()
        self.hands.close()


class DockerProvider:
    """Makes Docker sandboxes."""

    name = "docker"

    def __init__(self, spares: int = 2) -> None:
        """Cheap: nothing is started or checked.

        Args:
            spares: so many started containers of each kind are kept ready.
        """
        self._spares = spares
        self._warm: list[tuple[Kind, Box]] = []
        """The latest last."""
        self._open: set[DockerSandbox] = set()
        self._lock = threading.Lock()
        self._starting = ThreadPoolExecutor(1, thread_name_prefix="sandbox-spares")
        self._watchdog = Watchdog()
        self._means: Means | None = None
        self._closed = False

    def availability(self) -> Availability:
        """As the protocol says."""
        return engine.availability()

    def prepare_root(
        self,
        *,
        base: str = "python",
        system: Sequence[str] = (),
        requirements: Sequence[str] = (),
        index_cutoff: str | None = None,
    ) -> Root:
        """As the protocol says."""
        return images.prepare(base=base, system=system, requirements=requirements, index_cutoff=index_cutoff)

    def acquire(self, spec: SandboxSpec) -> DockerSandbox:
        """As the protocol says."""
        means = self._ready(spec.root.reference)
        box = self._take(kind_of(spec)) or Box(spec, means.ownership, means.hands)
        try:
            sandbox = DockerSandbox(spec, box, self._released)
        except SandboxError:
            box.remove()
            raise
        with self._lock:
            self._open.add(sandbox)
        self._refill(spec, means)
        return sandbox

    def _ready(self, image: str) -> Means:
        """Once: sweep, be watched, find out how owners are translated."""
        with self._lock:
            if self._closed:
                raise SandboxError("This provider of Docker sandboxes is closed.")
            if self._means is None:
                self._watchdog.watch()
                engine.sweep_containers()
                ownership = idmap.ownership(cache_dir("sandboxes"))
                self._means = Means(ownership, hands(image))
            return self._means

    def _take(self, kind: Kind) -> Box | None:
        """A warm box of that kind that still answers."""
        while True:
            with self._lock:
                found = next((n for n in reversed(range(len(self._warm))) if self._warm[n][0] == kind), None)
                if found is None:
                    return None
                box = self._warm.pop(found)[1]
            try:
                box.link.call("ping", timeout=5.0)
                return box
            except SandboxError:
                box.remove()

    def _keep(self, kind: Kind, box: Box) -> None:
        """Make a box warm; the oldest go when there are too many."""
        surplus: list[Box] = []
        with self._lock:
            self._warm.append((kind, box))
            while self._warm and (self._closed or len(self._warm) > _MOST_WARM or self._count(kind) > self._spares):
                number = 0 if self._closed or len(self._warm) > _MOST_WARM else self._first(kind)
                surplus.append(self._warm.pop(number)[1])
        for box in surplus:
            box.remove()

    def _count(self, kind: Kind) -> int:
        return sum(other == kind for other, _ in self._warm)

    def _first(self, kind: Kind) -> int:
        return next(number for number, (other, _) in enumerate(self._warm) if other == kind)

    def _refill(self, spec: SandboxSpec, means: Means) -> None:
        """Start a box in the background where none is left; a build is not followed by another."""
        with self._lock:
            if self._closed or self._spares == 0 or spec.purpose == "build" or self._count(kind_of(spec)):
                return
            self._starting.submit(self._start_spare, spec, means)

    def _start_spare(self, spec: SandboxSpec, means: Means) -> None:
        kind = kind_of(spec)
        with self._lock:
            if self._closed or self._count(kind):
                return
        try:
            self._keep(kind, Box(spec, means.ownership, means.hands))
        except SandboxError as error:
            # The next `acquire` meets the same fault and raises it.
            _log.info("no spare container: %s", error)

    def _released(self, sandbox: DockerSandbox) -> None:
        with self._lock:
            self._open.discard(sandbox)
            closed = self._closed
        if closed:
            sandbox.discard()
            return
        box = sandbox.give_back()
        if box is not None:
            self._keep(kind_of(sandbox.spec), box)

    def close(self) -> None:
        """As the protocol says."""
        with self._lock:
            self._closed = True
        self._starting.shutdown(cancel_futures=True)
        with self._lock:
            sandboxes, warm, self._warm = list(self._open), self._warm, []
        for sandbox in sandboxes:
            sandbox.close()
        for _, box in warm:
            box.remove()
        if self._means is not None:
            self._means.close()
            self._means = None
        self._watchdog.close()
