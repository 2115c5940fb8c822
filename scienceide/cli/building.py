"""`scienceide build`: from a source, or a recipe, to an environment folder with gated tasks."""

from __future__ import annotations

from json import loads as json_value
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from scienceide.cli.output import Json, Sandbox, bars, out, print_json
from scienceide.store import Store


def build(
    source: Annotated[
        str, Argument(help="A recipe folder (environment.toml and cases/), pypi:NAME==VERSION, or a package's folder.")
    ],
    output: Annotated[Path, Option("--output", "-o", help="The environment folder to make; it must not exist.")],
    tasks: Annotated[int, Option(help="Tasks wanted.", min=1)] = 24,
    calibrate: Annotated[bool, Option(help="Measure noise and signal, and place the tolerances by them.")] = True,
    seed: int = 0,
    sandbox: Sandbox = "auto",
    json: Json = False,
) -> None:
    """Build a source in a sandbox, calibrate its cases, inject defects, and publish those that pass every gate.

    A build that was killed goes on where it was when it is started again.
    """
    from scienceide.envs.sandbox import provider
    from scienceide.repo_builders.pipeline import Options, build_environment

    options = Options(tasks=tasks, calibrate=calibrate, seed=seed)
    settings = {"source": source, "output": str(output), "tasks": tasks, "calibrate": calibrate, "seed": seed}
    with Store().start("build", f"build {source}", settings) as run:
        sandboxes = provider(sandbox)
        try:
            with bars(quiet=json) as progress:
                report = build_environment(source, output, sandboxes, options, progress)
        finally:
            sandboxes.close()
        run.finish({"environment": report.environment, "tasks": len(report.tasks), "seconds": report.seconds})
    if json:
        print_json({"run": run.id, "folder": str(output), **json_value(report.to_json())})
    else:
        out.print(report.table())
        out.print(f"{output}: {len(report.tasks)} tasks; run {run.id}", style="dim", highlight=False)
