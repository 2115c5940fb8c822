"""What a long job tells about itself while it runs: numbers by step, episodes, sentences.

Trainers and agents take a `Recorder`; the run store implements it, notebooks may too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Recorder(Protocol):
    """Receives the course of one run. Called from one thread at a time."""

    def metric(self, step: int, values: Mapping[str, float]) -> None:
        """Numbers of one step; NaN stands for 'not known'."""

    def episode(self, record: Any) -> None:
        """An episode has ended; `record` is an `envs.record.EpisodeRecord`."""

    def note(self, text: str) -> None:
        """Something worth a sentence happened."""


class Unrecorded:
    """A `Recorder` that keeps nothing."""

    def metric(self, step: int, values: Mapping[str, float]) -> None:
        """Ignore."""

    def episode(self, record: Any) -> None:
        """Ignore."""

    def note(self, text: str) -> None:
        """Ignore."""
