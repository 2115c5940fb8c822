"""The run store keeps what was written, tells an interrupted run from a living one, and resumes it."""

import os
import subprocess
import sys
import textwrap

import pytest

from scienceide.base.errors import UserError
from scienceide.envs.record import EpisodeRecord
from scienceide.store import Store


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIENCEIDE_HOME", str(tmp_path))
    return Store()


def test_a_run_keeps_metrics_notes_episodes_and_result(store):
    with store.start("sft", "a title", {"lr": 1e-3}) as run:
        run.metric(1, {"loss": 2.5, "lr": 1e-3})
        run.metric(2, {"loss": 1.5})
        run.note("half way")
        run.episode(EpisodeRecord("e1", "env/task", "nop", seed=0))
        run.finish({"loss": 1.5})
    info = store.run(run.id)
    assert (info.state, info.result, info.config) == ("done", {"loss": 1.5}, {"lr": 1e-3})
    assert [(s, n, v) for _, s, n, v in store.metrics(run.id)] == [
        (1, "loss", 2.5),
        (1, "lr", 1e-3),
        (2, "loss", 1.5),
    ]
    last = store.metrics(run.id)[-2][0]
    assert [n for _, _, n, _ in store.metrics(run.id, after=last)] == ["loss"]
    assert store.notes(run.id) == ["half way"]
    assert store.episodes(run.id)[0]["outcome"] == "ungraded"
    assert store.run("last").id == run.id


def test_an_error_is_kept_in_words(store):
    with pytest.raises(UserError), store.start("rl", "t", {}) as run:
        raise UserError("The learning rate is negative.")
    assert (store.run(run.id).state, store.run(run.id).fault) == ("failed", "The learning rate is negative.")


def test_a_killed_run_shows_as_interrupted_and_resumes(store):
    script = textwrap.dedent(
        """
        import os, signal
        from scienceide.store import Store
        run = Store().start("rl", "t", {}, run="rl-x")
        run.metric(1, {"reward": 0.5})
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    subprocess.run([sys.executable, "-c", script], check=False, env=os.environ)
    assert store.run("rl-x").interrupted
    assert store.run("rl-x").as_json()["state"] == "interrupted"
    run = store.start("rl", "t", {}, run="rl-x")
    run.metric(2, {"reward": 0.75})
    run.finish({})
    assert [v for *_, v in store.metrics("rl-x")] == [0.5, 0.75]
    assert not store.run("rl-x").interrupted


def test_a_run_of_another_kind_or_in_other_hands_is_refused(store):
    store.start("rl", "t", {}, run="rl-x").finish({})
    with pytest.raises(UserError, match="kind rl, not sft"):
        store.start("sft", "t", {}, run="rl-x")
    script = "import sys; from scienceide.store import Store; Store().start('eval', 't', {}, run='eval-y'); "
    script += "print('up', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=-1, stdout=-1, env=os.environ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == b"up\n"
        with pytest.raises(UserError, match=f"process {other.pid}"):
            store.start("eval", "t", {}, run="eval-y")
        other.stdin.close()


def test_unknown_runs_offer_the_nearest(store):
    store.start("rl", "t", {}, run="rl-0001").finish({})
    with pytest.raises(UserError, match="did you mean rl-0001"):
        store.run("rl-0002")


def test_a_store_that_cannot_be_opened_says_so(tmp_path):
    with pytest.raises(UserError, match="cannot be opened"):
        Store(f"sqlite:///{tmp_path}/missing/folder/x.sqlite")
