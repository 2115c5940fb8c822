"""What a task says: the symptom as a scientist would report it, graded hints, and the derivation.

The instruction names cases, quantities and numbers, never a file, a line or the kind of mistake.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from scienceide.envs.formats import Environment
from scienceide.envs.running import RunSpec
from scienceide.repo_builders.mutate import Candidate
from scienceide.verifiers import CaseVerdict, ObservableSpec

SHOWN = 6
"""So many deviating quantities of a case are listed; the rest is counted."""

KINDS = {
    "sign": "a sign is wrong",
    "operator": "a multiplication and a division are confused",
    "comparison": "a comparison is wrong",
    "coefficient": "a numerical coefficient is wrong",
    "off-by-one": "an index or a bound is off by one",
    "swapped-arguments": "two arguments are in the wrong order",
    "dropped-term": "a term of a sum is missing",
}
"""What each operator did, in words."""

_DERIVATIONS = {
    "sign": "which contributions add and which oppose each other follows from the balance that it states",
    "operator": "the dimensions of the terms say which quantity multiplies and which divides",
    "comparison": "the branches' own ranges of validity say on which side the boundary belongs",
    "coefficient": "the value is stated in the routine's own documentation or follows from the formula's derivation",
    "off-by-one": "the range that the routine has to cover follows from the size of what it works on",
    "swapped-arguments": "the called routine's signature says which argument comes first",
    "dropped-term": "the routine's documentation or the symmetry with its sibling terms says what is missing",
}


def instruction(environment: Environment, specs: Sequence[RunSpec], visible: Sequence[CaseVerdict]) -> str:
    """The Markdown text of a task, from the untouched code's verdicts on the visible cases.

    Raises:
        ValueError: no visible case deviates.
    """
    by_id = {spec.id: spec for spec in specs}
    wrong = [case for case in visible if case.score < 1.0]
    if not wrong:
        raise ValueError("no visible case deviates, so there is no symptom to report")
    source = environment.source
    lines = [
        f"# {len(wrong)} of {len(visible)} visible cases of {source.name} no longer agree with the reference",
        "",
        f"{environment.title}. The code is {f'{source.name} {source.version}'.strip()} with a fault somewhere "
        "in it. These cases deviate:",
        "",
    ]
    for case in wrong:
        lines += _case_lines(case, by_id[case.name])
    agree = [case.name for case in visible if case.score == 1.0]
    if agree:
        lines += ["", f"These agree with the reference: {', '.join(f'`{name}`' for name in agree)}."]
    lines += [
        "",
        "Find the fault in the code and repair it. The cases, their inputs and their tolerances are right. "
        "It is repaired when every case agrees again, these and others, which run other inputs.",
    ]
    return "\n".join(lines) + "\n"


def hints(candidate: Candidate, specs: Sequence[RunSpec], visible: Sequence[CaseVerdict]) -> tuple[str, str, str]:
    """Strongest first: place and kind of the mistake; the file; the nature of the symptom."""
    edit = candidate.edit
    kind = KINDS[edit.operator]
    return (
        f"{edit.file}, line {edit.line}: {kind}.",
        f"The fault is in {edit.file}.",
        _nature(specs, visible),
    )


def derivation(candidate: Candidate) -> str:
    """How the fix is found without recalling a literal; never shown to the agent."""
    edit = candidate.edit
    return (
        f"In {candidate.function} ({edit.file}, line {edit.line}) {KINDS[edit.operator]}; "
        f"{_DERIVATIONS[edit.operator]}."
    )


def deviation(spec: ObservableSpec, error: float) -> str:
    """An error in words and numbers, in the units of the observable's criterion."""
    criterion = spec.criterion
    if criterion.kind == "exact":
        return "differs"
    if criterion.kind == "bounds":
        return f"lies {error * criterion.scale:.2g}{_unit(spec)} outside its bounds"
    if criterion.kind == "conserved":
        return f"drifts by {_share(error)} of its initial value"
    size = {"linf": "at worst", "l1": "on average", "l2": "in the root mean square"}[criterion.norm]
    if criterion.scale == "absolute":
        return f"is off by {error:.2g}{_unit(spec)} {size}"
    return f"is off by {_share(error)} of {'its value' if criterion.scale == 'relative' else 'its scale'} {size}"


def accepted(spec: ObservableSpec) -> str:
    """The tolerance, as the instruction states it; empty where the criterion has none."""
    tolerance = getattr(spec.criterion, "tolerance", None)
    return "" if tolerance is None else f" (accepted: {tolerance:.0e})"


def _case_lines(case: CaseVerdict, spec: RunSpec) -> list[str]:
    """One deviating case: its title, then its quantities."""
    lines = [f"- **{spec.case.title}** (`{case.name}`)"]
    if case.note:
        return [*lines, f"  - does not finish: {_plain(case.note)}"]
    by_name = {o.name: o for o in spec.case.observables}
    wrong = [o for o in case.observables if o.score < 1.0]
    for judged in wrong[:SHOWN]:
        observable = by_name[judged.name]
        if judged.failure or judged.error is None:
            lines.append(f"  - `{judged.name}`: {judged.failure}{f' ({judged.detail})' if judged.detail else ''}")
        else:
            lines.append(f"  - `{judged.name}` {deviation(observable, judged.error)}{accepted(observable)}")
    if len(wrong) > SHOWN:
        lines.append(f"  - and {len(wrong) - SHOWN} more quantities")
    return lines


def _nature(specs: Sequence[RunSpec], visible: Sequence[CaseVerdict]) -> str:
    """What kind of deviation it is, without the place: who is affected, how much, and who is not."""
    by_id = {spec.id: spec for spec in specs}
    wrong = [case for case in visible if case.score < 1.0]
    worst = min(wrong, key=lambda case: case.score)
    if worst.note:
        return f"Something that only `{worst.name}` and its like need stops the computation."
    moved = [o for o in worst.observables if o.score < 1.0]
    steady = [o.name for o in worst.observables if o.score == 1.0]
    names = ", ".join(f"`{o.name}`" for o in moved[:3])
    errors = [o.error for o in moved if o.error is not None]
    size = f", the first {deviation(_spec_of(by_id[worst.name], moved[0].name), errors[0])}" if errors else ""
    rest = f", while {', '.join(f'`{n}`' for n in steady[:3])} stay right" if steady else ""
    return f"Look for what {names} of `{worst.name}` depend on{size}{rest}."


def _spec_of(spec: RunSpec, name: str) -> ObservableSpec:
    return next(o for o in spec.case.observables if o.name == name)


def _plain(note: str) -> str:
    """How a command ended, without what its last line may quote of the code."""
    error = re.search(r"\b([A-Z]\w*(?:Error|Exception|Warning|Interrupt))\b", note)
    return f"{note.partition(':')[0]}, {error[1]}" if error else note.partition(":")[0]


def _share(error: float) -> str:
    """0.032 → `3.2 %`; very small and very large shares as plain numbers."""
    if error >= 10:
        return f"{error:.2g} times"
    return f"{100 * error:.2g} %" if error >= 1e-4 else f"{error:.1e}"


def _unit(spec: ObservableSpec) -> str:
    return "" if spec.unit == "1" else f" {spec.unit}"
