"""Every error ScienceIDE raises on purpose, and whose fault each one is.

    Fault                      one clear sentence, `blame` says whose move it is
    ├── UserError              input a person wrote: a file, a field, a name, a flag
    ├── TaskError              a published task or environment that does not hold what it promises
    ├── SandboxError           the machinery that isolates code failed (daemon, mount, disk, kernel)
    ├── VerifierError          grading could not run; the episode is ungraded, never zero
    └── ModelError             a model or its endpoint could not answer

What an *agent* does wrong is never an exception: it is an observation or an integrity finding.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar, Literal

Blame = Literal["user", "task", "sandbox", "verifier", "model"]


class Fault(Exception):
    """Base of all deliberate errors; `str(error)` is one sentence a person can act on."""

    blame: ClassVar[Blame]


class UserError(Fault):
    """Bad input: says which file or flag, which field, and what was expected."""

    blame = "user"


class TaskError(Fault):
    """A task or environment is broken: a defect no longer applies, a reference is missing."""

    blame = "task"


class SandboxError(Fault):
    """A sandbox could not be had or died; retrying elsewhere may work."""

    blame = "sandbox"


class VerifierError(Fault):
    """Grading itself failed; the verdict is *ungraded*."""

    blame = "verifier"


class ModelError(Fault):
    """A model or model endpoint failed to produce an answer."""

    blame = "model"


def unknown(kind: str, name: str, known: Iterable[str]) -> UserError:
    """The error for a name that does not exist, offering the nearest ones that do."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return UserError(f"No {kind} named {name!r}; did you mean {', '.join(near)}?")
    few = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return UserError(f"No {kind} named {name!r}; known: {few or 'none'}.")
