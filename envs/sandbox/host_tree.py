"""The tree of a Docker sandbox, mounted by this machine and shown inside by mount propagation.

A container cannot mount anything by itself, so that its reset would mean a new container. Instead the
host mounts below a shared folder, and what is mounted there appears in the running container at once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from scienceide.envs.sandbox import idmap
from scienceide.envs.sandbox.inside import kernel, mounts, tree
from scienceide.envs.sandbox.protocol import Change
from scienceide.envs.sandbox.served import changes_of


class HostTree:
    """One sandbox's mounts; needs root."""

    def __init__(self, folder: Path, ownership: idmap.Ownership) -> None:
        """Prepare the shared folder.

        Args:
            folder: the sandbox's own.
            ownership: whom the tree belongs to inside.

        Raises:
            OSError: the kernel refused.
        """
        self._folder = folder
        self._ownership = ownership
        self._layers: tuple[Path, ...] = ()
        self.shared = folder / "shared"
        self._stage = mounts.Stage(
            private=str(folder),
            tree=str(self.shared / "tree"),
            tmp=str(self.shared / "tmp"),
            shm=str(self.shared / "shm"),
        )
        for path in (self._stage.tree, self._stage.tmp, self._stage.shm):
            os.makedirs(path)
        kernel.mount(str(self.shared), str(self.shared), None, kernel.MS_BIND)
        # A peer group of its own: what is mounted here shows in the container and nowhere else.
        kernel.mount("none", str(self.shared), None, kernel.MS_PRIVATE)
        kernel.mount("none", str(self.shared), None, kernel.MS_SHARED)

    def lay(self, layers: tuple[Path, ...], size: int) -> None:
        """Show a pristine tree of these layers; `size` bytes may be written.

        Raises:
            OSError: the kernel refused.
        """
        if layers != self._layers:
            self._show(layers)
        paths = [str(self._folder / "layers" / str(number)) for number in range(len(layers))]
        mounts.lay(self._stage, paths, size, (self._ownership.user, self._ownership.user))

    def _show(self, layers: Sequence[Path]) -> None:
        for number in range(len(self._layers)):
            kernel.detach(str(self._folder / "layers" / str(number)))
        self._layers = ()
        for number, layer in enumerate(layers):
            target = self._folder / "layers" / str(number)
            target.mkdir(parents=True, exist_ok=True)
            idmap.bind(layer, target, self._ownership.namespace)
            self._layers = (*self._layers, layer)

    def lift(self) -> None:
        """Take the tree away with all that was written."""
        mounts.lift(self._stage)

    def resize(self, size: int) -> None:
        """Let more bytes be written."""
        mounts.resize(self._stage, size)

    def changes(self) -> list[Change]:
        """What differs from the layers. Nothing may run inside meanwhile."""
        return changes_of(tree.changes(self._stage.upper, self._stage.pristine))

    def export(self, folder: Path, only_changes: bool) -> None:
        """Copy the tree out. Nothing may run inside meanwhile."""
        kept = [c.path for c in self.changes() if c.kind in ("file", "symlink")] if only_changes else None
        tree.copy(self._stage.tree, str(folder), kept)
