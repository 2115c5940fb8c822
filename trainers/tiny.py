"""`tiny`: a two-layer Llama with random weights and one token per byte, made in a second, for tests and trials."""

from __future__ import annotations

from pathlib import Path

from scienceide.base.paths import building, cache_dir
from scienceide.base.progress import Progress
from scienceide.trainers.templates import dress

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

_LAYOUT = "1"
"""Part of the cache's name; raise it when what is written changes."""


def prepare_tiny(progress: Progress) -> Path:
    """The folder with the model and its tokenizer, in the cache or made now; the same weights every time."""
    final = cache_dir("models") / f"tiny-{_LAYOUT}"
    with building(final) as scratch:
        if scratch is not None:
            with progress.phase("make the tiny model", 1) as bar:
                _save(scratch)
                bar.advance()
    return final


def _save(folder: Path) -> None:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    bpe = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(alphabet)}, merges=[]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.add_special_tokens(list(SPECIAL))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=SPECIAL[0],
        bos_token=SPECIAL[1],
        eos_token=SPECIAL[2],
        model_max_length=4096,
        clean_up_tokenization_spaces=False,
    )
    dress(tokenizer).save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(alphabet),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        LlamaForCausalLM(config).save_pretrained(folder)
