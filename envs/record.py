"""The record of one episode: what the agent saw and did, what came of it, and what it cost."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from scienceide.verifiers import Verdict

Termination = Literal["submitted", "max_turns", "timeout", "agent_error", "sandbox_error", "verifier_error"]


@dataclass(frozen=True)
class Span:
    """Tokens a policy generated in one go, exactly as sampled."""

    message: int
    """Index of the assistant message they became."""
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...] | None = None
    policy_version: int = 0


@dataclass
class EpisodeRecord:
    """One attempt at one task."""

    episode: str
    task: str
    agent: str
    seed: int
    hint: int | None = None
    """Hint level shown, 1 the strongest; None for none."""
    model: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    """OpenAI chat format. Assistant messages that did not parse or failed carry `"failed": true`."""
    actions: list[str] = field(default_factory=list)
    """What was given to the environment, turn by turn: enough to replay the episode."""
    spans: list[Span] = field(default_factory=list)
    verdict: Verdict | None = None
    termination: Termination = "submitted"
    fault: str = ""
    """The sentence of the error that ended it, if one did."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall time by part: reset, model, environment, verifier."""
    tokens: dict[str, int] = field(default_factory=dict)
    """prompt, generated, environment."""

    @property
    def reward(self) -> float | None:
        """The verdict's reward; None where the episode is ungraded."""
        return None if self.verdict is None else self.verdict.reward

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON-serialisable values."""
        data = asdict(self)
        data["verdict"] = None if self.verdict is None else self.verdict.model_dump(mode="json")
        return data
