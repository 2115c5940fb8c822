"""`scienceide episode run` and `scienceide verify`."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer

from scienceide.base.errors import UserError
from scienceide.cli.output import Json, Sandbox, bars, out, print_json
from scienceide.envs.catalog import LoadedTask, load_task
from scienceide.store import Store

commands = typer.Typer(no_args_is_help=True)


@commands.callback()
def _group() -> None:
    """One attempt at one task."""


@commands.command("run")
def run_episode(
    task: Annotated[str, typer.Argument(help="<environment>/<task>.")],
    agent: Annotated[str, typer.Option(help="oracle, nop, replay, chat or local.")] = "oracle",
    sandbox: Sandbox = "auto",
    model: Annotated[str | None, typer.Option(help="For chat: the endpoint's model; for local: a model name.")] = None,
    base_url: Annotated[str | None, typer.Option(envvar="OPENAI_BASE_URL", help="For chat: the endpoint.")] = None,
    replay: Annotated[Path | None, typer.Option(help="For replay: an episode's JSON, as `--json` prints it.")] = None,
    hint: Annotated[int | None, typer.Option(help="Hint level shown to the agent, 1 the strongest.")] = None,
    style: Annotated[str, typer.Option(help="For local: how the task is put to it: full, compact or tools.")] = "full",
    seed: int = 0,
    max_turns: int = 30,
    json: Json = False,
) -> None:
    """Let an agent attempt a task and grade what it leaves."""
    from scienceide.envs.agents import make_agent, run
    from scienceide.envs.workshop import Workshop

    loaded = load_task(task)
    policy = None
    if agent == "local" and model:
        from scienceide.trainers.policy import load_policy

        with bars(quiet=json) as progress:
            policy = load_policy(model, progress=progress)
    player = make_agent(
        agent, model=model, base_url=base_url, replay=replay, policy=policy, style=style, turns=max_turns
    )
    settings = {"task": loaded.id, "agent": agent, "model": model, "hint": hint, "seed": seed}
    with Store().start("episode", f"{agent} on {loaded.id}", settings) as job:
        with bars(quiet=json) as progress, Workshop(sandbox, progress=progress) as shop:
            record = run(player, shop, loaded.id, seed=seed, hint=hint, max_turns=max_turns)
        job.episode(record)
        data = record.as_json()
        (job.folder / "episode.json").write_text(jsonlib.dumps(data))
        job.finish({"reward": record.reward, "termination": record.termination})
    if json:
        print_json({"run": job.id, "reward": record.reward, **data})
    else:
        out.print(f"{record.agent} on {record.task}: {record.termination}")
        out.print(record.verdict if record.verdict is not None else record.fault)
        out.print(f"run {job.id}", style="dim", highlight=False)
    if record.reward is None:
        raise typer.Exit(3)


def verify(
    task: Annotated[str, typer.Argument(help="<environment>/<task>.")],
    files: Annotated[
        list[str] | None,
        typer.Option("--file", help="A changed file as PATH=LOCAL: LOCAL's content stands at PATH. Repeatable."),
    ] = None,
    oracle: Annotated[bool, typer.Option(help="Verify the known fix instead.")] = False,
    sandbox: Sandbox = "auto",
    json: Json = False,
) -> None:
    """Grade a patch, without an episode; with no file, the untouched task."""
    from scienceide.envs.patch import Patch
    from scienceide.envs.workshop import Workshop

    loaded = load_task(task)
    contents = _read_files(loaded, files or [])
    with bars(quiet=json) as progress, Workshop(sandbox, progress=progress) as shop:
        if oracle:
            contents = {**shop.task(loaded).fixed}
        verdict = shop.verify(loaded, Patch(contents))
    if json:
        print_json(verdict.model_dump(mode="json"))
    else:
        out.print(verdict)
    if verdict.reward is None:
        raise typer.Exit(3)


def _read_files(task: LoadedTask, pairs: list[str]) -> dict[str, Any]:
    from scienceide.envs.patch import is_editable

    editable = task.environment.environment.editable
    contents = {}
    for pair in pairs:
        path, separator, local = pair.partition("=")
        if not separator:
            raise UserError(f"--file takes PATH=LOCAL, got {pair!r}.")
        if not is_editable(path, editable):
            raise UserError(f"{path} is not editable in {task.environment.name}: {', '.join(editable.include)}.")
        try:
            contents[path] = Path(local).read_bytes()
        except OSError as error:
            raise UserError(f"{local}: {error.strerror}.") from None
    return contents
