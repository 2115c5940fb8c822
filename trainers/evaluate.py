"""Measuring a model on tasks: mean repair reward and pass@k with intervals, between the anchors.

The oracle and the do-nothing agent play the same tasks in the same run: if they do not earn 1 and 0, the
numbers between them mean nothing. Episodes that could not be graded are counted apart and enter no mean.

A run that was killed goes on where it was: finished episodes are found in the run's trajectories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scienceide.base.errors import UserError
from scienceide.base.progress import Progress, Silent
from scienceide.base.recorder import Recorder, Unrecorded
from scienceide.envs.agents import Agent, Nop, Oracle
from scienceide.envs.catalog import LoadedTask
from scienceide.envs.record import EpisodeRecord
from scienceide.envs.workshop import Workshop
from scienceide.trainers.collect import Job, collect, jobs
from scienceide.trainers.config import EvalConfig, hint_level
from scienceide.trainers.gather import MAX_ACTIONS, model_agent
from scienceide.trainers.selection import choose
from scienceide.trainers.statistics import Interval, bootstrap, mean_pass, mean_reward
from scienceide.trainers.trajectories import Trajectories

if TYPE_CHECKING:
    from rich.table import Table

FLUSH_EPISODES = 4
"""A killed run repeats at most so many."""

ANCHORS: Mapping[str, Agent] = {"oracle": Oracle(), "nop": Nop()}
MEASURED = ""
"""Stands beside the anchors' names for whoever is measured."""


@dataclass(frozen=True)
class Row:
    """One agent on the tasks of one kind at one hint level."""

    agent: str
    kind: str
    hint: int | None
    tasks: int
    episodes: int
    """Graded ones."""
    ungraded: int
    reward: Interval | None
    """None where no episode could be graded."""
    pass_at: Mapping[int, Interval]


@dataclass(frozen=True)
class EvalResult:
    """All rows: the model's by kind and hint level, and the anchors'."""

    model: str
    rows: tuple[Row, ...]

    def row(self, agent: str, hint: int | None = None, kind: str = "all") -> Row:
        """One row.

        Raises:
            UserError: that was not measured.
        """
        for row in self.rows:
            if (row.agent, row.hint, row.kind) == (agent, hint, kind):
                return row
        raise UserError(f"There is no row for agent {agent!r}, hint {hint}, kind {kind!r}.")

    def as_json(self) -> dict[str, Any]:
        """JSON-serialisable values."""
        return {"model": self.model, "rows": [asdict(row) for row in self.rows]}

    def __rich__(self) -> Table:
        """A table for the terminal."""
        from rich.table import Table

        ks = sorted({k for row in self.rows for k in row.pass_at})
        columns = ["agent", "kind", "hint", "tasks", "episodes", "ungraded", "reward", *(f"pass@{k}" for k in ks)]
        table = Table(*columns, title=f"{self.model}: repair reward and its interval")
        for row in self.rows:
            passes = [str(row.pass_at.get(k, "–")) for k in ks]
            counts = [str(row.tasks), str(row.episodes), str(row.ungraded)]
            hint = "none" if row.hint is None else str(row.hint)
            table.add_row(row.agent, row.kind, hint, *counts, str(row.reward or "–"), *passes)
        return table


def evaluate(
    config: EvalConfig,
    folder: Path,
    *,
    agent: Agent | None = None,
    shop: Workshop | None = None,
    recorder: Recorder | None = None,
    progress: Progress | None = None,
) -> EvalResult:
    """Measure a model; trajectories are kept in `folder`, and a second call on it runs only what is missing.

    Args:
        config: what to measure.
        folder: the run's.
        agent: who plays instead of what `config` names.
        shop: where episodes are made; one of the configured sandbox when left out.
        recorder: told each episode, and the means at the end.
        progress: advanced by episodes.

    Raises:
        UserError: unknown model or task, or a k larger than the number of samples.
        SandboxError: no sandbox can be had.
    """
    if max(config.k) > config.samples:
        raise UserError(f"pass@{max(config.k)} needs samples of at least {max(config.k)}, not {config.samples}.")
    report, bar = recorder or Unrecorded(), progress or Silent()
    tasks = choose(config.tasks, config.split, config.environments)
    if shop is None:
        with Workshop(config.sandbox, progress=bar) as own:
            return evaluate(config, folder, agent=agent, shop=own, recorder=recorder, progress=progress)
    store = Trajectories(folder / "trajectories", flush_every=FLUSH_EPISODES)
    plan = _plan([task.id for task in tasks], config)
    done = graded_episodes(store.read())
    for name, todo in plan.items():
        missing = [job for job in todo if (name, job) not in done]
        if not missing:
            continue
        player = ANCHORS.get(name) or agent or model_agent(config, bar)
        new = collect(
            player,
            shop,
            missing,
            concurrency=config.concurrency,
            max_turns=MAX_ACTIONS,
            store=store,
            recorder=report,
            progress=bar,
        )
        done |= latest(new.records)
    records = [done[name, job] for name, todo in plan.items() for job in todo]
    result = EvalResult(config.model, summarise(records, tasks, config))
    _report(result, report)
    return result


def _plan(ids: Sequence[str], config: EvalConfig) -> dict[str, list[Job]]:
    """What is played: by each anchor once, by the model at every hint level and with every seed."""
    hints = [hint_level(hint) for hint in config.hints]
    return {**{name: jobs(ids) for name in ANCHORS}, MEASURED: jobs(ids, range(config.samples), hints)}


Key = tuple[str, Job]
"""An anchor's name or `MEASURED`, and what was played."""


def latest(records: Iterable[EpisodeRecord]) -> dict[Key, EpisodeRecord]:
    """Episodes by what they are; of several the newest."""
    return {(r.agent if r.agent in ANCHORS else MEASURED, Job(r.task, r.seed, r.hint)): r for r in records}


def graded_episodes(records: Iterable[EpisodeRecord]) -> dict[Key, EpisodeRecord]:
    """What need not be run again; an ungraded episode is worth another try."""
    return {key: record for key, record in latest(records).items() if record.reward is not None}


def summarise(records: Sequence[EpisodeRecord], tasks: Sequence[LoadedTask], config: EvalConfig) -> tuple[Row, ...]:
    """The rows of a result, in the order of the records: by agent and hint level, all kinds together first."""
    kinds = {task.id: task.task.kind for task in tasks}
    groups: dict[tuple[str, int | None, str], list[EpisodeRecord]] = {}
    for kind in ("all", *sorted(set(kinds.values()))):
        for record in records:
            if kind in ("all", kinds[record.task]):
                groups.setdefault((record.agent, record.hint, kind), []).append(record)
    rows = [_row(*key, group, config) for key, group in groups.items()]
    order = list(dict.fromkeys((r.agent, r.hint) for r in records))
    return tuple(sorted(rows, key=lambda row: order.index((row.agent, row.hint))))


def _row(agent: str, hint: int | None, kind: str, records: Sequence[EpisodeRecord], config: EvalConfig) -> Row:
    interval = partial(bootstrap, confidence=config.confidence, resamples=config.resamples, seed=config.seed)
    rewards: dict[str, list[float]] = {}
    for record in records:
        if record.reward is not None:
            rewards.setdefault(record.task, []).append(record.reward)
    passes = {k: mean_pass(rewards, k, interval) for k in config.k}
    return Row(
        agent=agent,
        kind=kind,
        hint=hint,
        tasks=len({record.task for record in records}),
        episodes=sum(map(len, rewards.values())),
        ungraded=sum(record.reward is None for record in records),
        reward=mean_reward(rewards, interval) if rewards else None,
        pass_at={k: value for k, value in passes.items() if value is not None},
    )


def _report(result: EvalResult, recorder: Recorder) -> None:
    values = {}
    for row in result.rows:
        if row.kind == "all" and row.reward is not None:
            hint = "unhinted" if row.hint is None else f"hint {row.hint}"
            values[f"{row.agent}/{hint}/reward"] = row.reward.mean
            values[f"{row.agent}/{hint}/ungraded"] = float(row.ungraded)
    recorder.metric(0, values)
