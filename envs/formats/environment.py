"""`environment.toml`: a pinned, unmodified scientific code and how it is built and run."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from scienceide.base.quantities import Bytes, Seconds
from scienceide.verifiers import Strict

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=64)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]

SCIENCES = (
    "astronomy",
    "biology",
    "chemistry",
    "climate",
    "earth",
    "engineering",
    "fluids",
    "materials",
    "mathematics",
    "physics",
    "quantum",
    "other",
)
Science = Literal[
    "astronomy",
    "biology",
    "chemistry",
    "climate",
    "earth",
    "engineering",
    "fluids",
    "materials",
    "mathematics",
    "physics",
    "quantum",
    "other",
]


class Source(Strict):
    """Where the code comes from, pinned by content."""

    kind: Literal["pypi", "folder"]
    name: str
    version: str = ""
    path: str | None = None
    """`folder` only: absolute, or relative to the environment folder."""
    sha256: Sha256
    """Of the archive; for a folder, of its files' names and contents."""
    licence: str = "LicenseRef-unknown"
    """SPDX expression, as found."""
    citation: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Source:
        if self.kind == "pypi" and not self.version:
            raise ValueError("a pypi source needs a version")
        if self.kind == "folder" and not self.path:
            raise ValueError("a folder source needs a path")
        return self


class Image(Strict):
    """What the sandbox offers besides the code: system packages and Python dependencies."""

    base: str = "python"
    """A named base: `python` is this machine's own Python and compilers (bubblewrap) or a Debian image
    with the same (Docker)."""
    system: tuple[str, ...] = ()
    """Debian packages, where the image is ours to build."""
    requirements: tuple[str, ...] = ()
    """Python dependencies to build and to run, installed from the package index, wheels preferred."""
    index_cutoff: date | None = None
    """Take dependency versions as they were on that day."""


class Build(Strict):
    """How the source tree becomes runnable, in place, without network."""

    commands: tuple[str, ...] = ()
    incremental: tuple[str, ...] = ()
    """After a patch; defaults to `commands`. Pure Python needs neither."""
    products: tuple[str, ...] = ()
    """Globs of compiled files that must exist afterwards: the proof that the compiled part is there."""
    compiled: tuple[str, ...] = ()
    """Globs of the files whose change needs a build; any other change needs none."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Environment variables when building and running, `{tree}` stands for the tree's path."""


class Editable(Strict):
    """What a patch may touch; everything else is refused. Globs; `**` crosses folders."""

    include: tuple[str, ...]
    exclude: tuple[str, ...] = ()


class Limits(Strict):
    """What one sandbox may use."""

    memory: Bytes = 2 * 2**30
    processes: int = Field(default=128, ge=8)
    disk: Bytes = 2**30
    step_cpu: Seconds = 120.0
    """CPU time of one command, all its children together."""
    step_wall: Seconds = 300.0
    episode_wall: Seconds = 1800.0


class Environment(Strict):
    """A whole `environment.toml`."""

    # `schema` is taken by pydantic, so the field has an alias.
    schema_version: Literal[1] = Field(default=1, alias="schema")
    name: Name
    title: str
    science: Science = "other"
    languages: tuple[str, ...] = ("python",)
    source: Source
    image: Image = Image()
    build: Build = Build()
    editable: Editable
    limits: Limits = Limits()
