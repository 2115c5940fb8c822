"""The published tasks: complete, gated, split by source file, and without a line of anybody else's code."""

import json

import pytest

from scienceide.envs.catalog import CATALOG, load_environment
from scienceide.envs.defects import broken_files, fixed_files, reader, to_text
from scienceide.envs.formats import Defect, Task, load_toml
from scienceide.envs.formats.io import load_json
from scienceide.envs.sources import fetch
from scienceide.repo_builders.gates import GATES

ENVIRONMENTS = sorted({p.parents[2].name for p in CATALOG.glob("*/tasks/*/task.toml")})
"""Those with published tasks; one whose tasks are still being made is no fault."""
QUOTATION = 16
"""Characters, white space aside, from which a line of code is recognisable."""


def tasks_of(name):
    folders = sorted(p.parent for p in (CATALOG / name).glob("tasks/*/task.toml"))
    return {f.name: (f, load_toml(f / "task.toml", Task), load_json(f / "defect.json", Defect)) for f in folders}


def test_there_are_published_tasks():
    assert "fluids" in ENVIRONMENTS


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_enough_tasks_on_two_sides(name):
    tasks = tasks_of(name)
    assert len(tasks) >= 20
    sides = {side: [t for _, t, _ in tasks.values() if t.split == side] for side in ("train", "heldout")}
    assert len(sides["train"]) >= 8
    assert len(sides["heldout"]) >= 6


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_no_source_file_on_both_sides(name):
    files = {"train": set(), "heldout": set()}
    for _, task, defect in tasks_of(name).values():
        files[task.split] |= {edit.file for edit in defect.edits}
        assert task.lineage.partition("::")[0] in files[task.split]
    assert files["train"].isdisjoint(files["heldout"])


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_gate_was_passed(name):
    for folder, task, _ in tasks_of(name).values():
        gates = json.loads((folder / task.provenance.gates).read_text())
        assert {g["gate"]: g["passed"] for g in gates} == dict.fromkeys(GATES, True), folder
        assert len(task.hints) == 3
        assert task.derivation


@pytest.mark.slow
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_defects_apply_and_nothing_quotes_the_source(name):
    environment = load_environment(name)
    source = fetch(environment.environment.source, environment.folder)
    lines = set()
    for folder, _, defect in tasks_of(name).values():
        read = reader(source)
        broken = broken_files(defect, read)
        fixed = fixed_files(defect, read)
        assert all(fixed[file] == read(file) != broken[file] for file in broken), folder
        for file in broken:
            lines |= {"".join(line.split()) for line in to_text(read(file)).split("\n")}
    telling = {line for line in lines if len(line) >= QUOTATION}
    for path in sorted(p for p in environment.folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert "".join(line.split()) not in telling, f"{path}: {line.strip()}"
