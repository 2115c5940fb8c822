"""One way to say how far along a long piece of work is.

Library code takes a `Progress` and never draws; the command line and notebooks pass one that does.

    with progress.phase("fetch", total=size) as bar:
        bar.advance(len(chunk))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar

T = TypeVar("T")


class Phase(Protocol):
    """One phase under way; phases may lie inside one another, or run side by side in threads."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """`steps` more are done; `note` is a short word on the latest."""


class Progress(Protocol):
    """Receives the phases of one job."""

    def phase(self, name: str, total: int | None = None) -> AbstractContextManager[Phase]:
        """A phase that lasts as long as the block, with `total` steps if that is known; an error leaves it open."""


class Silent:
    """A `Progress`, and its every phase, that show nothing."""

    def phase(self, name: str, total: int | None = None) -> AbstractContextManager[Phase]:
        """Ignore."""
        return nullcontext(self)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Ignore."""


def track(progress: Progress, name: str, items: Iterable[T], total: int | None = None) -> Iterator[T]:
    """Yield `items` in a phase, advancing it after each."""
    with progress.phase(name, total) as bar:
        for item in items:
            yield item
            bar.advance()
