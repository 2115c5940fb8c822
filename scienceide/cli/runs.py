"""`scienceide runs`: what ran, how it went, and taking it elsewhere."""

from __future__ import annotations

import json as jsonlib
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import typer

from scienceide.base.errors import UserError
from scienceide.cli.output import Json, out, print_json, print_table
from scienceide.store import RunInfo, Store

commands = typer.Typer(no_args_is_help=True)


@commands.command("list")
def list_runs(json: Json = False) -> None:
    """All runs, the newest first."""
    runs = [run.as_json() for run in Store().runs()]
    if json:
        return print_json(runs)
    columns = ("id", "kind", "title", "state", "created", "seconds")
    print_table("Runs", columns, [[run[c] for c in columns] for run in runs])


@commands.command("show")
def show_run(run: Annotated[str, typer.Argument(help="A run's id, or `last`.")], json: Json = False) -> None:
    """One run: state, result, last metrics, episodes, notes."""
    store = Store()
    info = store.run(run)
    details = _details(store, info)
    if json:
        return print_json(details)
    out.print(f"[bold]{info.id}[/]  {info.title}  [{_COLOUR.get(details['state'], 'yellow')}]{details['state']}[/]")
    out.print(f"{details['created']}, {details['seconds']} s, {info.folder}", highlight=False)
    if info.fault:
        out.print(info.fault, style="red", markup=False)
    if details["metrics"]:
        rows = [(n, len(v), v[-1][0], v[-1][1]) for n, v in details["metrics"].items()]
        print_table("Metrics", ("name", "points", "last step", "last value"), rows)
    if details["episodes"]:
        columns = ("task", "agent", "reward", "termination", "outcome")
        print_table("Episodes", columns, [[e[c] for c in columns] for e in details["episodes"][-20:]])
    for note in details["notes"]:
        out.print(f"• {note}", markup=False)
    if info.result:
        out.print_json(data=dict(info.result))
    return None


@commands.command("export")
def export_run(
    run: Annotated[str, typer.Argument(help="A run's id, or `last`.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The zip file to write.")],
) -> None:
    """Write a run's record, metrics, episodes and trajectories (not its checkpoints) into one zip file."""
    store = Store()
    info = store.run(run)
    if output.exists():
        raise UserError(f"{output} exists already; nothing was written.")
    with zipfile.ZipFile(output, "x", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run.json", jsonlib.dumps(_details(store, info), indent=2, default=str))
        for path in sorted(info.folder.rglob("*")):
            if path.is_file() and path.suffix in (".parquet", ".json", ".log", ".toml"):
                archive.write(path, path.relative_to(info.folder).as_posix())
    out.print(f"{output}: {len(archive.namelist())} files", highlight=False)


_COLOUR = {"done": "green", "failed": "red", "running": "cyan"}


def _details(store: Store, info: RunInfo) -> dict[str, Any]:
    series: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for _, step, name, value in store.metrics(info.id):
        series[name].append((step, value))
    return {
        **info.as_json(),
        "metrics": dict(series),
        "episodes": store.episodes(info.id),
        "notes": store.notes(info.id),
    }
