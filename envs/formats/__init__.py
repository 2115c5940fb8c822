"""The files of an environment folder as typed, versioned records, and how to read and write them."""

from scienceide.envs.formats.case import Case
from scienceide.envs.formats.environment import Build, Editable, Environment, Image, Limits, Source
from scienceide.envs.formats.io import load_toml, to_toml
from scienceide.envs.formats.task import Defect, Difficulty, Edit, Provenance, Task

__all__ = [
    "Build",
    "Case",
    "Defect",
    "Difficulty",
    "Edit",
    "Editable",
    "Environment",
    "Image",
    "Limits",
    "Provenance",
    "Source",
    "Task",
    "load_toml",
    "to_toml",
]
