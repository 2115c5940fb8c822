"""Writing measured values into a `case.toml` that a person wrote, leaving the rest of it as it stands."""

from __future__ import annotations

import json
import re
import tomllib

from pydantic import ValidationError

from scienceide.envs.formats import Case, to_toml
from scienceide.verifiers import Evidence, ObservableSpec

_HEADER = re.compile(r"(?m)^\[\[observable\]\][^\n]*\n")
_TABLE = re.compile(r"(?m)^\[")
_TOLERANCE = re.compile(r"\btolerance\s*=\s*[0-9.eE+-]+")
_EVIDENCE = re.compile(r"(?m)^evidence\s*=\s*\{[^\n]*\}[ \t]*(#[^\n]*)?\n")
_CPU = re.compile(r"(?m)^cpu\s*=[^\n]*\n")


def annotated(text: str, case: Case) -> str:
    """The text of a case file with the CPU time, tolerances and evidence of `case`.

    Comments and layout stay, where the file's layout is the usual one of a line for each setting; a file in
    another layout is written anew.
    """
    starts = [match.start() for match in _HEADER.finditer(text)]
    if len(starts) == len(case.observables):
        ends = [*starts[1:], len(text)]
        head = _with_cpu(text[: starts[0]], case.cpu)
        blocks = [
            _with_measurements(text[start:end], observable)
            for start, end, observable in zip(starts, ends, case.observables, strict=True)
        ]
        edited = head + "".join(blocks)
        if _reads_as(edited, case):
            return edited
    return to_toml(case)


def _with_cpu(head: str, cpu: float | None) -> str:
    """The part before the observables with the CPU time as the last of the case's own settings."""
    head = _CPU.sub("", head)
    if cpu is None:
        return head
    table = _TABLE.search(head)
    place = table.start() if table else len(head.rstrip()) + 1
    before = head[:place].rstrip("\n")
    return f"{before}\ncpu = {cpu}\n\n{head[place:].lstrip()}"


def _with_measurements(block: str, observable: ObservableSpec) -> str:
    """One `[[observable]]` table with its tolerance and evidence."""
    tolerance = getattr(observable.criterion, "tolerance", None)
    block = _EVIDENCE.sub("", block)
    if tolerance is not None:
        block = _TOLERANCE.sub(f"tolerance = {tolerance!r}", block, count=1)
    if observable.evidence is None:
        return block
    body = block.rstrip("\n")
    return f"{body}\n{_line(observable.evidence)}\n{block[len(body) + 1 :]}"


def _line(evidence: Evidence) -> str:
    """Evidence as one line of TOML."""
    parts = [f"noise = {evidence.noise!r}"]
    if evidence.signal is not None:
        parts.append(f"signal = {evidence.signal!r}")
    if evidence.how:
        parts.append(f"how = {json.dumps(evidence.how, ensure_ascii=False)}")
    return f"evidence = {{ {', '.join(parts)} }}"


def _reads_as(text: str, case: Case) -> bool:
    try:
        return Case.model_validate(tomllib.loads(text)) == case
    except (tomllib.TOMLDecodeError, ValidationError):
        return False
