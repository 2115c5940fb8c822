"""Sizes and durations as people write them: "2 GiB", "120 s", "30 min"."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

_BYTES = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*")


def _parse(value: Any, units: dict[str, float] | dict[str, int], example: str) -> Any:
    if not isinstance(value, str):
        return value
    match = _QUANTITY.fullmatch(value)
    if match is None or match[2] not in units:
        raise ValueError(f"expected a number and one of {', '.join(units)}, such as {example!r}, got {value!r}")
    return float(match[1]) * units[match[2]]


Bytes = Annotated[int, BeforeValidator(lambda v: int(_parse(v, _BYTES, "2 GiB")))]
Seconds = Annotated[float, BeforeValidator(lambda v: _parse(v, _SECONDS, "30 s"))]


def human_bytes(size: float) -> str:
    """1536 → '1.5 KiB'."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
