"""What each job can be told, as typed records with a default for every field, readable from TOML.

`None` always means "not said" and is never told from a setting that is left out: TOML has no null.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from scienceide.base.errors import UserError
from scienceide.envs.formats.io import describe, load_toml
from scienceide.verifiers import Strict

C = TypeVar("C", bound=BaseModel)
StyleName = Literal["full", "compact", "tools"]


class Sandboxed(Strict):
    """What every job that runs episodes can be told."""

    sandbox: Literal["auto", "bubblewrap", "docker"] = "auto"
    """Where code runs; `auto` takes what this machine can."""
    concurrency: int = Field(default=2, ge=1, le=1024)
    """Episodes at a time."""


class CollectConfig(Sandboxed):
    """Running an agent to gather trajectories."""

    agent: Literal["oracle", "nop", "local", "chat"] = "oracle"
    """Who plays."""
    model: str | None = None
    """For local a registry name or folder; for chat the endpoint's model."""
    base_url: str | None = None
    """For chat, the endpoint."""
    tasks: tuple[str, ...] | None = None
    """Task ids; all of `split` when left out."""
    split: Literal["train", "heldout"] = "train"
    """Which tasks, where `tasks` does not say."""
    environments: tuple[str, ...] | None = None
    """Only tasks of these environments."""
    hints: tuple[int | Literal["none"], ...] = (1,)
    """Hint levels shown, an episode for each; `none` shows none."""
    seeds: tuple[int, ...] = (0,)
    """An episode for each."""
    style: StyleName = "compact"
    """How tasks are put to the agent."""
    turns: int = Field(default=1, ge=1)
    """Answers a local agent may give."""
    max_tokens: int = Field(default=64, ge=1)
    """Longest answer of a local agent, in tokens."""
    temperature: float = Field(default=0.0, ge=0)
    """0 takes the likeliest token."""


class LoraConfig(Strict):
    """Low-rank adaptation; what is left out comes from the model's own defaults."""

    enabled: bool = True
    """False trains all weights."""
    rank: int | None = Field(default=None, ge=1)
    """Rank of the update."""
    alpha: int | None = Field(default=None, ge=1)
    """The update is scaled by alpha / rank."""
    dropout: float | None = Field(default=None, ge=0, lt=1)
    """On the adapter's input."""
    top_layers: int | None = Field(default=None, ge=1)
    """Adapt only so many layers, counted from the top; backpropagation stops below them."""


class SFTConfig(Strict):
    """Supervised fine-tuning on trajectories."""

    model: str = "smollm2-135m"
    """A registry name, or the folder of a model."""
    trajectories: tuple[str, ...] = ()
    """Folders of trajectory stores to learn from."""
    tasks: tuple[str, ...] | None = None
    """Where no trajectories are given, the oracle plays these first (hint 1); all train tasks when left out."""
    min_reward: float = Field(default=1.0, ge=0, le=1)
    """Only graded episodes with at least this reward."""
    style: StyleName = "compact"
    """How tasks are put, where the oracle plays."""
    epochs: float = Field(default=6.0, gt=0)
    """Passes over the samples."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """Peak; it falls linearly to zero."""
    batch: int = Field(default=4, ge=1)
    """Samples per step on one device."""
    accumulate: int = Field(default=1, ge=1)
    """Batches per optimiser step."""
    max_length: int = Field(default=1024, ge=16)
    """Longest sample in tokens."""
    copied_share: float = Field(default=0.15, ge=0, le=1)
    """Share of an answer's tokens that only repeat what the prompt shows and yet carry loss; 1 for all."""
    over_long: Literal["refuse", "leave_out"] = "refuse"
    """What happens with longer ones; they are never cut."""
    lora: LoraConfig = LoraConfig()
    """Adapter settings."""
    sandbox: Literal["auto", "bubblewrap", "docker"] = "auto"
    """Where the oracle plays."""
    concurrency: int = Field(default=2, ge=1)
    """Oracle episodes at a time."""
    seed: int = 0
    """Of everything drawn at random."""
    save_steps: int = Field(default=20, ge=1)
    """A checkpoint to resume from after so many steps."""


class RLConfig(Sandboxed):
    """Reinforcement learning on episodes with GRPO."""

    model: str = "smollm2-135m"
    """A registry name, or the folder of a model or of an SFT result."""
    tasks: tuple[str, ...] | None = None
    """Task ids; all train tasks when left out. Held-out tasks are refused."""
    environments: tuple[str, ...] | None = None
    """Only tasks of these environments."""
    hint: int | Literal["none"] = 1
    """Hint level shown; `none` shows none."""
    style: StyleName = "compact"
    """How tasks are put to the model."""
    turns: int = Field(default=1, ge=1)
    """Answers it may give per episode."""
    steps: int = Field(default=8, ge=1)
    """Optimiser steps."""
    groups: int = Field(default=2, ge=1)
    """Tasks per step."""
    generations: int = Field(default=8, ge=2)
    """Episodes per task: the group that a reward is compared within."""
    batch: int = Field(default=8, ge=1)
    """Episodes per forward and backward pass; a divisor of groups · generations."""
    learning_rate: float = Field(default=2e-4, gt=0)
    """Constant."""
    temperature: float = Field(default=1.0, gt=0)
    """Of sampling."""
    max_tokens: int = Field(default=64, ge=1)
    """Tokens of an episode's answers together, results of tools included."""
    kl: float = Field(default=0.0, ge=0)
    """Weight of the divergence from the starting model; 0 needs no reference model."""
    loss: Literal["grpo", "dr_grpo", "dapo", "bnpo"] = "dapo"
    """Which normalisation of the loss."""
    scale_rewards: Literal["group", "batch", "none"] = "group"
    """What advantages are divided by the deviation of."""
    lora: LoraConfig = LoraConfig()
    """Adapter settings."""
    seed: int = 0
    """Of everything drawn at random."""
    save_steps: int = Field(default=5, ge=1)
    """A checkpoint to resume from after so many steps."""


class EvalConfig(Sandboxed):
    """Measuring a model on tasks."""

    model: str = "smollm2-135m"
    """A registry name, or the folder of a model; for chat the endpoint's model."""
    base_url: str | None = None
    """An OpenAI-compatible endpoint to measure instead of a model in this process."""
    tasks: tuple[str, ...] | None = None
    """Task ids; all of `split` when left out."""
    split: Literal["train", "heldout"] = "heldout"
    """Which tasks, where `tasks` does not say."""
    environments: tuple[str, ...] | None = None
    """Only tasks of these environments."""
    hints: tuple[int | Literal["none"], ...] = ("none", 1)
    """Hint levels, measured apart."""
    samples: int = Field(default=1, ge=1)
    """Episodes per task and hint level, with seeds 0, 1, …"""
    k: tuple[int, ...] = (1,)
    """Which pass@k; each at most `samples`."""
    style: StyleName = "compact"
    """How tasks are put to the model."""
    turns: int = Field(default=1, ge=1)
    """Answers it may give per episode."""
    max_tokens: int = Field(default=64, ge=1)
    """Longest answer, in tokens."""
    temperature: float = Field(default=0.0, ge=0)
    """0 takes the likeliest token; pass@k with k > 1 wants more."""
    confidence: float = Field(default=0.95, gt=0, lt=1)
    """Of the intervals."""
    resamples: int = Field(default=2000, ge=100)
    """Of the bootstrap."""
    seed: int = 0
    """Of the bootstrap."""


def load_config(path: Path, kind: type[C]) -> C:
    """Read a job's configuration from TOML.

    Raises:
        UserError: which file, line and field is wrong.
    """
    return load_toml(path, kind)


def make_config(kind: type[C], values: Mapping[str, Any]) -> C:
    """A configuration from keyword values.

    Raises:
        UserError: a setting does not exist (the nearest is offered) or is out of range.
    """
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        raise UserError(describe(error, Path(kind.__name__), kind, "")) from None


def hint_level(hint: int | str) -> int | None:
    """A configuration's hint level as episodes take it."""
    return None if hint == "none" else int(hint)
