"""A verdict as a table: in a terminal, as plain text, in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from io import StringIO
from typing import TYPE_CHECKING

from scienceide.verifiers.failures import shown
from scienceide.verifiers.verdict import CaseVerdict, ObservableVerdict, Verdict, outcome_line

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS = ("case, observable", "right", "score", "error", "tolerance", "signal")
INDENT = "  "
Row = tuple[str, str, str, str, str, str]


def rows(verdict: Verdict) -> Iterator[Row]:
    """One row per case, then one for each of its observables that is not right."""
    for case in verdict.cases:
        yield (case.name if case.visible else f"{case.name} (hidden)", _right(case), _score(case.score), "", "", "")
        for judged in case.observables:
            if judged.score < 1.0:
                yield (f"{INDENT}{judged.name}", "", _score(judged.score), *_numbers(judged))


def footnotes(verdict: Verdict) -> list[str]:
    """What stands below the table. Notes and evidence may quote what an agent wrote."""
    notes = [shown(f"{case.name}: {case.note}") for case in verdict.cases if case.note]
    notes += [shown(f"{f.rule}: {f.evidence}" if f.evidence else f.rule) for f in verdict.integrity]
    if verdict.cpu_s or verdict.wall_s:
        notes.append(f"{verdict.cpu_s:.1f} s of CPU, {verdict.wall_s:.1f} s")
    return notes


def as_table(verdict: Verdict) -> Table:
    """A rich table; fits 80 columns."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(outcome_line(verdict)),
        caption=Text("\n".join(footnotes(verdict))),
        box=box.SIMPLE,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column(COLUMNS[0], overflow="fold")
    for name in COLUMNS[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows(verdict):
        table.add_row(*(Text(cell) for cell in row), style="dim" if row[0].startswith(INDENT) else "")
    return table


def as_text(verdict: Verdict, width: int = 80) -> str:
    """The table without colours, `width` columns wide."""
    from rich.console import Console

    stream = StringIO()
    Console(file=stream, width=width, color_system=None, legacy_windows=False).print(as_table(verdict))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()).strip("\n") + "\n"


def as_html(verdict: Verdict) -> str:
    """A plain HTML table; every text is escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in COLUMNS)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows(verdict))
    notes = "".join(f"<p>{escape(note)}</p>" for note in footnotes(verdict))
    title = f"<p><b>{escape(outcome_line(verdict))}</b></p>"
    return f"<div>{title}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"


def _right(case: CaseVerdict) -> str:
    return f"{sum(judged.score == 1.0 for judged in case.observables)}/{len(case.observables)}"


def _numbers(judged: ObservableVerdict) -> tuple[str, str, str]:
    error = judged.failure if judged.error is None else f"{judged.error:.2e}"
    return error, f"{judged.tolerance:.1e}" if judged.tolerance else "0", f"{judged.signal:.2e}"


def _score(score: float) -> str:
    """Never 1.000 for what is not right."""
    return "1" if score == 1.0 else f"{min(score, 0.999):.3f}"
