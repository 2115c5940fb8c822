"""Running the command line in this process."""

import json
import sys
from dataclasses import dataclass

import pytest

from scienceide.cli import main


@dataclass
class Said:
    """What a command left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def cli(monkeypatch, capfd, tmp_path):
    """Run `scienceide <words>`, with a run store of its own."""
    monkeypatch.setenv("SCIENCEIDE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "160")

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["scienceide", *map(str, words)])
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        out, err = capfd.readouterr()
        return Said(code, out, err)

    return run
