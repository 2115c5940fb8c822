"""The tree of a Docker sandbox, mounted by this machine and shown inside by mount propagation.

A container cannot mount anything by itself, so that its reset would mean a new container. Instead the
host mounts below a shared folder, and what is mounted there appears in the running container at once.
"""

from __future__ import annotations

from pathlib import Path

from scienceide.envs.sandbox.hands import Hands
from scienceide.envs.sandbox.idmap import Ownership
from scienceide.envs.sandbox.protocol import Change
from scienceide.envs.sandbox.served import changes_of


class HostTree:
    """One sandbox's mounts."""

    def __init__(self, folder: Path, ownership: Ownership, hands: Hands) -> None:
        """Prepare the shared folder.

        Args:
            folder: the sandbox's own.
            ownership: whom the tree belongs to inside and out.
            hands: what mounts.

        Raises:
            OSError: the kernel refused.
        """
        self._folder = str(folder)
        self._ownership = ownership
        self._hands = hands
        self._layers: tuple[Path, ...] = ()
        # Made here, so that they belong to this user whoever mounts.
        for name in ("shared/tree", "shared/tmp", "shared/shm", "disk", "pristine"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        hands.do("share", folder=self._folder)

    def lay(self, layers: tuple[Path, ...], size: int) -> None:
        """Show a pristine tree of these layers; `size` bytes may be written.

        Raises:
            OSError: the kernel refused.
        """
        if layers != self._layers:
            self._hands.do("hide", folder=self._folder, count=len(self._layers))
            self._layers = ()
            for number in range(len(layers)):
                Path(self._folder, "layers", str(number)).mkdir(parents=True, exist_ok=True)
            paths = [str(layer) for layer in layers]
            self._hands.do("show", folder=self._folder, layers=paths, namespace=self._ownership.namespace)
            self._layers = layers
        user, group = self._ownership.user, self._ownership.group
        self._hands.do("lay", folder=self._folder, layers=len(layers), size=size, user=user, group=group)

    def lift(self) -> None:
        """Take the tree away with all that was written."""
        self._hands.do("lift", folder=self._folder)

    def resize(self, size: int) -> None:
        """Let more bytes be written."""
        self._hands.do("resize", folder=self._folder, size=size)

    def changes(self) -> list[Change]:
        """What differs from the layers. Nothing may run inside meanwhile."""
        return changes_of(self._hands.do("changes", folder=self._folder))

    def export(self, folder: Path, only_changes: bool) -> None:
        """Copy the tree out. Nothing may run inside meanwhile."""
        user, group = self._ownership.outside
        self._hands.do(
            "export", folder=self._folder, target=str(folder), only_changes=only_changes, user=user, group=group
        )
