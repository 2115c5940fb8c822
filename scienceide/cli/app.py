"""The commands put together. Modules that need torch or Docker are imported by the commands that use them."""

from __future__ import annotations

import typer

from scienceide.cli import building, catalog, demo, doctor, episodes, runs, training

app = typer.Typer(
    name="scienceide",
    help="Scientific code as verified training grounds for agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(catalog.environments, name="envs", help="The environments of the catalog.")
app.add_typer(catalog.task_commands, name="tasks", help="The tasks of the catalog.")
app.add_typer(episodes.commands, name="episode", help="One attempt at one task.")
app.add_typer(runs.commands, name="runs", help="What ran: list, show, export.")
app.command("doctor")(doctor.doctor)
app.command("demo")(demo.demo)
app.command("build")(building.build)
app.command("verify")(episodes.verify)
app.command("sft")(training.sft)
app.command("rl")(training.rl)
app.command("eval")(training.evaluate)
app.command("lab")(demo.lab)
