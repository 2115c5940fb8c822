"""Reading outputs, criteria, tolerances, scores, floors and verdicts; pure, and trusting nothing."""

from scienceide.verifiers.criteria import error, tolerance
from scienceide.verifiers.judging import judge_case
from scienceide.verifiers.outputs import Failure, Outputs, extra_arrays, read_folder, read_outputs
from scienceide.verifiers.scoring import graded, repair_reward
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
from scienceide.verifiers.verdict import CaseVerdict, Finding, ObservableVerdict, Outcome, Verdict, verifier_hash

__all__ = [
    "Bounds",
    "CaseVerdict",
    "Conserved",
    "Criterion",
    "Evidence",
    "Exact",
    "Failure",
    "Finding",
    "Location",
    "Norm",
    "ObservableSpec",
    "ObservableVerdict",
    "Outcome",
    "Outputs",
    "Strict",
    "Verdict",
    "error",
    "extra_arrays",
    "graded",
    "judge_case",
    "read_folder",
    "read_outputs",
    "repair_reward",
    "tolerance",
    "verifier_hash",
]
