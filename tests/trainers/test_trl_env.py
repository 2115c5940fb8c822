import inspect

import pytest

from scienceide.base.errors import SandboxError
from scienceide.envs.agents import find_style
from scienceide.envs.agents.known import repair_actions
from scienceide.envs.agents.protocol import write_call
from scienceide.trainers.trl_env import OVER, Settings, TextEpisodes, ToolEpisodes, factory

TASK = "oscillator/kick-sign"


def call(**arguments):
    name = arguments.pop("name", "act")
    return {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}


@pytest.fixture
def repair(shop):
    """The edit that puts the task right."""
    ready = shop.task(TASK)
    (action,) = repair_actions(ready.initial, ready.fixed)
    return action


@pytest.fixture
def fix(repair):
    """The same as a compact call."""
    return write_call(repair, focus=repair["path"])


@pytest.fixture
def ended():
    return []


@pytest.fixture
def settings(shop, ended):
    return Settings(shop, find_style("compact"), model="m", version=lambda: 5, ended=ended.append)


@pytest.mark.parametrize("kind", [TextEpisodes, ToolEpisodes])
def test_every_public_method_is_a_tool_that_describes_itself(kind):
    from transformers.utils import get_json_schema

    tools = [
        member
        for name, member in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name not in ("reset", "get_reward")
    ]
    assert {tool.__name__ for tool in tools} == kind._tools
    wanted = {"act"} if kind is TextEpisodes else {"bash", "view", "edit", "write", "check", "submit"}
    assert {tool.__name__ for tool in tools} == wanted
    for tool in tools:
        schema = get_json_schema(tool.__get__(object()))["function"]
        assert schema["description"]


def test_an_episode_from_prompt_to_reward(settings, ended, fix, repair):
    slot = factory(settings)()
    prompt = slot.reset(task=TASK, hint=1, prompt=[{"role": "user", "content": ""}])
    assert f"In line {repair['line']} a sign is wrong" in prompt
    completion = [call(text=fix)]
    slot._finish_turn(completion)
    slot._heard(completion, [3, 4, 5], None)
    assert slot.get_reward() == 1.0
    assert slot.get_reward() == 1.0
    (record,) = ended
    assert [m["role"] for m in record.messages] == ["user", "assistant"]
    assert record.spans[0].token_ids == (3, 4, 5)
    assert record.spans[0].policy_version == 5
    assert len(record.actions) == 2, "the look at the file, and the edit"


def test_a_slot_is_used_again(settings, ended, fix):
    slot = factory(settings)()
    slot.reset(task=TASK, hint=1)
    slot.act(fix)
    assert slot.get_reward() == 1.0
    slot.reset(task=TASK, hint=1)
    assert slot.get_reward() == 0.0, "nothing of the first episode is left"
    assert ended[0].episode != ended[1].episode


def test_nonsense_is_graded_as_doing_nothing(settings):
    slot = factory(settings)()
    slot.reset(task=TASK, hint=1)
    slot._finish_turn([{"role": "assistant", "content": "Hello."}])
    assert slot.get_reward() == 0.0


def test_calls_that_trl_carried_out_are_not_repeated(settings, fix):
    slot = factory(settings)()
    slot.reset(task=TASK, hint=1)
    slot.act("@edit line=2\n    return 3")
    assert slot._pending([call(text="…"), {"role": "tool", "content": ""}, call(text=fix)]) == [
        {"name": "act", "arguments": {"text": fix}}
    ]


def test_after_the_end_nothing_happens(shop, ended, repair):
    slot = ToolEpisodes(Settings(shop, find_style("tools"), turns=3, ended=ended.append))
    slot.reset(task=TASK)
    assert slot.submit() == "Submitted."
    assert slot.edit(path=repair["path"], line=repair["line"], new=repair["new"]) == OVER
    assert slot.get_reward() == 0.0
    assert ended[0].termination == "submitted"


def test_the_tools_do_what_they_say(shop, repair):
    slot = ToolEpisodes(Settings(shop, find_style("tools"), turns=9))
    slot.reset(task=TASK)
    assert "stiffness" in slot.view(path=repair["path"], start=1, end=repair["line"])
    assert repair["path"] in slot.bash(command="ls")
    slot.write(path="notes.txt", content="x")
    assert "visible cases pass" in slot.check()
    slot.edit(path=repair["path"], line=repair["line"], new=repair["new"])
    assert slot.get_reward() == 1.0


@pytest.mark.parametrize("arguments", [{"nosuch": 1}, {}])
def test_arguments_that_a_tool_does_not_take_are_a_failed_action(settings, arguments):
    slot = factory(settings)()
    slot.reset(task=TASK, hint=1)
    others = [call(name=name) for name in ("nosuch", "_grade", "get_reward", "reset")]
    slot._finish_turn([call(**arguments), *others])
    assert slot.get_reward() == 0.0


@pytest.mark.parametrize("when", ["acquire", "act"])
def test_a_sandbox_that_fails_leaves_the_episode_ungraded(settings, ended, monkeypatch, when, fix):
    def broken(*args, **kwargs):
        raise SandboxError("The daemon is gone.")

    slot = factory(settings)()
    if when == "acquire":
        monkeypatch.setattr(settings.shop.provider, "acquire", broken)
        slot.reset(task=TASK, hint=1)
    else:
        slot.reset(task=TASK, hint=1)
        monkeypatch.setattr(slot._episode, "act", broken)
    slot.act(fix)
    assert slot.get_reward() is None
    assert ended[0].termination == "sandbox_error"
    assert ended[0].fault == "The daemon is gone."
