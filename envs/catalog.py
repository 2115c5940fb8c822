"""Finding and loading environments and tasks on disk.

A catalog is a folder of environment folders. The one that ships with the package is searched first,
then each folder of `$SCIENCEIDE_CATALOG` (separated like PATH). An environment may also be named by the
path of its folder, and a task by `<environment>/<task>` or the path of its folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from scienceide.base.errors import UserError, unknown
from scienceide.envs.formats import Case, Defect, Environment, Task, load_toml
from scienceide.envs.formats.io import load_json

CATALOG = Path(__file__).parent / "catalog"


@dataclass(frozen=True)
class LoadedEnvironment:
    """An environment folder: its record, and its cases by name."""

    folder: Path
    environment: Environment

    @property
    def name(self) -> str:
        """The environment's own name, which is also its folder's."""
        return self.environment.name

    @cached_property
    def cases(self) -> Mapping[str, Case]:
        """All cases, visible and hidden, sorted by name."""
        folders = sorted(p.parent for p in self.folder.glob("cases/*/case.toml"))
        return {folder.name: load_toml(folder / "case.toml", Case) for folder in folders}

    @property
    def task_names(self) -> list[str]:
        """Names of the published tasks, sorted."""
        return sorted(p.parent.name for p in self.folder.glob("tasks/*/task.toml"))

    def case_files(self, case: str) -> dict[str, bytes]:
        """The files a case runs with: its folder without `case.toml`, which holds what only we may know."""
        folder = self.folder / "cases" / case
        files = sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
        return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files if p.name != "case.toml"}


@dataclass(frozen=True)
class LoadedTask:
    """A task folder together with its environment."""

    environment: LoadedEnvironment
    folder: Path
    task: Task
    defect: Defect
    instruction: str

    @property
    def id(self) -> str:
        """`<environment>/<task>`."""
        return f"{self.environment.name}/{self.folder.name}"


def catalog_folders() -> list[Path]:
    """The folders searched, in order."""
    extra = [Path(p) for p in os.environ.get("SCIENCEIDE_CATALOG", "").split(os.pathsep) if p]
    return [CATALOG, *extra]


def environment_names() -> list[str]:
    """Names of all environments that can be loaded by name, sorted."""
    return sorted(_environment_folders())


def load_environment(name: str) -> LoadedEnvironment:
    """Load an environment by name or by the path of its folder.

    Raises:
        UserError: there is none, or one of its files is broken (which, where, what was expected).
    """
    folder = _environment_folders().get(name)
    if folder is None:
        folder = Path(name)
        if not (folder / "environment.toml").is_file():
            raise unknown("environment", name, environment_names())
    environment = load_toml(folder / "environment.toml", Environment)
    if environment.name != folder.resolve().name:
        raise UserError(
            f"{folder / 'environment.toml'}: 'name' is {environment.name!r} but its folder is {folder.name!r}."
        )
    return LoadedEnvironment(folder.resolve(), environment)


def load_task(task: str) -> LoadedTask:
    """Load a task by `<environment>/<task>` or by the path of its folder.

    Raises:
        UserError: there is none (the nearest names are offered), or one of its files is broken.
    """
    environment_name, _, name = task.rstrip("/").rpartition("/")
    if Path(task, "task.toml").is_file():
        folder = Path(task).resolve()
        environment = load_environment(str(folder.parent.parent))
    else:
        if environment_name not in _environment_folders():
            raise unknown("task", task, task_ids())
        environment = load_environment(environment_name)
        folder = environment.folder / "tasks" / name
        if name not in environment.task_names:
            raise unknown("task", task, [f"{environment.name}/{t}" for t in environment.task_names])
    record = load_toml(folder / "task.toml", Task)
    defect = load_json(folder / "defect.json", Defect)
    try:
        instruction = (folder / record.instruction).read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{folder / record.instruction}: {error.strerror or error}.") from None
    return LoadedTask(environment, folder, record, defect, instruction)


def task_ids(*, split: str | None = None, environment: str | None = None) -> list[str]:
    """Ids of all tasks by name, of one split or one environment if asked for."""
    return [task.id for task in tasks(split=split, environment=environment)] if split else _all_ids(environment)


def tasks(*, split: str | None = None, environment: str | None = None) -> Iterator[LoadedTask]:
    """Load tasks, of one split or one environment if asked for, in the order of their ids."""
    for task_id in _all_ids(environment):
        task = load_task(task_id)
        if split is None or task.task.split == split:
            yield task


def _all_ids(environment: str | None) -> list[str]:
    names = environment_names() if environment is None else [load_environment(environment).name]
    folders = _environment_folders()
    ids = []
    for name in names:
        folder = folders.get(name) or Path(environment or name).resolve()
        ids += [f"{name}/{p.parent.name}" for p in folder.glob("tasks/*/task.toml")]
    return sorted(ids)


def _environment_folders() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for root in catalog_folders():
        for path in sorted(root.glob("*/environment.toml")):
            found.setdefault(path.parent.name, path.parent)
    return found
