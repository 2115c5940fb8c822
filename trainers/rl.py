"""Reinforcement learning on episodes, with TRL's GRPOTrainer.

    result = train_rl(RLConfig(model="smollm2-135m", steps=8), folder)

A run that was killed goes on from its last checkpoint when it is started again on the same folder.
"""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scienceide.base.errors import UserError
from scienceide.base.paths import write_atomically
from scienceide.base.progress import Progress, Silent
from scienceide.base.recorder import Recorder, Unrecorded
from scienceide.envs.agents import find_style
from scienceide.envs.catalog import LoadedTask
from scienceide.envs.record import EpisodeRecord
from scienceide.envs.workshop import Workshop
from scienceide.trainers.config import RLConfig, hint_level
from scienceide.trainers.grpo import trainer_class
from scienceide.trainers.models import LoadedModel, load_model
from scienceide.trainers.selection import choose, refuse_leakage
from scienceide.trainers.training import (
    adapter,
    common_arguments,
    last_checkpoint,
    quiet_libraries,
    reporting,
    save_model,
    silence,
)
from scienceide.trainers.trajectories import Trajectories, outcome
from scienceide.trainers.trl_env import Settings, factory

RESULT = "rl.json"
"""In the run's folder, once it is finished."""


@dataclass(frozen=True)
class RLResult:
    """What a run left."""

    model: Path
    """Folder of the trained model."""
    steps: int
    episodes: int
    """In this process; a resumed run's earlier ones are in its trajectories."""
    ungraded: int
    rewards: tuple[float, ...]
    """Mean reward of the graded episodes, step by step."""
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """For the run store."""
        return {
            "model": str(self.model),
            "steps": self.steps,
            "episodes": self.episodes,
            "ungraded": self.ungraded,
            "rewards": list(self.rewards),
            "seconds": self.seconds,
        }


def train_rl(
    config: RLConfig,
    folder: Path,
    *,
    shop: Workshop | None = None,
    recorder: Recorder | None = None,
    progress: Progress | None = None,
) -> RLResult:
    """Train; everything is kept in `folder`, and a second call on it goes on where the first was stopped.

    Args:
        config: what to do.
        folder: the run's.
        shop: where episodes are made; one of the configured sandbox when left out.
        recorder: told every metric and episode.
        progress: advanced by steps.

    Raises:
        UserError: unknown model or task, held-out tasks, or sizes that do not go together.
        SandboxError: no sandbox can be had.
    """
    report, bar = recorder or Unrecorded(), progress or Silent()
    if (folder / RESULT).is_file():
        return _read_result(folder / RESULT)
    tasks = choose(config.tasks, "train", config.environments)
    refuse_leakage(tasks)
    if config.groups * config.generations % config.batch:
        raise UserError(
            f"batch = {config.batch} does not divide groups · generations = {config.groups * config.generations}."
        )
    if shop is not None:
        return _train(config, tasks, folder, shop, report, bar)
    with Workshop(config.sandbox, progress=bar) as own:
        return _train(config, tasks, folder, own, report, bar)


def _train(
    config: RLConfig, tasks: list[LoadedTask], folder: Path, shop: Workshop, recorder: Recorder, progress: Progress
) -> RLResult:
    quiet_libraries()
    loaded = load_model(config.model, progress)
    started = time.perf_counter()
    with Trajectories(folder / "trajectories", flush_every=config.groups * config.generations) as store:
        keep = _Keeper(store, recorder)
        settings = Settings(shop, find_style(config.style), config.turns, loaded.spec.name, ended=keep)
        trainer = make_trainer(config, loaded, tasks, settings, folder)
        settings.version = lambda: int(trainer.state.global_step)
        silence(trainer)
        try:
            with progress.phase(f"reinforce {loaded.spec.label}", config.steps) as bar:
                trainer.add_callback(reporting(recorder, bar))
                trainer.train(resume_from_checkpoint=last_checkpoint(folder))
        finally:
            settings.close()
    rewards = tuple(entry["reward"] for entry in trainer.state.log_history if "reward" in entry)
    model = save_model(trainer, loaded, folder, "rl")
    seconds = time.perf_counter() - started
    steps = int(trainer.state.global_step)
    result = RLResult(model, steps, keep.episodes, keep.ungraded, rewards, seconds)
    write_atomically(folder / RESULT, json.dumps(result.as_json()))
    return result


def _read_result(path: Path) -> RLResult:
    data = json.loads(path.read_text())
    return RLResult(**{**data, "model": Path(data["model"]), "rewards": tuple(data["rewards"])})


def make_trainer(
    config: RLConfig, loaded: LoadedModel, tasks: list[LoadedTask], settings: Settings, folder: Path
) -> Any:
    """The TRL trainer, ready to train."""
    from datasets import Dataset
    from transformers import set_seed
    from trl import GRPOConfig

    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    set_seed(config.seed)
    hint = hint_level(config.hint)
    rows = [{"prompt": [{"role": "user", "content": ""}], "task": task.id, "hint": hint} for task in tasks]
    trainer = trainer_class()(
        model=loaded.model,
        args=GRPOConfig(
            **common_arguments(folder, loaded.spec, save_steps=config.save_steps, seed=config.seed),
            max_steps=config.steps,
            learning_rate=config.learning_rate,
            lr_scheduler_type="constant",
            per_device_train_batch_size=config.batch,
            gradient_accumulation_steps=config.groups * config.generations // config.batch,
            num_generations=config.generations,
            max_completion_length=config.max_tokens,
            # TRL would ask once more after the last call; the trainer carries that out instead.
            max_tool_calling_iterations=config.turns - 1,
            temperature=config.temperature,
            beta=config.kl,
            loss_type=config.loss,
            scale_rewards=config.scale_rewards,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=loaded.tokenizer,
        environment_factory=factory(settings),
        peft_config=adapter(loaded, config.lora),
    )
    trainer.concurrency = config.concurrency
    return trainer


class _Keeper:
    """Takes each ended episode, from whatever thread graded it, to the store and the recorder."""

    def __init__(self, store: Trajectories, recorder: Recorder) -> None:
        self.episodes = 0
        self.ungraded = 0
        self._store = store
        self._recorder = recorder
        self._lock = threading.Lock()

    def __call__(self, record: EpisodeRecord) -> None:
        with self._lock:
            self.episodes += 1
            self.ungraded += outcome(record) == "ungraded"
            self._store.add(record)
            self._recorder.episode(record)
