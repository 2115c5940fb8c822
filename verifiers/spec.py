"""What a case promises about its outputs: observables, and the criterion each must meet.

These models are the `[[observable]]` tables of `case.toml`; everything the verifier needs to judge an
output is in them, except the reference values, which are recomputed from the pristine code.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Strict(BaseModel):
    """A frozen record that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Location(Strict):
    """Where in a case's output folder an observable is found.

    `.npz` and JSON need `key` (JSON: dotted path); CSV and whitespace tables take `column` (a header
    name or a zero-based number); any text file takes `pattern`, a regular expression whose group 1 is
    the number, all matches in order.
    """

    file: str
    key: str | None = None
    column: str | int | None = None
    pattern: str | None = None


class Norm(Strict):
    """‖candidate − reference‖ within `tolerance`, in the units that `scale` says.

    scale `absolute`: the plain norm of the difference.
    scale `relative`: elementwise |c − r| / |r| before the norm (zero where both are zero).
    scale `field`: the norm divided by the same norm of the reference.
    l1 and l2 are means (mean |x|, root mean square), so that they do not grow with the array.
    """

    kind: Literal["norm"] = "norm"
    norm: Literal["linf", "l1", "l2"] = "linf"
    scale: Literal["absolute", "relative", "field"] = "field"
    tolerance: float = Field(gt=0)


class Exact(Strict):
    """Equal element by element: integers, booleans, text."""

    kind: Literal["exact"] = "exact"


class Conserved(Strict):
    """A quantity that may not drift: max |x(t) − x(0)| / |x(0)| within `tolerance` along axis 0.

    Where x(0) is zero the drift is absolute.
    """

    kind: Literal["conserved"] = "conserved"
    tolerance: float = Field(gt=0)


class Bounds(Strict):
    """Every element within [`low`, `high`] and |x| ≤ `max_abs`; at least one of them is given.

    The error is the largest distance outside the bounds, over `scale`.
    """

    kind: Literal["bounds"] = "bounds"
    low: float | None = None
    high: float | None = None
    max_abs: float | None = Field(default=None, gt=0)
    scale: float = Field(default=1.0, gt=0)

    @model_validator(mode="after")
    def _some_bound(self) -> Bounds:
        if self.low is None and self.high is None and self.max_abs is None:
            raise ValueError("bounds needs at least one of low, high, max_abs")
        return self


Criterion = Annotated[Norm | Exact | Conserved | Bounds, Field(discriminator="kind")]


class Evidence(Strict):
    """Why a tolerance stands where it stands: measured floors, in the criterion's own error units.

    `noise`: the largest error among legitimate runs of pristine code. `signal`: the typical (median)
    error of mutants that move this observable at all. Both as measured, `how` says by which means.
    """

    noise: float = Field(ge=0)
    signal: float | None = Field(default=None, ge=0)
    how: str = ""


class ObservableSpec(Strict):
    """One named output of a case."""

    name: str
    source: Location = Field(alias="from")
    unit: str = "1"
    shape: tuple[str | int, ...] | None = None
    """Axis names (any length) or exact lengths, checked when given."""
    criterion: Criterion
    evidence: Evidence | None = None
