"""Programs that run inside a sandbox, with its own Python: standard library only, sent in as text."""

from __future__ import annotations

from pathlib import Path


def program(name: str) -> str:
    """The text of one of the programs beside this file."""
    return (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
