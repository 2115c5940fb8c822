"""The Gymnasium face: the checker passes, seeds repeat, vectors run, random text is survived."""

import json

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from scienceide.base.errors import UserError
from scienceide.envs.gym_env import TEXT_CHARS, printable

KICK, DRIFT = "oscillator/kick-sign", "oscillator/drift-factor"
FIX = json.dumps({"tool": "edit", "path": "oscillator.py", "line": 9, "new": "    return -stiffness * position"})
SUBMIT = json.dumps({"tool": "submit"})


@pytest.fixture
def env(shop):
    env = gymnasium.make("scienceide/Repair-v0", task=KICK, workshop=shop, render_mode="ansi")
    yield env
    env.close()


def test_the_checker_passes(env):
    check_env(env.unwrapped)


def test_an_episode_pays_once_at_its_end(env):
    observation, info = env.reset(seed=3)
    assert "energy" in observation["text"]
    assert {t["function"]["name"] for t in info["tools"]} >= {"bash", "submit"}
    observation, reward, terminated, truncated, _ = env.step(FIX)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert env.render() == "oscillator.py edited."
    observation, reward, terminated, truncated, info = env.step(SUBMIT)
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (info["termination"], info["outcome"]) == ("submitted", "graded")
    assert observation in env.observation_space


def test_hidden_cases_stay_hidden_in_info(env):
    env.reset()
    *_, info = env.step(SUBMIT)
    assert "period" not in json.dumps(info)


def test_the_same_actions_give_the_same_everything(env):
    def play():
        env.reset(seed=7)
        return [env.step(a) for a in ('{"tool": "check"}', '{"tool": "bash", "command": "ls"}', FIX, SUBMIT)]

    first, second = play(), play()
    assert json.dumps(first, default=str) == json.dumps(second, default=str)


def test_too_many_turns_truncate_and_are_graded(shop):
    env = gymnasium.make("scienceide/Repair-v0", task=KICK, workshop=shop, max_turns=1)
    env.reset()
    _, reward, terminated, truncated, info = env.step(FIX)
    assert (reward, terminated, truncated, info["termination"]) == (1.0, False, True, "max_turns")
    env.close()


def test_a_sandbox_that_dies_ends_the_episode_ungraded(env):
    env.reset()
    env.unwrapped._episode._sandbox.close()
    _, reward, terminated, truncated, info = env.step('{"tool": "bash", "command": "ls"}')
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert (info["termination"], info["outcome"]) == ("sandbox_error", "ungraded")


def test_vectors_run_many_sandboxes_with_true_texts(shop):
    vector = gymnasium.make_vec("scienceide/Repair-v0", num_envs=2, task=[KICK, DRIFT], workshop=shop)
    observations, _ = vector.reset(seed=1)
    assert "runs away" in observations["text"][0]
    assert "too fast" in observations["text"][1]
    assert observations in vector.observation_space
    vector.step((FIX, FIX))
    observations, rewards, terminated, _, info = vector.step((SUBMIT, '{"tool": "bash", "command": "true"}'))
    assert rewards.tolist() == [1.0, 0.0]
    assert terminated.tolist() == [True, False]
    assert info["_outcome"].tolist() == [True, False]
    observations, rewards, terminated, _, _ = vector.step((FIX, SUBMIT))
    assert "runs away" in observations["text"][0], "the step after the end resets"
    assert observations["turn"].tolist() == [0, 3]
    assert terminated.tolist() == [False, True]
    vector.close()
    vector.close()


def test_bad_arguments_are_said(shop):
    with pytest.raises(UserError, match="Say which task"):
        gymnasium.make("scienceide/Repair-v0")
    with pytest.raises(UserError, match="did you mean"):
        gymnasium.make("scienceide/Repair-v0", task="oscillator/kick-sing", workshop=shop)
    with pytest.raises(UserError, match="max_turns must be at least 1"):
        gymnasium.make("scienceide/Repair-v0", task=KICK, workshop=shop, max_turns=0)
    with pytest.raises(UserError, match="2 tasks for num_envs=3"):
        gymnasium.make_vec("scienceide/Repair-v0", num_envs=3, task=[KICK, DRIFT], workshop=shop)


@pytest.mark.parametrize("text", ["", "ü\x00\x1b[31m🙂", "x" * (TEXT_CHARS + 5), "🙂" * TEXT_CHARS])
def test_any_text_fits_the_observation_space(env, text):
    space = env.observation_space["text"]
    assert printable(text) in space
    assert np.array_equal(space.sample() in space, True)
