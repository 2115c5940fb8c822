import json

import pytest

from scienceide.base.errors import UserError
from scienceide.envs import load_task
from scienceide.envs.agents import Answer, LocalAgent, find_style
from scienceide.envs.agents.known import repair_actions
from scienceide.envs.agents.protocol import write_call
from scienceide.trainers.collect import Job
from scienceide.trainers.config import EvalConfig
from scienceide.trainers.evaluate import evaluate, graded_episodes, latest, summarise
from scienceide.trainers.trajectories import Trajectories
from tests.trainers.records import record
from tests.trainers.test_sft import Kept


def config(**changes):
    return EvalConfig(**{"model": "scripted", "resamples": 200, **changes})


class Half:
    """A policy that knows the repair of one task, and needs the hint to see where."""

    name = "half"
    version = 0

    def __init__(self, shop, task):
        ready = shop.task(task)
        (action,) = repair_actions(ready.initial, ready.fixed)
        self.mark = f"In line {action['line']} a sign"
        self.text = write_call(action, focus=action["path"])
        self.asked = 0

    def generate(self, requests):
        self.asked += len(requests)
        return [
            Answer(self.text if self.mark in r.messages[0]["content"] else "I do not know.", (), None, 0)
            for r in requests
        ]


@pytest.fixture
def half(catalog, shop):
    return Half(shop, "spring/kick-sign")


def play(half, folder, shop, **changes):
    kept = Kept()
    agent = LocalAgent(half, find_style("compact"), 1)
    return evaluate(config(**changes), folder, agent=agent, shop=shop, recorder=kept), kept


def test_a_model_between_the_anchors(half, shop, tmp_path):
    result, kept = play(half, tmp_path, shop, samples=2, k=(1, 2))
    assert result.row("oracle").reward.mean == 1.0
    assert result.row("nop").reward.mean == 0.0
    unhinted, hinted = result.row("local"), result.row("local", hint=1)
    assert unhinted.reward.mean == 0.0
    assert hinted.reward.mean == 0.5
    assert (hinted.tasks, hinted.episodes, hinted.ungraded) == (2, 4, 0)
    assert hinted.pass_at[2].mean == 0.5
    assert hinted.reward.low == 0.0 < hinted.reward.high == 1.0
    assert result.row("local", hint=1, kind="repair").reward == hinted.reward
    assert kept.metrics[-1][1]["local/hint 1/reward"] == 0.5
    assert len(kept.episodes) == 2 + 2 + 8


def test_the_result_is_json_and_a_table(half, shop, tmp_path):
    from rich.console import Console

    result, _ = play(half, tmp_path, shop)
    assert json.loads(json.dumps(result.as_json()))["rows"][0]["agent"] == "oracle"
    console = Console(record=True, width=140, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(result)
    text = console.export_text()
    assert "oracle" in text
    assert "1.000 [1.000, 1.000]" in text
    with pytest.raises(UserError, match="no row"):
        result.row("local", hint=3)


def test_a_second_call_runs_only_what_is_missing(half, shop, tmp_path):
    first, _ = play(half, tmp_path, shop)
    asked = half.asked
    again, kept = play(half, tmp_path, shop)
    assert again == first
    assert half.asked == asked
    assert kept.episodes == []
    shards = sorted((tmp_path / "trajectories").glob("*.parquet"))
    shards[-1].unlink()
    lost = 8 - len(Trajectories(tmp_path / "trajectories").read())
    assert lost > 0
    repeated, kept = play(half, tmp_path, shop)
    assert repeated == first
    assert len(kept.episodes) == lost


def test_a_model_that_cannot_do_what_is_asked(catalog, shop, tmp_path):
    with pytest.raises(UserError, match=r"pass@3 needs samples of at least 3"):
        evaluate(config(k=(1, 3)), tmp_path, shop=shop)
    with pytest.raises(UserError, match="did you mean tiny"):
        evaluate(config(model="tinny"), tmp_path, shop=shop)


def test_the_tiny_model_is_measured(catalog, shop, tmp_path):
    settings = config(model="tiny", hints=(1,), max_tokens=8, tasks=("spring/kick-sign",), concurrency=2, samples=2)
    result = evaluate(settings, tmp_path, shop=shop)
    assert result.row("local", hint=1).reward.mean == 0.0
    spans = [s for r in Trajectories(tmp_path / "trajectories").read() for s in r.spans]
    assert all(len(s.logprobs) == len(s.token_ids) > 0 for s in spans)


def test_ungraded_episodes_are_counted_apart(catalog):
    tasks = [load_task("spring/kick-sign"), load_task("spring/drift-factor")]
    a, b = (task.id for task in tasks)
    records = [record("1", a, 1.0, "local"), record("2", b, None, "local"), record("3", a, None, "nop")]
    local, _, nop, _ = summarise(records, tasks, config())
    assert (local.episodes, local.ungraded, local.reward.mean) == (1, 1, 1.0)
    assert (nop.episodes, nop.ungraded, nop.reward) == (0, 1, None)


def test_an_ungraded_episode_is_tried_again_and_the_newest_counts():
    old, new = record("1", reward=0.0, agent="local"), record("2", reward=1.0, agent="local")
    failed = record("3", reward=None, agent="nop")
    assert graded_episodes([old, new, failed]) == {("", Job("env/a", 0, None)): new}
    assert latest([failed]) == {("nop", Job("env/a", 0, None)): failed}
