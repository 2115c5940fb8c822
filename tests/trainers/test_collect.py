import threading
import time

import pytest

from scienceide.base.errors import ModelError, UserError
from scienceide.envs.agents import Answer, LocalAgent, Oracle, Request, find_style
from scienceide.trainers.collect import Batcher, Job, collect, jobs
from scienceide.trainers.trajectories import Trajectories


class Echo:
    """A policy that answers with the last message, and notes its batches."""

    name = "echo"
    version = 0

    def __init__(self, error=None):
        self.batches, self.error, self.inside = [], error, 0

    def generate(self, requests):
        self.inside += 1
        assert self.inside == 1, "two batches at once"
        time.sleep(0.02)
        self.batches.append(len(requests))
        self.inside -= 1
        if self.error is not None:
            raise self.error
        return [Answer(r.messages[-1]["content"], (), None, 0) for r in requests]


def ask_all(batcher, texts):
    """Ask from as many threads; answers or errors by text."""
    found = {}

    def ask(text):
        try:
            found[text] = batcher.generate([Request([{"role": "user", "content": text}])])[0].text
        except (ModelError, ZeroDivisionError) as error:
            found[text] = error

    threads = [threading.Thread(target=ask, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    return found


def test_everybody_gets_their_own_answer_in_few_batches():
    policy = Echo()
    texts = [str(i) for i in range(24)]
    assert ask_all(Batcher(policy, size=8, patience_s=0.2), texts) == {t: t for t in texts}
    assert sum(policy.batches) == 24
    assert max(policy.batches) <= 8
    assert len(policy.batches) <= 8


def test_several_requests_of_one_caller():
    batcher = Batcher(Echo(), size=2, patience_s=0.01)
    asked = [Request([{"role": "user", "content": t}]) for t in "abcde"]
    assert [a.text for a in batcher.generate(asked)] == list("abcde")


def test_an_error_of_the_model_reaches_all_that_asked():
    found = ask_all(Batcher(Echo(ModelError("too long")), size=4, patience_s=0.2), "abcd")
    assert all(isinstance(e, ModelError) and str(e) == "too long" for e in found.values())


def test_a_bug_in_the_policy_leaves_nobody_waiting():
    found = ask_all(Batcher(Echo(ZeroDivisionError("bug")), size=4, patience_s=0.2), "abcd")
    assert sum(isinstance(e, ZeroDivisionError) for e in found.values()) == 1
    assert sum(isinstance(e, ModelError) for e in found.values()) == 3


def test_jobs_are_all_combinations():
    assert jobs(["a", "b"], seeds=(0, 1), hints=(None, 1)) == [
        Job("a", 0, None),
        Job("a", 1, None),
        Job("a", 0, 1),
        Job("a", 1, 1),
        Job("b", 0, None),
        Job("b", 1, None),
        Job("b", 0, 1),
        Job("b", 1, 1),
    ]


def test_real_episodes_are_kept_and_counted(catalog, shop, tmp_path):
    store = Trajectories(tmp_path / "t")
    todo = jobs(["oscillator/kick-sign", "oscillator/drift-factor"], seeds=(0, 1), hints=(1,))
    found = collect(Oracle(find_style("compact")), shop, todo, concurrency=3, store=store)
    assert found.rewards == [1.0] * 4
    assert found.ungraded == 0
    assert {(r.task, r.seed) for r in store.read()} == {(j.task, j.seed) for j in todo}


class Broken:
    """An endpoint that is down."""

    name = "broken"
    version = 0

    def generate(self, requests):
        raise ModelError("The endpoint is down.")


def test_ungraded_episodes_are_kept(catalog, shop, tmp_path):
    store = Trajectories(tmp_path / "t")
    agent = LocalAgent(Broken(), find_style("compact"), 1)
    found = collect(agent, shop, [Job("oscillator/kick-sign", hint=1)], store=store)
    assert found.ungraded == 1
    assert found.rewards == []
    (kept,) = store.read()
    assert kept.fault == "The endpoint is down."


def test_a_task_that_does_not_exist_stops_the_collection_and_keeps_what_there_is(catalog, shop, tmp_path):
    store = Trajectories(tmp_path / "t")
    with pytest.raises(UserError, match="nosuch"):
        collect(Oracle(), shop, [Job("oscillator/kick-sign"), Job("oscillator/nosuch")], concurrency=1, store=store)
    assert [r.task for r in store.read()] == ["oscillator/kick-sign"]
