"""One way to say how far along a long piece of work is.

Library code takes a `Progress` and never draws; the command line and notebooks pass one that does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")


class Progress(Protocol):
    """Receives phases and steps of one job."""

    def start(self, phase: str, total: int | None = None) -> None:
        """A new phase begins, with `total` steps if that is known."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """`steps` more are done; `note` is a short word on the latest."""

    def finish(self, note: str = "") -> None:
        """The phase is over."""


class Silent:
    """A `Progress` that shows nothing."""

    def start(self, phase: str, total: int | None = None) -> None:
        """Ignore."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Ignore."""

    def finish(self, note: str = "") -> None:
        """Ignore."""


def track(progress: Progress, phase: str, items: Iterable[T], total: int | None = None) -> Iterator[T]:
    """Yield `items`, advancing `progress` after each."""
    progress.start(phase, total)
    for item in items:
        yield item
        progress.advance()
    progress.finish()
