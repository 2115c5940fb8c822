"""Plots of observables: what the code now gives against what it should give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scienceide.base.errors import UserError, unknown
from scienceide.envs.episode import Episode
from scienceide.verifiers import Outputs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 4
"""Observables in one figure, where none is named."""


def plot_case(episode: Episode, case: str, observable: str | None = None) -> Figure:
    """Run a visible case in the episode's sandbox and draw each observable against its reference.

    Args:
        episode: a started episode.
        case: a visible case's name.
        observable: one of its observables; the first few when left out.

    Raises:
        UserError: no such case or observable, or nothing of it can be drawn.
    """
    from scienceide.figures import ShownFigure

    now, reference = episode.compare(case)
    specs = {o.name: o for o in episode.task.task.environment.cases[case].observables}
    if observable is not None and observable not in specs:
        raise unknown("observable", observable, specs)
    names = [observable] if observable else [n for n in specs if _drawable(reference, n)][:MOST]
    if not names:
        raise UserError(f"Case {case} has no numeric observable to draw.")
    figure = ShownFigure(figsize=(9.0, 2.4 * len(names)), layout="constrained")
    axes = figure.subplots(len(names), 2, squeeze=False)
    for (left, right), name in zip(axes, names, strict=True):
        _draw(left, right, name, specs[name].unit, now, reference)
    figure.suptitle(f"{episode.task_id}: {case}")
    return figure


def _drawable(outputs: Outputs, name: str) -> bool:
    return name in outputs.arrays and outputs.arrays[name].dtype.kind in "biufc"


def _draw(left: Axes, right: Axes, name: str, unit: str, now: Outputs, reference: Outputs) -> None:
    """Left: magnitudes over the flattened index. Right: the absolute error, logarithmic."""
    expected = np.ravel(reference.arrays[name])
    index = np.arange(expected.size)
    left.plot(index, _magnitude(expected), label="reference", color="C0", linewidth=2, alpha=0.6)
    left.set_ylabel(f"{name} [{unit}]" if unit != "1" else name)
    right.set_ylabel("absolute error")
    if name in now.failures:
        right.text(0.5, 0.5, str(now.failures[name]), ha="center", transform=right.transAxes)
    elif name in now.arrays and now.arrays[name].dtype.kind in "biufc":
        got = np.ravel(now.arrays[name])
        left.plot(np.arange(got.size), _magnitude(got), label="now", color="C3", linewidth=1, linestyle="--")
        if got.size == expected.size:
            _draw_error(right, index, np.abs(got - expected))
    left.legend(loc="best", fontsize="small")


def _draw_error(axes: Axes, index: NDArray[Any], error: NDArray[Any]) -> None:
    """A perfect observable has no points on a logarithmic axis; say so instead."""
    if error.any():
        axes.semilogy(index[error > 0], error[error > 0], color="C3", marker=".", linestyle="none")
    else:
        axes.text(0.5, 0.5, "equal to the last bit", ha="center", transform=axes.transAxes)
        axes.set_yticks([])


def _magnitude(values: NDArray[Any]) -> NDArray[Any]:
    return np.abs(values) if values.dtype.kind == "c" else values
