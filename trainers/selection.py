"""Which tasks a job runs on, and the refusal to train on what is held out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scienceide.base.errors import UserError
from scienceide.envs.catalog import LoadedTask, load_task, tasks


def choose(named: Sequence[str] | None, split: str, environments: Sequence[str] | None = None) -> list[LoadedTask]:
    """The named tasks, or all of a split; of some environments only where asked for.

    Raises:
        UserError: a name does not exist, or nothing is left.
    """
    found = list(tasks(split=split)) if named is None else [load_task(name) for name in named]
    if environments is not None:
        found = [task for task in found if task.environment.name in environments]
    if not found:
        where = f" in {', '.join(environments)}" if environments else ""
        raise UserError(f"There are no {split} tasks{where}.")
    return found


def refuse_leakage(training: Iterable[LoadedTask], held_out: Iterable[LoadedTask] | None = None) -> None:
    """See to it that nothing held out is trained on: no task, no twin of one, no defect in the same source file.

    Args:
        training: what is about to be trained on.
        held_out: what must stay unseen; all held-out tasks of the catalog when left out.

    Raises:
        UserError: names the pair, and what they share.
    """
    kept = list(tasks(split="heldout")) if held_out is None else list(held_out)
    by_id = {task.id for task in kept}
    by_lineage = {(task.environment.name, task.task.lineage): task.id for task in kept}
    by_file = {(task.environment.name, edit.file): task.id for task in kept for edit in task.defect.edits}
    for task in training:
        if task.id in by_id or task.task.split == "heldout":
            raise UserError(f"{task.id} is held out for evaluation; training on it would make its score worthless.")
        twin = by_lineage.get((task.environment.name, task.task.lineage))
        if twin is not None:
            raise UserError(
                f"{task.id} is a twin of the held-out {twin} (lineage {task.task.lineage!r}); leave one of them out."
            )
        for edit in task.defect.edits:
            other = by_file.get((task.environment.name, edit.file))
            if other is not None:
                raise UserError(f"{task.id} lies in {edit.file}, as the held-out {other} does; leave one of them out.")
