"""Gate: the instruction tells the symptom, never the place or the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from scienceide.envs.defects import content_of, to_text
from scienceide.envs.formats import Edit
from scienceide.repo_builders.gates.result import GateResult
from scienceide.repo_builders.gates.trial import Trial

SHORTEST = 8
"""Fewer characters, white space aside, are no quotation."""


def check(
    instruction: str, weak_hints: Sequence[str], edits: Sequence[Edit], pristine: Mapping[str, str]
) -> GateResult:
    """Look for the place and the text of each site.

    Args:
        instruction: what every agent reads.
        weak_hints: hints below the one that names the line.
        edits: the defect.
        pristine: the pristine text by file.
    """
    found: list[str] = []
    for edit in edits:
        path = PurePosixPath(edit.file)
        for name in (edit.file, path.name):
            if name in instruction:
                found.append(f"the instruction names the file {name}")
        line = content_of(pristine[edit.file].split("\n")[edit.line - 1])
        for where, text in [("the instruction", instruction), *(("a hint", hint) for hint in weak_hints)]:
            if _quotes(text, line):
                found.append(f"{where} quotes the pristine line")
            if re.search(rf"(?i)\blines? {edit.line}\b", text):
                found.append(f"{where} names the line")
    if found:
        return GateResult("disclosure", False, f"{found[0]}.".capitalize(), {"found": found})
    return GateResult("disclosure", True, evidence={"characters": len(instruction)})


def run(trial: Trial) -> GateResult:
    """Try it on a draft."""
    draft = trial.draft
    pristine = {file: to_text(data) for file, data in trial.pristine.items()}
    return check(draft.instruction, draft.task.hints[1:], draft.defect.edits, pristine)


def _quotes(text: str, line: str) -> bool:
    bare = "".join(line.split())
    return len(bare) >= SHORTEST and bare in "".join(text.split())
