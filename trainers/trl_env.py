"""Episodes in the form that TRL's `environment_factory` takes: `reset`, public methods as tools, `get_reward`.

`TextEpisodes` is for models without tools of their own: one tool that takes the text of a call.
`ToolEpisodes` is for models whose chat template carries tools: the ordinary six, with types and docstrings.

An instance is one rollout's slot: it is reset often and holds one episode at a time. What was said is told to
it by the trainer (`_heard`), so that every episode leaves a whole trajectory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from itertools import groupby
from typing import Any, ClassVar
from uuid import uuid4

from scienceide.base.errors import SandboxError
from scienceide.envs.agents import Style
from scienceide.envs.agents.base import play
from scienceide.envs.agents.protocol import read_call
from scienceide.envs.episode import Episode, EpisodeLimits
from scienceide.envs.record import EpisodeRecord, Span
from scienceide.envs.tools import TOOLS
from scienceide.envs.workshop import Workshop
from scienceide.verifiers import Verdict

OVER = "The episode is over."
SPARE_TURNS = 8
"""Actions beyond the policy's answers: what a style looks at to open an episode, and several calls in an answer."""


@dataclass
class Settings:
    """What all slots of a run share."""

    shop: Workshop
    style: Style
    turns: int = 1
    model: str = ""
    version: Callable[[], int] = lambda: 0
    """The policy's present version, kept with each episode."""
    ended: Callable[[EpisodeRecord], None] = field(default=lambda record: None)
    """Told about each graded or ungraded episode."""
    slots: list[_Slot] = field(default_factory=list)
    """All that were made."""

    def close(self) -> None:
        """End the episodes that a stopped run left open."""
        for slot in self.slots:
            slot._close()


class _Slot:
    """What both kinds of slots do; a leading underscore keeps a method from becoming a tool."""

    _tools: ClassVar[frozenset[str]] = frozenset()
    """Names of the methods that a model may call."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        settings.slots.append(self)
        self._episode: Episode | None = None
        self._record = EpisodeRecord("", "", "", 0)
        self._focus: str | None = None
        self._acts = 0
        self._done = True

    def reset(self, task: str, hint: int | None = None, seed: int = 0, **_: Any) -> str:
        """Begin an episode of `task`; what the model is asked. A sandbox that fails makes it ungraded."""
        self._close()
        settings = self._settings
        ready = settings.shop.task(task)
        self._record = EpisodeRecord(
            episode=uuid4().hex[:12], task=task, agent="policy", seed=seed, hint=hint, model=settings.model
        )
        limits = EpisodeLimits(
            max_turns=settings.turns + SPARE_TURNS, wall_s=ready.task.environment.environment.limits.episode_wall
        )
        self._episode = Episode(settings.shop, ready, limits)
        self._acts, self._done, self._focus = 0, False, None
        self._record.termination = "max_turns"
        prompt = self._guarded(self._open)
        self._record.messages.append({"role": "user", "content": prompt})
        return prompt

    def get_reward(self) -> float | None:
        """The repair reward; None where the episode could not be graded, which TRL leaves out of the group."""
        if self._record.verdict is None:
            self._grade()
        return self._record.reward

    def _open(self) -> str:
        assert self._episode is not None
        first = self._episode.start(self._record.seed, self._record.hint)
        opening = self._settings.style.open(first, self._play)
        self._focus = opening.focus
        return opening.prompt

    def _play(self, action: str | Mapping[str, Any]) -> Any:
        assert self._episode is not None
        return play(self._episode, self._record, action)

    def _act(self, action: str | Mapping[str, Any]) -> str:
        """One call of the model; its result as text."""
        self._acts += 1
        if self._done or self._episode is None:
            return OVER
        return self._guarded(lambda: self._observe(action))

    def _observe(self, action: str | Mapping[str, Any]) -> str:
        observation = self._play(action)
        if observation.done:
            self._done = True
            self._record.termination = "submitted"
        return str(observation.text)

    def _guarded(self, work: Callable[[], str]) -> str:
        """A broken sandbox ends the episode, not the training."""
        try:
            return work()
        except SandboxError as error:
            self._done = True
            self._record.termination, self._record.fault = "sandbox_error", str(error)
            return f"The sandbox failed: {error}"

    def _pending(self, completion: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Calls that the policy made and the trainer has not carried out: those of its last answer."""
        calls = [call["function"] for message in completion for call in message.get("tool_calls") or ()]
        return calls[self._acts :]

    def _finish_turn(self, completion: Sequence[Mapping[str, Any]]) -> None:
        """Carry out the calls of the last answer, after which the policy is not asked again."""
        for call in self._pending(completion):
            if call["name"] in self._tools and _fits(tool := getattr(self, call["name"]), call["arguments"]):
                tool(**call["arguments"])

    def _heard(self, completion: Sequence[Mapping[str, Any]], ids: Sequence[int], mask: Sequence[int] | None) -> None:
        """Put the policy's answers and their tokens on the record."""
        messages = self._record.messages
        first = len(messages)
        messages += [dict(message) for message in completion]
        spoken = [i for i in range(first, len(messages)) if messages[i]["role"] == "assistant"]
        spans = _generated(ids, mask)
        version = self._settings.version()
        self._record.spans = [Span(i, tokens, None, version) for i, tokens in zip(spoken, spans, strict=False)]
        self._record.tokens = {"generated": sum(map(len, spans))}

    def _grade(self) -> None:
        episode, record = self._episode, self._record
        if episode is None:
            record.verdict = Verdict.ungraded(record.fault or "The episode was never begun.")
        else:
            record.verdict = episode.finish(record.termination)
            record.fault = record.fault or record.verdict.fault
            record.seconds = dict(episode.seconds)
        self._close()
        self._settings.ended(record)

    def _close(self) -> None:
        if self._episode is not None:
            self._episode.close()
            self._episode = None


class TextEpisodes(_Slot):
    """For models that call tools by the text protocol."""

    _tools = frozenset({"act"})

    def act(self, text: str) -> str:
        """Do one action in the episode.

        Args:
            text: A call such as "@edit line=12" with a body below it.

        Returns:
            What came of it.
        """
        return self._act(read_call(text, self._focus))


class ToolEpisodes(_Slot):
    """For models with tools of their own."""

    _tools = frozenset(TOOLS)

    def bash(self, command: str) -> str:
        """Run a shell command in the code's folder and see its output and exit code.

        Args:
            command: The command line.

        Returns:
            Output and exit code.
        """
        return self._act({"tool": "bash", "command": command})

    def view(self, path: str, start: int | None = None, end: int | None = None) -> str:
        """Show a file with line numbers, or a folder's entries.

        Args:
            path: Relative to the code's folder.
            start: First line, from 1.
            end: Last line.

        Returns:
            The numbered lines.
        """
        return self._act({"tool": "view", "path": path, "start": start, "end": end})

    def edit(self, path: str, new: str, old: str | None = None, line: int | None = None) -> str:
        """Change a file: replace `old`, which must occur exactly once, by `new`; or a whole line by `new`.

        Args:
            path: Relative to the code's folder.
            new: What to put there.
            old: Text to replace.
            line: Line to replace, from 1.

        Returns:
            Whether it was done.
        """
        return self._act({"tool": "edit", "path": path, "new": new, "old": old, "line": line})

    def write(self, path: str, content: str) -> str:
        """Write a whole file.

        Args:
            path: Relative to the code's folder.
            content: The file's new content.

        Returns:
            Whether it was done.
        """
        return self._act({"tool": "write", "path": path, "content": content})

    def check(self, case: str | None = None) -> str:
        """Build what changed and run the visible cases: errors against the reference, with tolerances.

        Args:
            case: One case only; all when left out.

        Returns:
            Which cases pass, and the errors of those that fail.
        """
        return self._act({"tool": "check", "case": case})

    def submit(self) -> str:
        """End the episode; the code as it now stands is graded.

        Returns:
            That it is over.
        """
        return self._act({"tool": "submit"})


def factory(settings: Settings) -> Callable[[], _Slot]:
    """What to pass as `environment_factory`: makes a slot of the kind that the style calls for."""
    kind = ToolEpisodes if settings.style.name == "tools" else TextEpisodes
    return lambda: kind(settings)


def _fits(tool: Callable[..., str], arguments: Any) -> bool:
    """Whether a tool takes these arguments; a call that it does not take is a failed action."""
    try:
        signature(tool).bind(**arguments)
    except TypeError:
        return False
    return True


def _generated(ids: Sequence[int], mask: Sequence[int] | None) -> list[tuple[int, ...]]:
    """The stretches of tokens that the policy wrote, where results of tools lie between them."""
    if mask is None:
        return [tuple(ids)]
    pairs = zip(ids, mask, strict=True)
    return [tuple(token for token, _ in run) for written, run in groupby(pairs, key=lambda p: p[1]) if written]
