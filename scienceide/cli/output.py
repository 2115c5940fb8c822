"""How every command prints: tables for people, JSON with `--json`, one progress style, complaints on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

out = Console()
err = Console(stderr=True)
_MANY = 10_000

Json = Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else.")]
Sandbox = Annotated[str, typer.Option(envvar="SANDBOX", help="auto, bubblewrap or docker.", show_default=True)]


def print_json(value: Any) -> None:
    """One JSON value on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table; numbers are set to the right."""
    table = Table(title=title, title_justify="left", header_style="bold", title_style="bold")
    shown = [[_cell(value) for value in row] for row in rows]
    for index, column in enumerate(columns):
        numeric = bool(shown) and all(_is_number(row[index]) for row in shown)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in shown:
        table.add_row(*row)
    out.print(table)


def complain(sentence: str) -> None:
    """An error, on stderr."""
    err.print(f"[bold red]scienceide:[/] {_escaped(sentence)}", highlight=False, soft_wrap=True)


@dataclass(frozen=True)
class Bar:
    """A `Phase` as one bar of the command line."""

    bars: Progress
    task: TaskID

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Move the bar."""
        self.bars.update(self.task, advance=steps, note=_escaped(note))


@dataclass(frozen=True)
class Bars:
    """The `Progress` of the command line: a bar for each phase, which stays when the phase is over."""

    bars: Progress

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Bar]:
        """Draw a bar, and fill it at the end."""
        bar = Bar(self.bars, self.bars.add_task(_escaped(name), total=total, note=""))
        yield bar
        task = next(t for t in self.bars.tasks if t.id == bar.task)
        whole = task.total if task.total is not None else max(task.completed, 1)
        self.bars.update(task.id, total=whole, completed=whole)


class _Count(ProgressColumn):
    """`3/16`; of what is counted in bytes the share."""

    def render(self, task: Task) -> str:
        """As rich asks for it."""
        if task.total is None:
            return ""
        return f"{task.percentage:.0f} %" if task.total > _MANY else f"{task.completed:.0f}/{task.total:.0f}"


@contextmanager
def bars(quiet: bool = False) -> Iterator[Bars]:
    """Progress bars on stderr while the block runs; none when `quiet`."""
    columns = (
        SpinnerColumn(finished_text="[green]✓[/]"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        _Count(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[note]}"),
    )
    with Progress(*columns, console=err, disable=quiet) as progress:
        yield Bars(progress)


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3g}"
    return _escaped(str(value))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == "–"
    return True


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")
