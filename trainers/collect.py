"""Running an agent over many tasks and seeds, several episodes at a time.

Episodes run in threads. Where they share a local policy, a `Batcher` answers what all of them ask at one
moment in one padded batch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from scienceide.base.errors import ModelError
from scienceide.base.progress import Progress, Silent
from scienceide.base.recorder import Recorder, Unrecorded
from scienceide.envs.agents import Agent, Answer, Policy, Request, run
from scienceide.envs.record import EpisodeRecord
from scienceide.envs.workshop import Workshop
from scienceide.trainers.trajectories import Trajectories, outcome


@dataclass(frozen=True)
class Job:
    """One episode to run."""

    task: str
    seed: int = 0
    hint: int | None = None


@dataclass
class Collected:
    """What came of a collection."""

    records: list[EpisodeRecord] = field(default_factory=list)

    @property
    def ungraded(self) -> int:
        """Episodes without a reward, through no fault of the agent."""
        return sum(outcome(r) == "ungraded" for r in self.records)

    @property
    def rewards(self) -> list[float]:
        """Rewards of the graded episodes."""
        return [r.reward for r in self.records if r.reward is not None]


def jobs(tasks: Iterable[str], seeds: Sequence[int] = (0,), hints: Sequence[int | None] = (None,)) -> list[Job]:
    """Every combination; seeds of one task next to each other, so that they share what is prepared."""
    return [Job(task, seed, hint) for task in tasks for hint in hints for seed in seeds]


def collect(
    agent: Agent,
    shop: Workshop,
    todo: Sequence[Job],
    *,
    concurrency: int = 2,
    max_turns: int = 30,
    store: Trajectories | None = None,
    recorder: Recorder | None = None,
    progress: Progress | None = None,
) -> Collected:
    """Run all jobs; ungraded episodes are kept and counted like any other.

    Args:
        agent: who plays all of them.
        shop: where tasks are prepared.
        todo: the episodes.
        concurrency: episodes at a time.
        max_turns: actions per episode.
        store: where the trajectories go, if anywhere.
        recorder: told about each episode.
        progress: advanced by each episode.

    Raises:
        UserError, TaskError: a task does not exist or is broken; the episodes that have ended are kept.
    """
    report, done = recorder or Unrecorded(), Collected()

    def keep(record: EpisodeRecord) -> None:
        done.records.append(record)
        report.episode(record)
        if store is not None:
            store.add(record)
        bar.advance(note=f"{record.task} {'ungraded' if record.reward is None else f'{record.reward:.2f}'}")

    def play(job: Job) -> Callable[[], EpisodeRecord]:
        return lambda: run(agent, shop, job.task, seed=job.seed, hint=job.hint, max_turns=max_turns)

    with (progress or Silent()).phase(f"{agent.name} episodes", len(todo)) as bar:
        try:
            _run_all([play(job) for job in todo], concurrency, keep)
        finally:
            if store is not None:
                store.flush()
    return done


def _run_all(work: Sequence[Callable[[], Any]], concurrency: int, keep: Callable[[Any], None]) -> None:
    """Run all, `concurrency` at a time, and hand over each result here; after an error nothing new is begun."""
    queue = iter(work)
    with ThreadPoolExecutor(concurrency, thread_name_prefix="episode") as pool:
        running: set[Future[Any]] = {pool.submit(job) for job in islice(queue, concurrency)}
        error: BaseException | None = None
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                error = future.exception() or error
                if future.exception() is None:
                    keep(future.result())
            if error is None:
                running |= {pool.submit(job) for job in islice(queue, len(ended))}
    if error is not None:
        raise error


class Batcher:
    """A policy for many threads: waits a moment for others that ask too, then answers all in one batch.

    A batch starts when `size` requests are waiting, or when none has arrived for `patience_s`.
    """

    def __init__(self, policy: Policy, *, size: int = 16, patience_s: float = 0.05) -> None:
        self.name = policy.name
        self._policy = policy
        self._size = size
        self._patience = patience_s
        self._waiting: list[tuple[Request, Future[Answer]]] = []
        self._changed = threading.Condition()
        self._busy = False

    @property
    def version(self) -> int:
        """Of the policy's weights."""
        return self._policy.version

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer the requests, together with those of other threads; raises what the policy raises."""
        futures: list[Future[Answer]] = [Future() for _ in requests]
        with self._changed:
            self._waiting += zip(requests, futures, strict=True)
            self._changed.notify_all()
        for future in futures:
            while not future.done():
                self._lead_or_wait()
        return [future.result() for future in futures]

    def _lead_or_wait(self) -> None:
        """One of the waiting threads runs the next batch; the others sleep until something changes."""
        with self._changed:
            if self._busy or not self._waiting:
                self._changed.wait(timeout=1.0)
                return
            self._busy = True
            self._gather()
            batch, self._waiting = self._waiting[: self._size], self._waiting[self._size :]
        try:
            self._answer(batch)
        finally:
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _gather(self) -> None:
        """Wait, the lock released meanwhile, for others to join."""
        deadline = time.monotonic() + self._patience
        while len(self._waiting) < self._size:
            before = len(self._waiting)
            self._changed.wait(timeout=max(0.0, deadline - time.monotonic()))
            if len(self._waiting) > before:
                deadline = time.monotonic() + self._patience
            elif time.monotonic() >= deadline:
                return

    def _answer(self, batch: Sequence[tuple[Request, Future[Answer]]]) -> None:
        try:
            answers = self._policy.generate([request for request, _ in batch])
        except ModelError as error:
            for _, future in batch:
                future.set_exception(error)
            return
        except BaseException as error:
            # Whoever leads raises it; the others must not wait for ever.
            for _, future in batch:
                future.set_exception(ModelError(f"{self.name} failed in another thread: {error}"))
            raise
        for (_, future), answer in zip(batch, answers, strict=True):
            future.set_result(answer)
