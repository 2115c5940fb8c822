"""How every command prints: tables for people, JSON with `--json`, one progress style, complaints on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

out = Console()
err = Console(stderr=True)

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


class Bars:
    """The `Progress` of the command line: one bar for the phase under way."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def start(self, phase: str, total: int | None = None) -> None:
        """A new phase: a new bar."""
        self._task = self._bars.add_task(_escaped(phase), total=total, note="")

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Move the bar."""
        if self._task is not None:
            self._bars.update(self._task, advance=steps, note=_escaped(note))

    def finish(self, note: str = "") -> None:
        """Fill the bar and leave it standing."""
        if self._task is not None:
            task = next(t for t in self._bars.tasks if t.id == self._task)
            total = task.total if task.total is not None else max(task.completed, 1)
            self._bars.update(self._task, total=total, completed=total, note=_escaped(note))
            self._task = None


@contextmanager
def bars(quiet: bool = False) -> Iterator[Bars]:
    """Progress bars on stderr while the block runs; none when `quiet`."""
    columns = (
        SpinnerColumn(finished_text="[green]✓[/]"),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
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
