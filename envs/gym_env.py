"""The Gymnasium face: `gymnasium.make("scienceide/Repair-v0", task="fluids/friction-03")`.

An action is the JSON text of a tool call (`tools.TOOLS`); an observation is text with a few structured
fields. The reward is the repair reward, paid once, when the episode ends. An episode that could not be
graded pays 0 and says `info["outcome"] == "ungraded"`; leave it out of any average.

`import scienceide` registers it. `gymnasium.make_vec("scienceide/Repair-v0", num_envs=8,
task=...)` runs 8 sandboxes at once.
"""

from __future__ import annotations

import string
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Space, Text

from scienceide.base.errors import SandboxError, UserError
from scienceide.envs.episode import Episode, EpisodeLimits, Observation
from scienceide.envs.record import Termination
from scienceide.envs.tools import ACTION_CHARS, TOOLS
from scienceide.envs.workshop import Workshop

TEXT_CHARS = 32768
"""Longest observation text; a longer one loses its middle."""
CHARSET = string.printable[:-2]
"""ASCII with newline, tab and carriage return: a full-Unicode Text space takes seconds to construct.
Other characters are written as backslash escapes in observations."""

Obs = dict[str, Any]


def observation_space() -> Dict:
    """`text`, `exit_code` (of the command; -1 where there is none) and `turn`."""
    return Dict(
        {
            "text": Text(min_length=0, max_length=TEXT_CHARS, charset=CHARSET),
            "exit_code": Box(-1, 255, shape=(), dtype=np.int64),
            "turn": Box(0, np.iinfo(np.int32).max, shape=(), dtype=np.int64),
        }
    )


def action_space() -> Space[str]:
    """JSON text of a tool call."""
    return Text(min_length=0, max_length=ACTION_CHARS, charset=CHARSET)


class ScienceEnv(gymnasium.Env[Obs, str]):
    """One task as a Gymnasium environment."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(
        self,
        task: str | None = None,
        sandbox: str = "auto",
        *,
        hint: int | None = None,
        max_turns: int = 30,
        render_mode: str | None = None,
        workshop: Workshop | None = None,
    ) -> None:
        """Prepare the task; the first time ever this builds its environment.

        Args:
            task: `<environment>/<task>`.
            sandbox: `auto`, `bubblewrap` or `docker`.
            hint: hint level shown with the instruction, 1 the strongest.
            max_turns: actions until the episode is truncated.
            render_mode: `ansi` or None.
            workshop: share one between many environments; it stays open when this one closes.

        Raises:
            UserError: no such task, or an argument is out of range.
            SandboxError: no sandbox can be had.
        """
        if task is None:
            raise UserError('Say which task: gymnasium.make("scienceide/Repair-v0", task="<environment>/<task>").')
        if render_mode not in (None, "ansi"):
            raise UserError(f"render_mode is 'ansi' or None, not {render_mode!r}.")
        if max_turns < 1:
            raise UserError(f"max_turns must be at least 1, got {max_turns}.")
        self.observation_space = observation_space()
        self.action_space = action_space()
        self.render_mode = render_mode
        self._hint = hint
        self._shop = workshop or Workshop(sandbox)
        self._owns_shop = workshop is None
        ready = self._shop.task(task)
        wall_s = ready.task.environment.environment.limits.episode_wall
        self._episode = Episode(self._shop, ready, EpisodeLimits(max_turns=max_turns, wall_s=wall_s))
        self._screen = ""
        self._closed = False

    @property
    def episode(self) -> Episode:
        """The episode behind it, for what Gymnasium has no word for: comparing outputs, the patch so far."""
        return self._episode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Obs, dict[str, Any]]:
        """Begin an episode. `options={"hint": level}` overrides the hint of the constructor."""
        super().reset(seed=seed)
        hint = (options or {}).get("hint", self._hint)
        text = self._episode.start(seed=seed or 0, hint=hint)
        info = {"task": self._episode.task_id, "tools": [tool.schema() for tool in TOOLS.values()]}
        return self._observe(Observation(text)), info

    def step(self, action: str) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        """Do one action; a malformed one is answered by an observation that says so."""
        try:
            observation = self._episode.act(str(action))
        except SandboxError as fault:
            return self._end(Observation(str(fault), failed=True), "sandbox_error")
        if observation.done:
            used_up = self._episode.turns >= self._episode.limits.max_turns
            submitted = observation.text == "Submitted."
            return self._end(observation, "max_turns" if used_up and not submitted else "submitted")
        if self._episode.time_left <= 0:
            return self._end(observation, "timeout")
        return self._observe(observation), 0.0, False, False, {}

    def render(self) -> str | None:
        """The latest observation's text, in render mode `ansi`."""
        return self._screen if self.render_mode == "ansi" else None

    def close(self) -> None:
        """End the sandbox. Idempotent."""
        if not self._closed:
            self._closed = True
            self._episode.close()
            if self._owns_shop:
                self._shop.close()

    def _end(self, observation: Observation, termination: Termination) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        verdict = self._episode.finish(termination)
        info = {
            "termination": termination,
            "outcome": verdict.outcome,
            "verdict": verdict.public().model_dump(mode="json"),
        }
        reward = verdict.reward if verdict.reward is not None else 0.0
        terminated = termination == "submitted"
        return self._observe(observation), reward, terminated, not terminated, info

    def _observe(self, observation: Observation) -> Obs:
        self._screen = observation.text
        exit_code = -1 if observation.exit_code is None else observation.exit_code
        return {
            "text": printable(observation.text),
            "exit_code": np.array(min(max(exit_code, -1), 255), dtype=np.int64),
            "turn": np.array(self._episode.turns, dtype=np.int64),
        }


def printable(text: str) -> str:
    """`text` within the observation space: escapes for other characters, the middle cut when too long."""
    ascii_text = text.encode("ascii", "backslashreplace").decode("ascii")
    allowed = set(CHARSET)
    clean = "".join(c if c in allowed else f"\\x{ord(c):02x}" for c in ascii_text)
    if len(clean) <= TEXT_CHARS:
        return clean
    note = f"\n[… {len(clean) - TEXT_CHARS} characters cut …]\n".replace("…", "...")
    half = (TEXT_CHARS - len(note)) // 2
    return clean[:half] + note + clean[-half:]
