import threading

import pytest

from scienceide.base.errors import UserError
from scienceide.trainers.trajectories import Trajectories
from tests.trainers.records import record


def filled(folder, *batches):
    store = Trajectories(folder)
    for batch in batches:
        for item in batch:
            store.add(item)
        store.flush()
    return store


def test_records_come_back_as_they_were(tmp_path):
    wild = record("w", reward=None, hint=2, messages=[{"role": "user", "content": "ñ \x00 🙂"}])
    wild.fault = "No sandbox."
    wild.verdict = None
    records = [record("a"), wild, record("c", reward=0.25)]
    assert filled(tmp_path, records).read() == records


def test_shards_keep_their_order_and_pyarrow_filters_work(tmp_path):
    batch = [record("a", reward=1.0), record("b", reward=0.0, agent="nop")]
    store = filled(tmp_path, batch, [record("c", reward=0.5, hint=1)])
    assert [r.episode for r in store.read()] == ["a", "b", "c"]
    assert [r.episode for r in store.read(filters=[("reward", ">", 0.1)])] == ["a", "c"]
    assert [r.episode for r in store.read(filters=[("agent", "=", "nop")])] == ["b"]
    assert [r.episode for r in store.read(filters=[("hint", "=", 1)])] == ["c"]


def test_the_shards_are_plain_parquet(tmp_path):
    import pyarrow.dataset as ds

    filled(tmp_path, [record("a")], [record("b", reward=None)])
    table = ds.dataset(tmp_path, format="parquet").to_table(columns=["episode", "outcome", "spans"])
    assert table["outcome"].to_pylist() == ["graded", "ungraded"]
    assert table["spans"][0].as_py()[0]["logprobs"] == [-0.5, -0.25, -0.125]


@pytest.mark.parametrize("harm", ["truncate", "flip", "empty", "text"])
def test_a_damaged_shard_is_named_and_the_others_are_read(tmp_path, harm):
    store = filled(tmp_path, [record(f"a{i}") for i in range(20)], [record("b")])
    victim = sorted(tmp_path.glob("*.parquet"))[0]
    data = bytearray(victim.read_bytes())
    if harm == "flip":
        data[8:200] = bytes(192)
    harmed = {"truncate": bytes(data[: len(data) // 2]), "flip": bytes(data), "empty": b"", "text": b"hello"}[harm]
    victim.write_bytes(harmed)
    with pytest.raises(UserError, match=victim.name):
        store.read()
    assert [r.episode for r in store.read(damaged="skip")] == ["b"]


def test_a_full_buffer_is_written_by_itself(tmp_path):
    store = Trajectories(tmp_path, flush_every=2)
    for name in "abc":
        store.add(record(name))
    assert [r.episode for r in Trajectories(tmp_path).read()] == ["a", "b"]


def test_many_threads_and_writers_lose_nothing(tmp_path):
    stores = [Trajectories(tmp_path, flush_every=3) for _ in range(2)]

    def write(store, start):
        for i in range(10):
            store.add(record(f"{start}-{i}"))

    threads = [threading.Thread(target=write, args=(stores[i % 2], i)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.flush()
    found = {r.episode for r in Trajectories(tmp_path).read()}
    assert found == {f"{s}-{i}" for s in range(4) for i in range(10)}


def test_a_write_that_fails_leaves_no_shard(tmp_path, monkeypatch):
    import os

    def full(*args):
        raise OSError(28, "No space left on device")

    store = Trajectories(tmp_path)
    store.add(record("a"))
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        store.flush()
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    store.flush()
    assert [r.episode for r in store.read()] == ["a"], "what could not be written is still pending"


def test_an_empty_store(tmp_path):
    assert Trajectories(tmp_path / "nothing").read() == []
