"""The words every room shares: atomic files, folders made once, quantities, errors."""

import multiprocessing
import os
import signal
import time

import pytest
from pydantic import TypeAdapter, ValidationError

from scienceide.base.errors import Fault, UserError, unknown
from scienceide.base.paths import building, content_hash, write_atomically
from scienceide.base.progress import Silent, track
from scienceide.base.quantities import Bytes, Seconds, human_bytes


def test_a_written_file_is_whole_and_leaves_no_scraps(tmp_path):
    write_atomically(tmp_path / "sub" / "a.txt", "one")
    write_atomically(tmp_path / "sub" / "a.txt", b"two")
    assert (tmp_path / "sub" / "a.txt").read_bytes() == b"two"
    assert os.listdir(tmp_path / "sub") == ["a.txt"]


def test_a_failed_build_leaves_nothing(tmp_path):
    def build_half():
        with building(tmp_path / "thing") as scratch:
            (scratch / "half").write_text("x")
            raise UserError("no")

    with pytest.raises(UserError, match="no"):
        build_half()
    assert not (tmp_path / "thing").exists()
    assert [p for p in os.listdir(tmp_path) if not p.endswith(".lock")] == []


def test_a_built_folder_is_not_built_again(tmp_path):
    for expected in (False, True):
        with building(tmp_path / "thing") as scratch:
            assert (scratch is None) is expected
    assert (tmp_path / "thing").is_dir()


def _build_slowly(folder, log):
    with building(folder) as scratch:
        if scratch is not None:
            with open(log, "a") as stream:
                stream.write("built\n")
            time.sleep(0.3)


def test_processes_at_once_build_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    jobs = [context.Process(target=_build_slowly, args=(tmp_path / "thing", tmp_path / "log")) for _ in range(3)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    assert (tmp_path / "log").read_text() == "built\n"


def _build_and_die(folder):
    with building(folder) as scratch:
        (scratch / "half").write_text("x")
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_build_does_not_look_whole_and_does_not_lock_others_out(tmp_path):
    job = multiprocessing.get_context("spawn").Process(target=_build_and_die, args=(tmp_path / "thing",))
    job.start()
    job.join()
    assert not (tmp_path / "thing").exists()
    with building(tmp_path / "thing") as scratch:
        assert scratch is not None
        assert os.listdir(scratch) == []
    assert sorted(os.listdir(tmp_path)) == [".thing.lock", "thing"]


@pytest.mark.parametrize(("text", "value"), [("2 GiB", 2**31), ("1.5 MiB", 3 * 2**19), ("10 MB", 10**7), (4096, 4096)])
def test_bytes(text, value):
    assert TypeAdapter(Bytes).validate_python(text) == value


@pytest.mark.parametrize(("text", "value"), [("120 s", 120.0), ("30 min", 1800.0), ("250 ms", 0.25), (7, 7.0)])
def test_seconds(text, value):
    assert TypeAdapter(Seconds).validate_python(text) == value


@pytest.mark.parametrize("text", ["2", "two GiB", "2 gib", "GiB", "-1 GiB", "2 GiB 3"])
def test_a_wrong_quantity_says_what_was_expected(text):
    with pytest.raises(ValidationError, match="such as '2 GiB'"):
        TypeAdapter(Bytes).validate_python(text)


def test_human_bytes():
    assert [human_bytes(n) for n in (0, 1023, 1536, 5 * 2**30)] == ["0 B", "1023 B", "1.5 KiB", "5.0 GiB"]


def test_hashes_depend_on_content_alone():
    assert content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})
    assert content_hash("ab", "c") != content_hash("a", "bc")


def test_unknown_names_offer_the_nearest_or_what_there_is():
    assert "did you mean friction-03" in str(unknown("task", "friction-3", ["friction-03", "drag-01"]))
    assert "known: a, b" in str(unknown("task", "zzz", ["b", "a"]))
    assert "none" in str(unknown("task", "zzz", []))


def test_every_fault_says_whose_it_is():
    kinds = Fault.__subclasses__()
    assert {k.blame for k in kinds} == {"user", "task", "sandbox", "verifier", "model"}


def test_track_yields_everything():
    assert list(track(Silent(), "phase", [1, 2, 3])) == [1, 2, 3]


def test_a_lazy_attribute_is_worked_out_once_and_for_two_instances_at_the_same_time():
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    from scienceide.base.lazy import lazy

    both = Barrier(2)

    class Fact:
        asked = 0

        @lazy
        def value(self):
            """What it is."""
            self.asked += 1
            both.wait(timeout=10)
            return object()

    facts = [Fact(), Fact()]
    with ThreadPoolExecutor(2) as pool:
        first = list(pool.map(lambda fact: fact.value, facts))
    assert [fact.value for fact in facts] == first
    assert [fact.asked for fact in facts] == [1, 1]
