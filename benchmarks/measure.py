"""Repeated timing and how it is printed: median, 95th percentile, spread, beside the target."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

console = Console(width=118)


@dataclass(frozen=True)
class Row:
    """One measured thing; values in `unit`, `target` as the issue words it."""

    what: str
    values: Sequence[float]
    unit: str
    target: str = ""


def repeat(action: Callable[[], object], times: int, *, warmup: int = 2, scale: float = 1e3) -> list[float]:
    """Wall times of `times` calls, in seconds times `scale`."""
    for _ in range(warmup):
        action()
    values = []
    for _ in range(times):
        started = time.perf_counter()
        action()
        values.append((time.perf_counter() - started) * scale)
    return values


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of all are not above."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1))]


def show(title: str, rows: Sequence[Row]) -> None:
    """Print measured rows."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("what", "n", "median", "p95", "min", "max", "unit", "reach"):
        table.add_column(column, justify="left" if column in ("what", "unit", "reach") else "right")
    for row in rows:
        numbers = (statistics.median(row.values), percentile(row.values, 0.95), min(row.values), max(row.values))
        table.add_row(row.what, str(len(row.values)), *(f"{n:.3g}" for n in numbers), row.unit, row.target)
    console.print(table)
