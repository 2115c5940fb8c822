"""Each command in README and docs exists with the options it is shown with; the quick ones are run."""

import re
import shlex
from pathlib import Path

import click
import pytest
import typer

from scienceide.cli.app import app
from tests.cli.conftest import cli  # noqa: F401 (a fixture)

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LONG = {"demo", "build", "sft", "rl", "eval", "lab"}


def commands():
    found = []
    for page in PAGES:
        for line in re.findall(r"^(?: {4})?(scienceide .+)$", page.read_text(), re.MULTILINE):
            found.append(pytest.param(shlex.split(line, comments=True)[1:], id=f"{page.name}: {line[:60]}"))
    return found


def test_there_are_commands_to_test():
    assert len(commands()) > 10


@pytest.mark.parametrize("words", commands())
def test_a_documented_command_parses(words):
    command = typer.main.get_command(app)
    context = click.Context(command, info_name="scienceide")
    while isinstance(command, click.Group):
        name, command, words = command.resolve_command(context, list(words))
        context = click.Context(command, info_name=name, parent=context)
    command.make_context(words[0] if words else "", list(words))


@pytest.mark.parametrize("words", [c for c in commands() if c.values[0][0] not in LONG])
def test_a_quick_documented_command_runs(cli, words):  # noqa: F811
    cli("episode", "run", "oscillator/kick-sign", "--agent", "nop")
    said = cli(*words)
    assert said.code == 0, said.err


def test_pages_link_to_what_exists():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_python_in_the_readme_runs(shop, capsys):
    code = re.search(r"```python\n(.+?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    code = code.replace('si.tasks(split="train")[0]', '"oscillator/kick-sign"')
    exec(compile(code, "README.md", "exec"), {})
    assert "visible cases pass" in capsys.readouterr().out
