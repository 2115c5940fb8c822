"""Supervised fine-tuning on trajectories, with TRL's SFTTrainer.

    result = train_sft(SFTConfig(model="smollm2-135m"), folder)

Where no trajectories are given, the oracle plays the train tasks first, in the prompt style that evaluation
uses. A run that was killed goes on from its last checkpoint when it is started again on the same folder.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scienceide.base.errors import UserError
from scienceide.base.paths import write_atomically
from scienceide.base.progress import Progress, Silent
from scienceide.base.recorder import Recorder, Unrecorded
from scienceide.envs.agents import Oracle, find_style
from scienceide.envs.catalog import load_task
from scienceide.envs.record import EpisodeRecord
from scienceide.envs.workshop import Workshop
from scienceide.trainers.collect import collect, jobs
from scienceide.trainers.config import SFTConfig
from scienceide.trainers.models import LoadedModel, load_model
from scienceide.trainers.samples import Sample, audit, encode, fitting, worth_learning
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
from scienceide.trainers.trajectories import Trajectories

RESULT = "sft.json"
"""In the run's folder, once it is finished."""


@dataclass(frozen=True)
class SFTResult:
    """What a fine-tuning run left."""

    model: Path
    """Folder of the trained model."""
    samples: int
    left_out: int
    """Samples that were too long."""
    loss: float
    """Mean over the last epoch."""
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """For the run store."""
        return {
            "model": str(self.model),
            "samples": self.samples,
            "left_out": self.left_out,
            "loss": self.loss,
            "seconds": self.seconds,
        }


def train_sft(
    config: SFTConfig,
    folder: Path,
    *,
    shop: Workshop | None = None,
    recorder: Recorder | None = None,
    progress: Progress | None = None,
) -> SFTResult:
    """Fine-tune; everything is kept in `folder`, and a second call on it goes on where the first was stopped.

    Raises:
        UserError: unknown model or task, no usable sample, over-long samples, or training on what is held out.
        SandboxError: the oracle found no sandbox.
    """
    report, bar = recorder or Unrecorded(), progress or Silent()
    records = _records(config, folder, shop, report, bar)
    good = worth_learning(records, config.min_reward)
    refuse_leakage([load_task(task) for task in sorted({record.task for record in good})])
    return fit(config, good, folder, recorder=report, progress=bar)


def fit(
    config: SFTConfig,
    records: Sequence[EpisodeRecord],
    folder: Path,
    *,
    recorder: Recorder | None = None,
    progress: Progress | None = None,
) -> SFTResult:
    """Fine-tune on these episodes, all of them; `train_sft` picks them and sees to it that none is held out.

    Raises:
        UserError: unknown model, or samples that do not fit.
    """
    report, bar = recorder or Unrecorded(), progress or Silent()
    if (folder / RESULT).is_file():
        return _read_result(folder / RESULT)
    quiet_libraries()
    loaded = load_model(config.model, bar)
    samples = [
        encode(loaded.tokenizer, record, copied_share=config.copied_share, seed=config.seed) for record in records
    ]
    report.note(str(audit(samples, config.max_length)))
    kept = fitting(samples, config.max_length, config.over_long)
    for episode, length in audit(samples, config.max_length).over_long:
        report.note(f"left out episode {episode}: {length} tokens are more than {config.max_length}")
    started = time.perf_counter()
    loss, model = _train(config, loaded, kept, folder, report, bar)
    result = SFTResult(model, len(kept), len(samples) - len(kept), loss, time.perf_counter() - started)
    write_atomically(folder / RESULT, json.dumps(result.as_json()))
    return result


def _read_result(path: Path) -> SFTResult:
    data = json.loads(path.read_text())
    return SFTResult(**{**data, "model": Path(data["model"])})


def _records(
    config: SFTConfig, folder: Path, shop: Workshop | None, recorder: Recorder, progress: Progress
) -> list[EpisodeRecord]:
    """The given trajectories, or the oracle's on the train tasks."""
    if config.trajectories:
        stores = [Path(path) for path in config.trajectories]
        for path in stores:
            if not path.is_dir():
                raise UserError(f"{path}: there is no such trajectory store.")
        return [record for path in stores for record in Trajectories(path).read()]
    tasks = choose(config.tasks, "train")
    refuse_leakage(tasks)
    store = Trajectories(folder / "trajectories")
    done = store.read()
    missing = [job for job in jobs([t.id for t in tasks], hints=(1,)) if job.task not in {r.task for r in done}]
    oracle = Oracle(find_style(config.style))
    with nullcontext(shop) if shop is not None else Workshop(config.sandbox, progress=progress) as place:
        new = collect(
            oracle, place, missing, concurrency=config.concurrency, store=store, recorder=recorder, progress=progress
        )
    return done + new.records


def _train(
    config: SFTConfig,
    loaded: LoadedModel,
    samples: Sequence[Sample],
    folder: Path,
    recorder: Recorder,
    progress: Progress,
) -> tuple[float, Path]:
    from datasets import Dataset
    from transformers import set_seed
    from trl import SFTConfig as Arguments
    from trl import SFTTrainer

    set_seed(config.seed)
    dataset = Dataset.from_dict(
        {"input_ids": [list(s.input_ids) for s in samples], "labels": [list(s.labels) for s in samples]}
    )
    loaded.tokenizer.padding_side = "right"
    trainer = SFTTrainer(
        model=loaded.model,
        args=Arguments(
            **common_arguments(folder, loaded.spec, save_steps=config.save_steps, seed=config.seed),
            num_train_epochs=config.epochs,
            learning_rate=config.learning_rate,
            lr_scheduler_type="linear",
            warmup_steps=2,
            per_device_train_batch_size=config.batch,
            gradient_accumulation_steps=config.accumulate,
            max_length=None,  # what is too long was dealt with; nothing is ever cut
        ),
        train_dataset=dataset,
        processing_class=loaded.tokenizer,
        peft_config=adapter(loaded, config.lora),
    )
    silence(trainer)
    per_epoch = math.ceil(len(samples) / (config.batch * config.accumulate))
    with progress.phase(f"fine-tune {loaded.spec.label}", math.ceil(per_epoch * config.epochs)) as bar:
        trainer.add_callback(reporting(recorder, bar))
        trainer.train(resume_from_checkpoint=last_checkpoint(folder))
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry][-per_epoch:]
    return sum(losses) / len(losses), save_model(trainer, loaded, folder, "sft")
