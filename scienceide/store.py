"""The run store: every job that ran, with its state, its configuration and its metrics.

One SQLite file (WAL) by default, or any SQLAlchemy URL in `$SCIENCEIDE_STORE`. What is large (trajectories,
checkpoints, logs) lies in the run's folder beside it. A run is written by one process and read by any.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import JSON, Engine, ForeignKey, create_engine, event, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from scienceide.base.errors import Fault, UserError, unknown
from scienceide.base.paths import home_dir
from scienceide.envs.record import EpisodeRecord

State = Literal["running", "done", "failed", "stopped"]
Kind = Literal["demo", "build", "episode", "collect", "sft", "rl", "eval"]


class _Base(DeclarativeBase):
    type_annotation_map = {dict[str, Any]: JSON}  # noqa: RUF012 (SQLAlchemy reads it so)


class _Run(_Base):
    __tablename__ = "runs"
    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    title: Mapped[str]
    state: Mapped[str]
    created: Mapped[float]
    updated: Mapped[float]
    pid: Mapped[int]
    folder: Mapped[str]
    config: Mapped[dict[str, Any]]
    result: Mapped[dict[str, Any]]
    fault: Mapped[str] = mapped_column(default="")


class _Metric(_Base):
    __tablename__ = "metrics"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    run: Mapped[str] = mapped_column(ForeignKey("runs.id"), index=True)
    step: Mapped[int]
    name: Mapped[str]
    value: Mapped[float]
    at: Mapped[float]


class _Episode(_Base):
    __tablename__ = "episodes"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    run: Mapped[str] = mapped_column(ForeignKey("runs.id"), index=True)
    episode: Mapped[str]
    task: Mapped[str] = mapped_column(index=True)
    agent: Mapped[str]
    reward: Mapped[float | None]
    termination: Mapped[str]
    outcome: Mapped[str]
    at: Mapped[float]


class _Note(_Base):
    __tablename__ = "notes"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    run: Mapped[str] = mapped_column(ForeignKey("runs.id"), index=True)
    text: Mapped[str]
    at: Mapped[float]


@dataclass(frozen=True)
class RunInfo:
    """A run as it stood when it was read."""

    id: str
    kind: str
    title: str
    state: str
    created: float
    updated: float
    pid: int
    folder: Path
    config: Mapping[str, Any]
    result: Mapping[str, Any]
    fault: str

    @property
    def interrupted(self) -> bool:
        """It calls itself running, but its process is gone: killed, it can be resumed."""
        return self.state == "running" and not _alive(self.pid)

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "state": "interrupted" if self.interrupted else self.state,
            "created": datetime.fromtimestamp(self.created, UTC).isoformat(timespec="seconds"),
            "seconds": round(self.updated - self.created, 1),
            "folder": str(self.folder),
            "config": dict(self.config),
            "result": dict(self.result),
            "fault": self.fault,
        }


class Store:
    """All runs."""

    def __init__(self, url: str | None = None) -> None:
        """Open the store at an SQLAlchemy URL, `$SCIENCEIDE_STORE`, or the default SQLite file.

        Raises:
            UserError: it cannot be opened.
        """
        self.url = url or os.environ.get("SCIENCEIDE_STORE") or f"sqlite:///{home_dir()}/runs.sqlite"
        try:
            self._engine = _engine(self.url)
            _Base.metadata.create_all(self._engine)
        except (SQLAlchemyError, ImportError) as error:
            raise UserError(f"The run store {self.url} cannot be opened: {error}.") from None

    def start(self, kind: Kind, title: str, config: Mapping[str, Any], *, run: str | None = None) -> Run:
        """Begin a run, or go on with the one of that id.

        Raises:
            UserError: `run` is of another kind, or is still being written by a living process.
        """
        now = time.time()
        with Session(self._engine) as session:
            row = session.get(_Run, run) if run else None
            if row is None:
                name = run or f"{kind}-{datetime.now(UTC):%m%d-%H%M%S}-{secrets.token_hex(2)}"
                row = _Run(
                    id=name,
                    kind=kind,
                    title=title,
                    created=now,
                    folder=str(home_dir("runs", name)),
                    config=dict(config),
                    result={},
                    fault="",
                    state="running",
                    updated=now,
                    pid=os.getpid(),
                )
                session.add(row)
            elif row.kind != kind:
                raise UserError(f"Run {run} is of kind {row.kind}, not {kind}.")
            elif row.state == "running" and _alive(row.pid) and row.pid != os.getpid():
                raise UserError(f"Run {run} is being written by process {row.pid}.")
            row.state, row.updated, row.pid, row.fault = "running", now, os.getpid(), ""
            session.commit()
            return Run(self._engine, row.id, Path(row.folder))

    def hand_over(self, run: str, pid: int) -> None:
        """Say that another process, just started, will write the run."""
        with Session(self._engine) as session:
            session.execute(update(_Run).where(_Run.id == run).values(pid=pid))
            session.commit()

    def runs(self) -> list[RunInfo]:
        """All runs, the newest first."""
        with Session(self._engine) as session:
            return [_info(row) for row in session.scalars(select(_Run).order_by(_Run.created.desc()))]

    def run(self, run: str) -> RunInfo:
        """One run by id, or `last`.

        Raises:
            UserError: there is none; the nearest ids are offered.
        """
        runs = self.runs()
        if run == "last" and runs:
            return runs[0]
        for info in runs:
            if info.id == run:
                return info
        raise unknown("run", run, [info.id for info in runs])

    def metrics(self, run: str, after: int = 0) -> list[tuple[int, int, str, float]]:
        """(row id, step, name, value) of a run's metrics, those after row `after`, in order."""
        query = select(_Metric).where(_Metric.run == run, _Metric.id > after).order_by(_Metric.id)
        with Session(self._engine) as session:
            return [(m.id, m.step, m.name, m.value) for m in session.scalars(query)]

    def notes(self, run: str) -> list[str]:
        """What a run said in words."""
        query = select(_Note.text).where(_Note.run == run).order_by(_Note.id)
        with Session(self._engine) as session:
            return list(session.scalars(query))

    def episodes(self, run: str) -> list[dict[str, Any]]:
        """A line for each episode of a run, in order."""
        query = select(_Episode).where(_Episode.run == run).order_by(_Episode.id)
        names = ("episode", "task", "agent", "reward", "termination", "outcome")
        with Session(self._engine) as session:
            return [{name: getattr(row, name) for name in names} for row in session.scalars(query)]


class Run:
    """A run being written; the `Recorder` that trainers and agents report to."""

    def __init__(self, engine: Engine, run: str, folder: Path) -> None:
        self.id = run
        self.folder = folder
        self._engine = engine
        folder.mkdir(parents=True, exist_ok=True)

    def metric(self, step: int, values: Mapping[str, float]) -> None:
        """Record numbers of one step."""
        now = time.time()
        self._add([_Metric(run=self.id, step=step, name=k, value=float(v), at=now) for k, v in values.items()])

    def episode(self, record: EpisodeRecord) -> None:
        """Record an episode in a line; its trajectory is kept elsewhere."""
        row = _Episode(
            run=self.id,
            episode=record.episode,
            task=record.task,
            agent=record.agent,
            reward=record.reward,
            termination=record.termination,
            outcome=record.verdict.outcome if record.verdict else "ungraded",
            at=time.time(),
        )
        self._add([row])

    def note(self, text: str) -> None:
        """Record a sentence."""
        self._add([_Note(run=self.id, text=text, at=time.time())])

    def finish(self, result: Mapping[str, Any]) -> None:
        """The run is done, with this result."""
        self._close("done", {"result": dict(result)})

    def fail(self, error: BaseException) -> None:
        """The run ended with an error; it may be resumed."""
        text = str(error) if isinstance(error, Fault) else f"{type(error).__name__}: {error}"
        self._close("stopped" if isinstance(error, KeyboardInterrupt) else "failed", {"fault": text})

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.fail(error)

    def _add(self, rows: Sequence[_Base]) -> None:
        with Session(self._engine) as session:
            session.add_all(rows)
            session.execute(update(_Run).where(_Run.id == self.id).values(updated=time.time()))
            session.commit()

    def _close(self, state: State, values: Mapping[str, Any]) -> None:
        with Session(self._engine) as session:
            session.execute(update(_Run).where(_Run.id == self.id).values(state=state, updated=time.time(), **values))
            session.commit()


def _engine(url: str) -> Engine:
    engine = create_engine(url)
    if engine.dialect.name == "sqlite":

        @event.listens_for(engine, "connect")
        def _pragmas(connection: Any, _: object) -> None:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA busy_timeout=10000")

    return engine


def _info(row: _Run) -> RunInfo:
    return RunInfo(
        id=row.id,
        kind=row.kind,
        title=row.title,
        state=row.state,
        created=row.created,
        updated=row.updated,
        pid=row.pid,
        folder=Path(row.folder),
        config=row.config,
        result=row.result,
        fault=row.fault,
    )


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        # A killed child that nobody has waited for is still there to signals, but it is dead.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return True
