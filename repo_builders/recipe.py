"""A recipe for a pure Python package that comes without one."""

from __future__ import annotations

import re
import tomllib
from email.parser import HeaderParser
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from scienceide.base.errors import UserError
from scienceide.envs.formats import Build, Editable, Environment, Image, Limits, Source

_COMPILED = {".c", ".cc", ".cpp", ".cxx", ".pyx", ".f", ".f90", ".f95", ".rs", ".cu"}
_NO_PACKAGE = {"tests", "test", "docs", "doc", "examples", "example", "benchmarks", "tools", "scripts"}


def generate(source: Source, tree: Path) -> Environment:
    """An `environment.toml` for the unpacked source in `tree`, run from the tree itself.

    Raises:
        UserError: it has compiled parts, or no package is found in it.
    """
    root = tree / "src" if any((tree / "src").glob("*/__init__.py")) else tree
    packages = sorted(p.parent.name for p in root.glob("*/__init__.py") if p.parent.name not in _NO_PACKAGE)
    modules = sorted(p.name for p in root.glob("*.py") if not re.match(r"setup|conftest|test_|noxfile", p.name))
    if not packages and not modules:
        raise UserError(f"{source.name}: there is no Python package in its source; write an environment.toml for it.")
    compiled = [p for name in packages for p in (root / name).rglob("*") if p.suffix in _COMPILED]
    if compiled:
        example = compiled[0].relative_to(tree)
        raise UserError(f"{source.name} has compiled parts ({example}, …); write an environment.toml that builds them.")
    prefix = "" if root == tree else "src/"
    return Environment(
        name=_name(source.name),
        title=f"{source.name} {source.version}".strip(),
        source=source,
        image=Image(requirements=_requirements(tree)),
        build=Build(
            environment={"PYTHONPATH": "{tree}/src" if prefix else "{tree}", "SCIENCEIDE_TREE": "{tree}"},
        ),
        editable=Editable(
            include=(*(f"{prefix}{name}/**/*.py" for name in packages), *(f"{prefix}{m}" for m in modules)),
            exclude=("**/tests/**", "**/test_*.py", "**/conftest.py", "**/_version.py"),
        ),
        limits=Limits(memory=2 * 2**30, step_cpu=120.0, step_wall=300.0),
    )


def _requirements(tree: Path) -> tuple[str, ...]:
    """What the package needs to run, as its metadata or pyproject.toml says, and what recording needs."""
    stated: list[str] = []
    metadata, project = tree / "PKG-INFO", tree / "pyproject.toml"
    if metadata.is_file():
        headers = HeaderParser().parsestr(metadata.read_text(encoding="utf-8", errors="replace"))
        stated = headers.get_all("Requires-Dist") or []
    elif project.is_file():
        try:
            stated = tomllib.loads(project.read_text(encoding="utf-8")).get("project", {}).get("dependencies", [])
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            raise UserError(f"{project}: not valid TOML.") from None
    needed = {"numpy": "numpy", "pytest": "pytest"}
    for text in stated:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            requirement.marker = None
            needed[requirement.name.lower()] = str(requirement)
    return tuple(needed[name] for name in sorted(needed))


def _name(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:64]
