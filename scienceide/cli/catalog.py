"""`scienceide envs` and `scienceide tasks`: list and show."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from scienceide.cli.output import Json, out, print_json, print_table
from scienceide.envs.catalog import LoadedEnvironment, LoadedTask, environment_names, load_environment, load_task
from scienceide.envs.catalog import tasks as load_tasks

environments = typer.Typer(no_args_is_help=True)
task_commands = typer.Typer(no_args_is_help=True)


@environments.command("list")
def list_environments(json: Json = False) -> None:
    """All environments by name."""
    found = [_environment_row(load_environment(name)) for name in environment_names()]
    if json:
        return print_json(found)
    columns = ("name", "title", "science", "languages", "licence", "cases", "tasks")
    print_table("Environments", columns, [[row[c] for c in columns] for row in found])


@environments.command("show")
def show_environment(environment: str, json: Json = False) -> None:
    """One environment: its source, its cases with their tolerances, its tasks."""
    loaded = load_environment(environment)
    record = loaded.environment
    if json:
        return print_json(
            {
                **_environment_row(loaded),
                "source": record.source.model_dump(mode="json"),
                "editable": record.editable.model_dump(mode="json"),
                "cases_detail": {n: c.model_dump(mode="json", by_alias=True) for n, c in loaded.cases.items()},
                "task_names": loaded.task_names,
            }
        )
    source = record.source
    out.print(f"[bold]{loaded.name}[/]  {record.title}")
    out.print(f"{source.kind} {source.name} {source.version}  {source.licence}  {source.citation}", highlight=False)
    out.print(f"sha256 {source.sha256}", highlight=False)
    out.print(f"editable: {', '.join(record.editable.include)}", highlight=False, markup=False)
    rows = [
        (name, "visible" if case.visible else "hidden", 1 + len(case.variants), case.cpu, o.name, o.unit, *_margins(o))
        for name, case in loaded.cases.items()
        for o in case.observables
    ]
    columns = ("case", "seen", "runs", "cpu s", "observable", "unit", "criterion", "noise", "tolerance", "signal")
    print_table("Cases", columns, rows)
    out.print(f"{len(loaded.task_names)} tasks: scienceide tasks list --environment {loaded.name}")
    return None


@task_commands.command("list")
def list_tasks(
    environment: Annotated[str | None, typer.Option(help="Of this environment only.")] = None,
    split: Annotated[str | None, typer.Option(help="train or heldout.")] = None,
    json: Json = False,
) -> None:
    """All tasks, with what was measured of their difficulty."""
    found = [_task_row(task) for task in load_tasks(split=split, environment=environment)]
    if json:
        return print_json(found)
    columns = ("id", "kind", "split", "operator", "floor", "cases_broken", "verification_cpu")
    print_table("Tasks", columns, [[row[c] for c in columns] for row in found])


@task_commands.command("show")
def show_task(
    task: str,
    hint: Annotated[int | None, typer.Option(help="Show this hint level, 1 the strongest.")] = None,
    json: Json = False,
) -> None:
    """One task as its agent is told it; never where the defect is, unless a hint is asked for."""
    loaded = load_task(task)
    hints = loaded.task.hints
    shown = hints[min(hint, len(hints)) - 1] if hint is not None and hints else None
    if json:
        return print_json({**_task_row(loaded), "instruction": loaded.instruction, "hint": shown})
    from rich.markdown import Markdown

    out.print(Markdown(loaded.instruction))
    if shown:
        out.print(f"\nHint: {shown}", markup=False)
    return None


def _environment_row(loaded: LoadedEnvironment) -> dict[str, Any]:
    record = loaded.environment
    return {
        "name": loaded.name,
        "title": record.title,
        "science": record.science,
        "languages": ", ".join(record.languages),
        "licence": record.source.licence,
        "cases": len(loaded.cases),
        "tasks": len(loaded.task_names),
    }


def _task_row(loaded: LoadedTask) -> dict[str, Any]:
    record = loaded.task
    return {
        "id": loaded.id,
        "kind": record.kind,
        "split": record.split,
        "operator": record.provenance.operator,
        "floor": record.floor,
        **record.difficulty.model_dump(),
    }


def _margins(observable: Any) -> tuple[str, float | None, float | None, float | None]:
    evidence = observable.evidence
    tolerance = getattr(observable.criterion, "tolerance", None)
    noise, signal = (None, None) if evidence is None else (evidence.noise, evidence.signal)
    return observable.criterion.kind, noise, tolerance, signal
