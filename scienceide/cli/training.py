"""`scienceide sft`, `rl` and `eval`: a configuration in, a run in the store out."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel
from typer import Option

from scienceide.base.errors import UserError
from scienceide.base.progress import Progress
from scienceide.cli.output import Json, Sandbox, bars, out, print_json
from scienceide.store import Kind, Run, Store

C = TypeVar("C", bound=BaseModel)

Config = Annotated[Path | None, Option("--config", help="A TOML file of settings.")]
Settings = Annotated[
    list[str] | None,
    Option("--set", help="One setting as KEY=VALUE, the value as in TOML; over the file's. Repeatable."),
]
Model = Annotated[str | None, Option(help="A name of the model registry, or a folder; over the file's.")]
RunId = Annotated[str | None, Option("--run", help="Go on with this run, or give a new one this id.")]


def sft(
    config: Config = None,
    model: Model = None,
    settings: Settings = None,
    sandbox: Sandbox = "auto",
    run: RunId = None,
    json: Json = False,
) -> None:
    """Fine-tune a model on verified trajectories (the oracle's on the train tasks, where none are given)."""
    from scienceide.trainers.config import SFTConfig
    from scienceide.trainers.sft import train_sft

    chosen = read_settings(SFTConfig, config, settings, model=model, sandbox=sandbox)
    _run("sft", chosen, run, json, lambda job, bar: train_sft(chosen, job.folder, recorder=job, progress=bar))


def rl(
    config: Config = None,
    model: Model = None,
    settings: Settings = None,
    sandbox: Sandbox = "auto",
    run: RunId = None,
    json: Json = False,
) -> None:
    """Reinforce a model with GRPO on episodes of the train tasks."""
    from scienceide.trainers.config import RLConfig
    from scienceide.trainers.rl import train_rl

    chosen = read_settings(RLConfig, config, settings, model=model, sandbox=sandbox)
    _run("rl", chosen, run, json, lambda job, bar: train_rl(chosen, job.folder, recorder=job, progress=bar))


def evaluate(
    config: Config = None,
    model: Model = None,
    settings: Settings = None,
    sandbox: Sandbox = "auto",
    run: RunId = None,
    json: Json = False,
) -> None:
    """Measure a model on the held-out tasks, between the oracle's and the nop agent's rewards."""
    from scienceide.trainers.config import EvalConfig
    from scienceide.trainers.evaluate import evaluate as measure

    chosen = read_settings(EvalConfig, config, settings, model=model, sandbox=sandbox)
    _run("eval", chosen, run, json, lambda job, bar: measure(chosen, job.folder, recorder=job, progress=bar))


def read_settings(kind: type[C], path: Path | None, pairs: list[str] | None, *, model: str | None, sandbox: str) -> C:
    """A configuration from a file, then from KEY=VALUE pairs, then from options of their own.

    Raises:
        UserError: which file, line, field or pair is wrong.
    """
    from scienceide.trainers.config import load_config, make_config

    base = {} if path is None else load_config(path, kind).model_dump(mode="json", exclude_unset=True)
    for pair in pairs or []:
        key, separator, value = pair.partition("=")
        if not separator:
            raise UserError(f"--set takes KEY=VALUE, got {pair!r}.")
        base[key.strip()] = _toml_value(value)
    if model is not None:
        base["model"] = model
    if sandbox != "auto":
        base["sandbox"] = sandbox
    return make_config(kind, base)


def _toml_value(text: str) -> Any:
    """A TOML value; bare words are strings."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _run(kind: Kind, config: BaseModel, run: str | None, json: bool, work: Callable[[Run, Progress], Any]) -> None:
    settings = config.model_dump(mode="json")
    with Store().start(kind, f"{kind} {settings['model']}", settings, run=run) as job:
        with bars(quiet=json) as progress:
            result = work(job, progress)
        job.finish(result.as_json())
    if json:
        print_json({"run": job.id, **result.as_json()})
    else:
        out.print(result)
        out.print(f"run {job.id}: {job.folder}", style="dim", highlight=False)
