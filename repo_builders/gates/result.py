"""What a gate says."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class GateResult:
    """One gate's word on one task, with what it rests on."""

    gate: str
    passed: bool
    reason: str = ""
    """One sentence, where it did not pass."""
    evidence: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As it stands in `gates.json`."""
        return asdict(self)
