"""Choosing among candidates: every file and operator gets its turn, twins do not crowd a file, splits by file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest

from scienceide.base.paths import content_hash
from scienceide.repo_builders.coverage import Coverage
from scienceide.repo_builders.mutate import Candidate

PER_LINEAGE = 2
"""Tasks of one function at most; more would be twins."""


def shortlist(candidates: Iterable[Candidate], coverage: Coverage, seed: int = 0) -> list[Candidate]:
    """Candidates that some run reaches and whose fix can be derived, in the order to try them.

    Files take turns, and within a file the operators do, so that any beginning of the list is varied. The
    order depends on the candidates and the seed alone.
    """
    by_file: dict[str, dict[str, list[Candidate]]] = defaultdict(lambda: defaultdict(list))
    for candidate in candidates:
        edit = candidate.edit
        if candidate.derivable and coverage.reaching(edit.file, candidate.statement, edit.line):
            by_file[edit.file][edit.operator].append(candidate)
    queues = []
    for file in sorted(by_file, key=lambda name: content_hash(seed, name)):
        operators = by_file[file]
        kinds = sorted(operators, key=lambda name: content_hash(seed, file, name))
        queues.append(_in_turn([sorted(operators[k], key=lambda c: _rank(c, seed)) for k in kinds]))
    return _in_turn(queues)


class Quota:
    """Counts accepted tasks so that no function, line or operator takes more than its share."""

    def __init__(self, total: int, files: int) -> None:
        self._crashes = max(1, total // 6)
        self._per_operator = max(2, -(-total * 2 // 5))
        self._per_file = max(2, -(-total * 2 // max(1, files)))
        self._taken: Counter[str] = Counter()

    def admits(self, candidate: Candidate) -> bool:
        """Whether another task of this kind is still wanted."""
        edit = candidate.edit
        return (
            self._taken[candidate.lineage] < PER_LINEAGE
            and self._taken[f"{edit.file}:{edit.line}"] < 1
            and self._taken[edit.operator] < self._per_operator
            and self._taken[edit.file] < self._per_file
        )

    def admits_crash(self) -> bool:
        """Whether another task may be one whose symptom is that nothing comes out, which says little."""
        return self._taken["a crash"] < self._crashes

    def take(self, candidate: Candidate, *, crashes: bool = False) -> None:
        """Count an accepted task."""
        edit = candidate.edit
        self._taken["a crash"] += crashes
        self._taken.update((candidate.lineage, f"{edit.file}:{edit.line}", edit.operator, edit.file))


def split_files(tasks_by_file: Mapping[str, int], heldout_share: float = 0.4) -> dict[str, str]:
    """`train` or `heldout` for each source file, so that no file is on both sides.

    Files are taken in the order of a hash of their names and given to the held-out side while that keeps it
    within its share of the tasks; where there are two files or more, each side has one.
    """
    total = sum(tasks_by_file.values())
    order = sorted(tasks_by_file, key=content_hash)
    split: dict[str, str] = {}
    held = 0
    for file in order:
        if held + tasks_by_file[file] <= heldout_share * total:
            split[file] = "heldout"
            held += tasks_by_file[file]
        else:
            split[file] = "train"
    if held == 0 and len(order) > 1:
        split[min(order, key=lambda f: (tasks_by_file[f], content_hash(f)))] = "heldout"
    return split


def _rank(candidate: Candidate, seed: int) -> str:
    return content_hash(seed, candidate.edit.model_dump(mode="json"))


def _in_turn(queues: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """One of each queue, then the next of each, until all are empty."""
    return [c for c in chain.from_iterable(zip_longest(*queues)) if c is not None]
