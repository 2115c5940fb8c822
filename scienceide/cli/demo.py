"""`scienceide demo` and `scienceide lab`."""

from __future__ import annotations

import os
import sys
from typing import Annotated

from typer import Option

from scienceide.base.errors import UserError
from scienceide.cli.output import Json, Sandbox, bars, out, print_json
from scienceide.store import Store


def demo(
    sandbox: Sandbox = "auto",
    run: Annotated[str | None, Option("--run", help="Go on with this run.")] = None,
    json: Json = False,
) -> None:
    """Environments, tasks, episodes, SFT, RL and the held-out reward before and after: the main job, in minutes."""
    from scienceide.demo import run_demo, table

    with Store().start("demo", "the main job", {"sandbox": sandbox}, run=run) as job:
        with bars(quiet=json) as progress:
            result = run_demo(job, sandbox, progress)
        job.finish(result.as_json())
    if json:
        return print_json({"run": job.id, **result.as_json()})
    for part in table(result):
        out.print(part)
    out.print(f"run {job.id}: {job.folder}", highlight=False)
    return None


def lab(
    port: Annotated[int, Option(help="The port of the server.")] = 8888,
    browser: Annotated[bool, Option(help="Open a browser.")] = True,
) -> None:
    """Start JupyterLab here with ScienceIDE installed."""
    import importlib.util

    if importlib.util.find_spec("jupyterlab") is None:
        raise UserError("JupyterLab is not installed: pip install 'scienceide[lab]'.")
    command = [sys.executable, "-m", "jupyterlab", f"--port={port}"]
    if not browser:
        command.append("--no-browser")
    if os.geteuid() == 0:
        command.append("--allow-root")
    os.execv(sys.executable, command)
