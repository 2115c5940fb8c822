import json

import pytest

from scienceide.base.errors import UserError
from scienceide.envs.agents import Nop, Oracle, Replay, conduct, find_style, make_agent
from scienceide.envs.agents.known import repair_actions
from tests.agents.fakes import BROKEN, FIXED, FakeEpisode, record


def played(agent, episode=None, hint=1):
    episode, kept = episode or FakeEpisode(), record(hint=hint)
    conduct(agent, episode, kept)
    return kept


@pytest.mark.parametrize("style", [None, "full", "compact", "tools"])
def test_the_oracle_earns_one_in_every_style(style):
    kept = played(Oracle(find_style(style) if style else None))
    assert kept.reward == 1.0
    assert kept.termination == "submitted"
    assert not any(m.get("failed") for m in kept.messages)


def test_a_compact_oracle_says_just_the_edit():
    kept = played(Oracle(find_style("compact")))
    assert [m["content"] for m in kept.messages if m["role"] == "assistant"] == ["@edit line=2\n    return -x"]


def test_nop_earns_nothing():
    assert played(Nop()).reward == 0.0


def test_a_replay_repeats_what_was_done():
    first = played(Oracle(find_style("full")))
    again = played(Replay(first.actions))
    assert again.actions == first.actions
    assert again.reward == first.reward
    assert again.termination == first.termination


def test_a_replay_that_never_submits_is_graded_as_it_stands():
    kept = played(Replay([json.dumps({"tool": "edit", "path": "code.py", "line": 2, "new": "    return -x"})]))
    assert kept.reward == 1.0


def test_a_repair_that_changes_the_number_of_lines_writes_the_file():
    actions = list(repair_actions({"a": b"one\n"}, {"a": b"one\ntwo\n"}))
    assert actions == [{"tool": "write", "path": "a", "content": "one\ntwo\n"}]


def test_a_repair_keeps_carriage_returns_to_the_environment():
    actions = list(repair_actions({"a": b"x\r\ny\r\n"}, {"a": b"z\r\ny\r\n"}))
    assert actions == [{"tool": "edit", "path": "a", "line": 1, "new": "z"}]
    assert list(repair_actions({"a": BROKEN}, {"a": BROKEN})) == []
    assert len(list(repair_actions({"a": BROKEN}, {"a": FIXED}))) == 1


def test_a_sandbox_that_dies_leaves_an_ungraded_episode():
    kept = played(Oracle(), FakeEpisode(breaks_at=1))
    assert kept.termination == "sandbox_error"
    assert kept.reward is None
    assert kept.fault == "The sandbox is gone."


def test_the_turn_limit_ends_any_agent():
    kept = played(Replay([json.dumps({"tool": "check"})] * 5), FakeEpisode(max_turns=3))
    assert kept.termination == "max_turns"
    assert len(kept.actions) == 3


def test_a_verifier_that_fails_is_its_own_fault():
    episode = FakeEpisode()
    episode.finish = lambda termination: FakeEpisode().finish("sandbox_error")
    kept = played(Nop(), episode)
    assert kept.termination == "verifier_error"
    assert kept.reward is None


def test_agents_by_name(tmp_path):
    assert make_agent("oracle").name == "oracle"
    assert make_agent("nop").name == "nop"
    assert make_agent("chat", model="m").model == "m"
    path = tmp_path / "episode.json"
    path.write_text(json.dumps({"actions": ['{"tool": "submit"}']}))
    assert list(make_agent("replay", replay=path).actions) == ['{"tool": "submit"}']


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("orakel", "did you mean oracle"),
        ("chat", "--model"),
        ("local", "--model"),
        ("replay", "--replay"),
    ],
)
def test_an_agent_that_cannot_be_made_says_what_is_missing(name, message):
    with pytest.raises(UserError, match=message):
        make_agent(name)


@pytest.mark.parametrize("text", ["{", "[]", '{"actions": 3}', '{"actions": [1]}'])
def test_a_broken_record_cannot_be_replayed(tmp_path, text):
    path = tmp_path / "episode.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"episode\.json"):
        make_agent("replay", replay=path)
    with pytest.raises(UserError, match="missing"):
        make_agent("replay", replay=tmp_path / "missing")


def test_on_a_real_task_the_oracle_earns_one_and_replay_the_same(shop):
    from scienceide.envs.agents import run

    first = run(Oracle(find_style("compact")), shop, "oscillator/kick-sign", hint=1)
    assert first.reward == 1.0
    assert run(Replay(first.actions), shop, "oscillator/kick-sign").reward == 1.0
    assert run(Nop(), shop, "oscillator/kick-sign").reward == 0.0
