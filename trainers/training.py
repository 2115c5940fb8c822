"""What SFT and RL have in common: adapters, checkpoints, reporting, the finished model."""

from __future__ import annotations

import json
import math
import os
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scienceide.base.paths import building
from scienceide.base.progress import Phase
from scienceide.base.recorder import Recorder
from scienceide.trainers.config import LoraConfig
from scienceide.trainers.models import LoadedModel, ModelSpec, write_origin

CHECKPOINTS = "checkpoints"
MODEL = "model"
"""The folder of a finished model in a run's folder."""


def adapter(loaded: LoadedModel, wanted: LoraConfig) -> Any:
    """The peft configuration for a model, or None to train all weights.

    The output embedding is never adapted: losses multiply hidden states by its weight directly.
    """
    if not wanted.enabled:
        return None
    from peft import LoraConfig as PeftLora

    defaults = loaded.spec.lora
    layers = loaded.model.config.get_text_config().num_hidden_layers
    top = min(wanted.top_layers or defaults.top_layers or layers, layers)
    targets = linear_names(loaded.model) if defaults.targets == "all-linear" else list(defaults.targets)
    return PeftLora(
        r=wanted.rank or defaults.rank,
        lora_alpha=wanted.alpha or defaults.alpha,
        lora_dropout=defaults.dropout if wanted.dropout is None else wanted.dropout,
        target_modules=targets,
        layers_to_transform=list(range(layers - top, layers)) if top < layers else None,
        task_type="CAUSAL_LM",
    )


def linear_names(model: Any) -> list[str]:
    """Last names of all linear layers but the output embedding."""
    from torch.nn import Linear

    head = model.get_output_embeddings()
    found = {name.rpartition(".")[2] for name, m in model.named_modules() if isinstance(m, Linear) and m is not head}
    return sorted(found)


def common_arguments(folder: Path, spec: ModelSpec, *, save_steps: int, seed: int) -> dict[str, Any]:
    """Arguments that every TRL trainer here gets."""
    import torch

    gpu = torch.cuda.is_available()
    arguments: dict[str, Any] = {
        "output_dir": str(folder / CHECKPOINTS),
        "logging_steps": 1,
        "save_steps": save_steps,
        "save_total_limit": 2,
        "seed": seed,
        "data_seed": seed,
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": not gpu,
        "bf16": gpu and spec.precision == "bfloat16",
        "gradient_checkpointing": gpu,
        "dataloader_pin_memory": gpu,
    }
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and spec.parallel.fsdp:
        arguments["fsdp"] = spec.parallel.fsdp
    return arguments


def last_checkpoint(folder: Path) -> str | None:
    """The newest whole checkpoint of a run; what a killed writer left half is passed over and removed."""
    found = sorted((folder / CHECKPOINTS).glob("checkpoint-*"), key=lambda p: int(p.name.rpartition("-")[2]))
    for path in reversed(found):
        if _whole(path):
            return str(path)
        shutil.rmtree(path)
    return None


def _whole(checkpoint: Path) -> bool:
    """The trainer writes its state last."""
    try:
        json.loads((checkpoint / "trainer_state.json").read_text())
    except (OSError, ValueError):
        return False
    return True


def save_model(trainer: Any, loaded: LoadedModel, folder: Path, job: str) -> Path:
    """Put what `job` made, adapter merged, into `folder/model`, whole or not at all; the checkpoints go."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    if hasattr(model, "merge_and_unload"):
        model = model.merge_and_unload()
    with building(folder / MODEL) as scratch:
        if scratch is not None:
            model.save_pretrained(scratch)
            loaded.tokenizer.save_pretrained(scratch)
            write_origin(scratch, loaded.spec, job)
    shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    return folder / MODEL


def reporting(recorder: Recorder, bar: Phase) -> Any:
    """A trainer callback that passes on every number it logs, and every step."""
    from transformers import TrainerCallback

    class Reporting(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            bar.advance(note=f"step {state.global_step}")

        def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any) -> None:
            values = {k: float(v) for k, v in (logs or {}).items() if isinstance(v, int | float)}
            values = {k: v for k, v in values.items() if math.isfinite(v)}
            if values:
                recorder.metric(state.global_step, values)

    return Reporting()


def silence(trainer: Any) -> None:
    """Remove the callback that prints every log line."""
    from transformers.trainer_callback import PrinterCallback

    trainer.remove_callback(PrinterCallback)


def quiet_libraries() -> None:
    """Stop transformers and datasets from drawing bars of their own, and from telling users what TRL should change."""
    import datasets
    from transformers.utils import logging

    warnings.filterwarnings("ignore", category=FutureWarning, module=r"(transformers|trl|peft)\.")
    logging.disable_progress_bar()
    datasets.disable_progress_bars()
