"""What is installed is what is there: every package is listed, and its data comes along."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("scienceide", "verifiers", "infra", "envs", "repo_builders", "trainers")


def packages_on_disk():
    found = set()
    for room in ROOMS:
        for path in (ROOT / room).rglob("__init__.py"):
            parts = path.parent.relative_to(ROOT).parts
            if "catalog" not in parts[1:]:
                found.add(".".join(parts if room == "scienceide" else ("scienceide", *parts)))
    return found


def test_every_package_is_listed_and_none_else():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert set(listed) == packages_on_disk()


def test_every_folder_with_code_is_a_package():
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            if "catalog" not in path.parts:
                assert (path.parent / "__init__.py").is_file(), path


def test_every_dependency_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    extras = project["optional-dependencies"]
    named = [d for name in ("docker", "train", "chat", "lab", "dev") for d in extras[name]]
    wanted = [*project["dependencies"], *named]
    for requirement in wanted:
        name = requirement.split(";")[0].split(">")[0].split("[")[0].split("=")[0].strip().lower()
        assert name in pinned, requirement
