"""Reading outputs, criteria, tolerances, scores, floors and verdicts; pure, and trusting nothing."""

from scienceide.verifiers.criteria import error, tolerance
from scienceide.verifiers.failures import FAILURES, Failure, FailureName
from scienceide.verifiers.identity import verifier_hash
from scienceide.verifiers.judging import judge_case
from scienceide.verifiers.outputs import Outputs, read_outputs
from scienceide.verifiers.scoring import graded, repair_reward, score_of, signal_of, wholly_wrong
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
from scienceide.verifiers.verdict import CaseVerdict, Finding, ObservableVerdict, Outcome, PublicVerdict, Verdict

__all__ = [
    "FAILURES",
    "Bounds",
    "CaseVerdict",
    "Conserved",
    "Criterion",
    "Evidence",
    "Exact",
    "Failure",
    "FailureName",
    "Finding",
    "Location",
    "Norm",
    "ObservableSpec",
    "ObservableVerdict",
    "Outcome",
    "Outputs",
    "PublicVerdict",
    "Strict",
    "Verdict",
    "error",
    "graded",
    "judge_case",
    "read_outputs",
    "repair_reward",
    "score_of",
    "signal_of",
    "tolerance",
    "verifier_hash",
    "wholly_wrong",
]
