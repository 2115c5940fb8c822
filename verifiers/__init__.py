"""Reading outputs, criteria, tolerances, scores, floors and verdicts; pure, and trusting nothing."""

from scienceide.verifiers.spec import (
    Bounds,
    Conserved,
    Criterion,
    Evidence,
    Exact,
    Location,
    Norm,
    ObservableSpec,
    Strict,
)

__all__ = [
    "Bounds",
    "Conserved",
    "Criterion",
    "Evidence",
    "Exact",
    "Location",
    "Norm",
    "ObservableSpec",
    "Strict",
]
