"""Trajectories in bulk: a folder of Parquet shards, one row per episode.

What is filtered on (task, agent, reward, …) are columns of their own; conversations, calls and verdicts are
JSON text; tokens and log-probabilities are lists. A shard is written whole or not at all, so a killed writer
loses at most the episodes since its last flush, and a damaged shard hides only its own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from scienceide.base.errors import UserError
from scienceide.base.paths import write_atomically
from scienceide.envs.record import EpisodeRecord, Span
from scienceide.verifiers import Verdict

SHARD_EPISODES = 64
"""A writer flushes after so many episodes, and when it is closed."""


@dataclass(frozen=True)
class Damaged:
    """A shard that cannot be read, and why."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: a damaged shard ({self.reason}); delete it to go on without its episodes."


class Trajectories:
    """The store in one folder. `add` may be called from several threads; shards of several writers never clash."""

    def __init__(self, folder: Path, *, flush_every: int = SHARD_EPISODES) -> None:
        self.folder = folder
        self._flush_every = flush_every
        self._pending: list[EpisodeRecord] = []
        self._lock = threading.Lock()

    def add(self, record: EpisodeRecord) -> None:
        """Keep an episode; it is on disk after the next flush."""
        with self._lock:
            self._pending.append(record)
            if len(self._pending) >= self._flush_every:
                self._write()

    def flush(self) -> None:
        """Write what is pending as one more shard."""
        with self._lock:
            if self._pending:
                self._write()

    def __enter__(self) -> Trajectories:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def _write(self) -> None:
        import io

        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        pq.write_table(to_table(self._pending), buffer, compression="zstd")
        number = len(list(self.folder.glob("*.parquet")))
        write_atomically(self.folder / f"{number:05d}-{uuid4().hex[:8]}.parquet", buffer.getvalue())
        self._pending.clear()

    def shards(self) -> tuple[list[Path], list[Damaged]]:
        """The readable shards in the order they were written, and the damaged ones."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        good, bad = [], []
        for path in sorted(self.folder.glob("*.parquet")):
            try:
                # The whole shard is read: a footer may be well where a page is not.
                pq.read_table(path, columns=[*_COLUMNS])
                good.append(path)
            except (pa.ArrowException, OSError) as error:
                bad.append(Damaged(path, str(error).strip().splitlines()[0]))
        return good, bad

    def read(self, *, filters: Any = None, damaged: str = "raise") -> list[EpisodeRecord]:
        """The episodes, oldest first.

        Args:
            filters: a pyarrow filter on columns, such as `[("agent", "=", "oracle"), ("reward", ">", 0)]`.
            damaged: `raise`, or `skip` to leave damaged shards out.

        Raises:
            UserError: a shard is damaged; names it.
        """
        import pyarrow.parquet as pq

        good, bad = self.shards()
        if bad and damaged == "raise":
            raise UserError(str(bad[0]) + (f" ({len(bad) - 1} more)" if len(bad) > 1 else ""))
        records: list[EpisodeRecord] = []
        for path in good:
            records += from_rows(pq.read_table(path, filters=filters).to_pylist())
        return records


def to_table(records: Iterable[EpisodeRecord]) -> Any:
    """Records as an Arrow table of `schema()`."""
    import pyarrow as pa

    return pa.Table.from_pylist([_row(r) for r in records], schema=schema())


def schema() -> Any:
    """The columns of a shard; version 1."""
    import pyarrow as pa

    span = pa.struct(
        [
            ("message", pa.int32()),
            ("token_ids", pa.list_(pa.int32())),
            ("logprobs", pa.list_(pa.float32())),
            ("policy_version", pa.int32()),
        ]
    )
    types = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "texts": pa.list_(pa.string()),
        "spans": pa.list_(span),
        "numbers": pa.map_(pa.string(), pa.float64()),
        "counts": pa.map_(pa.string(), pa.int64()),
    }
    return pa.schema([(name, types[kind]) for name, kind in _COLUMNS.items()], metadata={"scienceide": "1"})


_COLUMNS: Mapping[str, str] = {
    "episode": "text",
    "task": "text",
    "agent": "text",
    "model": "text",
    "seed": "integer",
    "hint": "integer",
    "termination": "text",
    "outcome": "text",
    "reward": "number",
    "fault": "text",
    "messages": "text",
    "actions": "texts",
    "spans": "spans",
    "verdict": "text",
    "seconds": "numbers",
    "tokens": "counts",
}


def _row(record: EpisodeRecord) -> dict[str, Any]:
    spans = [
        {
            "message": s.message,
            "token_ids": list(s.token_ids),
            "logprobs": None if s.logprobs is None else list(s.logprobs),
            "policy_version": s.policy_version,
        }
        for s in record.spans
    ]
    return {
        "episode": record.episode,
        "task": record.task,
        "agent": record.agent,
        "model": record.model,
        "seed": record.seed,
        "hint": record.hint,
        "termination": record.termination,
        "outcome": outcome(record),
        "reward": record.reward,
        "fault": record.fault,
        "messages": json.dumps(record.messages, ensure_ascii=False),
        "actions": list(record.actions),
        "spans": spans,
        "verdict": None if record.verdict is None else record.verdict.model_dump_json(by_alias=True),
        "seconds": list(record.seconds.items()),
        "tokens": list(record.tokens.items()),
    }


def from_rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[EpisodeRecord]:
    """Rows of a shard as records, just as they were added."""
    for row in rows:
        verdict = row["verdict"]
        yield EpisodeRecord(
            episode=row["episode"],
            task=row["task"],
            agent=row["agent"],
            seed=row["seed"],
            hint=row["hint"],
            model=row["model"],
            messages=json.loads(row["messages"]),
            actions=list(row["actions"]),
            spans=[_span(s) for s in row["spans"]],
            verdict=None if verdict is None else Verdict.model_validate_json(verdict),
            termination=row["termination"],
            fault=row["fault"],
            seconds=dict(row["seconds"]),
            tokens=dict(row["tokens"]),
        )


def outcome(record: EpisodeRecord) -> str:
    """graded, invalid or ungraded; an episode without a verdict is ungraded."""
    return "ungraded" if record.verdict is None else record.verdict.outcome


def _span(data: Mapping[str, Any]) -> Span:
    logprobs = data["logprobs"]
    return Span(
        message=data["message"],
        token_ids=tuple(data["token_ids"]),
        logprobs=None if logprobs is None else tuple(logprobs),
        policy_version=data["policy_version"],
    )
