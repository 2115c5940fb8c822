"""Environments: formats, sandboxes, tasks, episodes, agents, and the Gymnasium registration."""

from scienceide.envs.catalog import (
    LoadedEnvironment,
    LoadedTask,
    environment_names,
    load_environment,
    load_task,
    task_ids,
    tasks,
)

__all__ = [
    "LoadedEnvironment",
    "LoadedTask",
    "environment_names",
    "load_environment",
    "load_task",
    "task_ids",
    "tasks",
]
