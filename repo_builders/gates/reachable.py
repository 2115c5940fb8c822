"""Gate: nothing in the agent's sandbox gives the answer away.

A line of code that also stands elsewhere is no leak by itself: short statements repeat in any code. It is
one when a neighbouring line stands beside it there too, for then it is a copy of the site; and when it is so
long that it says what the site should be wherever it stands.
"""

from __future__ import annotations

from scienceide.repo_builders.gates.result import GateResult
from scienceide.repo_builders.gates.search import Hit, Report
from scienceide.repo_builders.gates.trial import Trial

SHORTEST = 8
"""A site with fewer characters, white space aside, cannot be searched for."""
DISTINCTIVE = 24
"""A line of so many characters does not stand in two places by chance."""


def check(report: Report) -> GateResult:
    """Judge what a search has found."""
    lengths = {needle.id: len(needle.text) for needle in report.needles}
    repeats = [hit for hit in report.hits if not is_leak(hit, lengths)]
    leaks = [hit for hit in report.hits if is_leak(hit, lengths)]
    evidence = {
        "files": report.files,
        "bytes": report.bytes,
        "site_characters": sorted(lengths.values()),
        "repeats": sum(hit.count for hit in repeats),
        "leaks": [{"kind": hit.kind, "path": hit.path, "copy": hit.context} for hit in leaks],
    }
    short = [n for n in lengths.values() if n < SHORTEST]
    if short:
        return GateResult("reachable", False, f"The site has only {short[0]} characters to search for.", evidence)
    if leaks:
        what = {"text": "the pristine text", "bytecode": "compiled unbroken code", "product": "an unbroken build"}
        return GateResult("reachable", False, f"{leaks[0].path} holds {what[leaks[0].kind]}.", evidence)
    return GateResult("reachable", True, evidence=evidence)


def is_leak(hit: Hit, lengths: dict[str, int]) -> bool:
    """Whether a hit gives an answer away, rather than being a line that repeats."""
    return hit.kind != "text" or hit.context or lengths[hit.id] >= DISTINCTIVE


def run(trial: Trial) -> GateResult:
    """Try it on a draft."""
    return check(trial.search)
