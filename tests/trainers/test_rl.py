import json
import signal
import subprocess
import sys
import time

import pytest

from scienceide.base.errors import UserError
from scienceide.trainers.config import RLConfig
from scienceide.trainers.models import load_model
from scienceide.trainers.rl import train_rl
from scienceide.trainers.trajectories import Trajectories
from tests.trainers.test_sft import Kept


def config(**changes):
    settings = {
        "model": "tiny",
        "tasks": ("oscillator/kick-sign", "oscillator/drift-factor"),
        "steps": 3,
        "groups": 2,
        "generations": 2,
        "batch": 2,
        "max_tokens": 8,
        "save_steps": 1,
        **changes,
    }
    return RLConfig(**settings)


@pytest.fixture(scope="module")
def trained(tmp_path_factory, shop):
    """A short run on a catalog of its own."""
    from tests.trainers.conftest import make_catalog

    root = tmp_path_factory.mktemp("rl")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIENCEIDE_CATALOG", str(make_catalog(root / "catalog")))
        kept = Kept()
        return train_rl(config(), root / "run", shop=shop, recorder=kept), kept, root / "run"


def test_a_run_leaves_a_model_metrics_and_trajectories(trained):
    result, kept, folder = trained
    assert (result.steps, result.episodes, result.ungraded) == (3, 12, 0)
    assert len(result.rewards) == 3
    assert {step for step, values in kept.metrics if "reward" in values} == {1, 2, 3}
    metrics = next(values for _, values in kept.metrics if "reward" in values)
    assert {"reward", "ungraded", "loss", "entropy", "completions/mean_length", "learning_rate"} <= metrics.keys()
    records = Trajectories(folder / "trajectories").read()
    assert len(records) == len(kept.episodes) == 12
    assert all(r.verdict.outcome == "graded" and r.spans[0].token_ids for r in records)
    assert [r.spans[0].policy_version for r in records] == [0] * 4 + [1] * 4 + [2] * 4
    load_model(str(result.model), device="cpu")
    json.dumps(result.as_json())


def test_groups_share_their_task(trained):
    records = Trajectories(trained[2] / "trajectories").read()
    for start in range(0, 12, 4):
        tasks = sorted(r.task for r in records[start : start + 4])
        assert tasks == ["oscillator/drift-factor"] * 2 + ["oscillator/kick-sign"] * 2


def test_a_finished_run_is_not_run_again(trained):
    result, _, folder = trained
    kept = Kept()
    assert train_rl(config(), folder, recorder=kept) == result
    assert kept.metrics == []


def test_what_is_rewarded_becomes_likelier(catalog, shop, tmp_path, monkeypatch):
    """Each episode earns the share of its tokens that come from one half of the vocabulary."""
    from scienceide.trainers.trl_env import TextEpisodes

    grade = TextEpisodes.get_reward

    def reward(slot):
        grade(slot)
        ids = slot._record.spans[0].token_ids
        return sum(token < 130 for token in ids) / len(ids)

    monkeypatch.setattr(TextEpisodes, "get_reward", reward)
    settings = config(
        tasks=("oscillator/kick-sign",),
        steps=12,
        groups=1,
        generations=16,
        batch=16,
        learning_rate=1e-2,
        lora={"enabled": False},
    )
    rewards = train_rl(settings, tmp_path, shop=shop).rewards
    assert sum(rewards[-3:]) / 3 > sum(rewards[:3]) / 3 + 0.15


def test_an_interrupted_run_leaves_no_sandbox_open(catalog, shop, tmp_path, monkeypatch):
    from scienceide.trainers.trl_env import TextEpisodes

    opened, reset = [], TextEpisodes.reset

    def interrupted(slot, **row):
        prompt = reset(slot, **row)
        opened.append(slot._episode)
        if len(opened) == 3:
            raise KeyboardInterrupt
        return prompt

    monkeypatch.setattr(TextEpisodes, "reset", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train_rl(config(), tmp_path, shop=shop)
    assert len(opened) == 3
    assert all(episode._sandbox is None for episode in opened)


SCRIPT = """
import sys, torch
from pathlib import Path
torch.set_num_threads(1)
from scienceide.trainers.rl import train_rl
from tests.trainers.test_rl import config
train_rl(config(steps=4), Path(sys.argv[1]))
"""


def test_a_killed_run_goes_on(catalog, shop, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)])
    try:
        deadline = time.monotonic() + 400
        while not (tmp_path / "checkpoints" / "checkpoint-2" / "trainer_state.json").exists():
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = Kept()
    result = train_rl(config(steps=4), tmp_path, shop=shop, recorder=kept)
    # The second checkpoint may be half: then it goes on from the first.
    assert min(step for step, values in kept.metrics if "reward" in values) > 1, "it began again"
    assert len(result.rewards) == 4, "the curve is whole"


def test_held_out_tasks_are_refused(catalog, tmp_path):
    with pytest.raises(UserError, match="spring/kick-sign is held out"):
        train_rl(config(tasks=("spring/kick-sign",)), tmp_path)


def test_sizes_that_do_not_go_together(catalog, tmp_path):
    with pytest.raises(UserError, match="does not divide"):
        train_rl(config(batch=3), tmp_path)


def test_a_model_that_does_not_exist(catalog, shop, tmp_path):
    with pytest.raises(UserError, match="did you mean tiny"):
        train_rl(config(model="tinny"), tmp_path, shop=shop)
