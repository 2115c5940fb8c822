"""What a case promises about its outputs: observables, and the criterion each must meet.

These models are the `[[observable]]` tables of `case.toml`; everything the verifier needs to judge an
output is in them, except the reference values, which are recomputed from the pristine code.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Strict(BaseModel):
    """A frozen record that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Location(Strict):
    """Where in a case's output folder an observable is found.

    `.npz` takes `key`, `.npy` nothing, `.json` a dotted `key` or nothing for the whole document. Any other
    file is text: `column` picks a column of a comma or white-space separated table by its header's name or
    zero-based number, nothing takes the whole table, and `pattern` is a regular expression whose group 1 is
    the number. It is searched line by line; all matches, in order, make the array.
    """

    file: str
    key: str | None = None
    column: str | int | None = None
    pattern: str | None = None

    @property
    def suffix(self) -> str:
        """The file's kind, in lower case: `.npz`, `.npy`, `.json`, or anything else for text."""
        return PurePosixPath(self.file).suffix.lower()

    @model_validator(mode="after")
    def _readable(self) -> Location:
        path = PurePosixPath(self.file)
        if not path.name or path.is_absolute() or ".." in path.parts or "\0" in self.file:
            raise ValueError(f"file must be a path inside the case's folder, got {self.file!r}")
        given = [name for name in ("key", "column", "pattern") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} exclude each other")
        allowed = {".npz": ["key"], ".npy": [], ".json": ["key"]}.get(self.suffix, ["column", "pattern"])
        if given and given[0] not in allowed:
            raise ValueError(f"{self.file}: {given[0]} does not apply to such a file")
        if self.suffix == ".npz" and self.key is None:
            raise ValueError(f"{self.file}: an .npz file needs key, the array's name")
        if isinstance(self.column, int) and self.column < 0:
            raise ValueError("column counts from zero")
        if self.pattern is not None:
            _check_pattern(self.pattern)
        return self


def _check_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"pattern is not a regular expression: {error}") from None
    if groups < 1:
        raise ValueError("pattern needs a group (…) around the number")
    # Exponential on text that almost matches, and the text comes from code that nobody trusts.
    if nests_repeats(pattern):
        raise ValueError("pattern repeats a group that repeats something itself; write it without the nesting")


def nests_repeats(pattern: str) -> bool:
    """Whether a valid regular expression repeats a group with a repeat in it, as `(a+)+` does."""
    plain = re.sub(r"\\.", "x", pattern)  # escapes, then classes: what is left of ( ) * + { is syntax
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "x", plain)
    repeats = [False]
    for at, character in enumerate(plain):
        if character == "(":
            repeats.append(False)
        elif character in "*+{":
            repeats[-1] = True
        elif character == ")":
            inner = repeats.pop()
            if inner and plain[at + 1 : at + 2] in ("*", "+", "{"):
                return True
            repeats[-1] |= inner
    return False


class Norm(Strict):
    """‖candidate − reference‖ within `tolerance`, in the units that `scale` says.

    scale `absolute`: the plain norm of the difference.
    scale `relative`: elementwise |c − r| / |r| before the norm: zero where both are zero, infinite where
    only r is.
    scale `field`: the norm divided by the same norm of the reference; absolute where that norm is zero.
    l1 and l2 are means (mean |x|, root mean square), so that they do not grow with the array.
    """

    kind: Literal["norm"] = "norm"
    norm: Literal["linf", "l1", "l2"] = "linf"
    scale: Literal["absolute", "relative", "field"] = "field"
    tolerance: float = Field(gt=0, allow_inf_nan=False)


class Exact(Strict):
    """Equal element by element: integers, booleans, text. The error is the share of elements that differ."""

    kind: Literal["exact"] = "exact"


class Conserved(Strict):
    """A quantity that may not drift: max |x(t) − x(0)| / |x(0)| within `tolerance` along axis 0.

    Where x(0) is zero the drift is absolute. A start at zero where the reference starts at something else
    is an error of at least 1: what has vanished is not conserved.
    """

    kind: Literal["conserved"] = "conserved"
    tolerance: float = Field(gt=0, allow_inf_nan=False)


class Bounds(Strict):
    """Every element within [`low`, `high`] and |x| ≤ `max_abs`; at least one of them is given.

    The error is the largest distance outside the bounds, over `scale`. Complex values have a `max_abs` only.
    """

    kind: Literal["bounds"] = "bounds"
    low: float | None = Field(default=None, allow_inf_nan=False)
    high: float | None = Field(default=None, allow_inf_nan=False)
    max_abs: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    scale: float = Field(default=1.0, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _some_bound(self) -> Bounds:
        if self.low is None and self.high is None and self.max_abs is None:
            raise ValueError("bounds needs at least one of low, high, max_abs")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low ({self.low}) lies above high ({self.high})")
        return self


Criterion = Annotated[Norm | Exact | Conserved | Bounds, Field(discriminator="kind")]


class Evidence(Strict):
    """Why a tolerance stands where it stands: measured floors, in the criterion's own error units.

    `noise`: the largest error among legitimate runs of pristine code. `signal`: the typical (median)
    error of mutants that move this observable at all. Both as measured, `how` says by which means.
    """

    noise: float = Field(ge=0)
    signal: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    how: str = ""


class ObservableSpec(Strict):
    """One named output of a case."""

    name: str = Field(min_length=1)
    source: Location = Field(alias="from")
    unit: str = "1"
    shape: tuple[str | Annotated[int, Field(ge=0)], ...] | None = None
    """Axis names or exact lengths, checked when given; a name stands for one length, whatever it is."""
    criterion: Criterion
    evidence: Evidence | None = None
