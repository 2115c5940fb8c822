import pytest

from scienceide.base.errors import ModelError, UserError
from scienceide.envs.agents import Request
from scienceide.trainers.models import LoadedModel, ModelSpec
from scienceide.trainers.policy import Sampling, TransformersPolicy


def asked(text, seed=0):
    return Request([{"role": "user", "content": text}], seed)


def test_an_answer_depends_on_its_seed_and_not_on_its_neighbours(tiny):
    policy = TransformersPolicy(tiny, Sampling(12, temperature=1.0))
    alone = policy.generate([asked("x = 1", 5)])[0]
    among = policy.generate([asked("a much longer neighbour " * 3, 1), asked("x = 1", 5), asked("x = 1", 6)])
    assert among[1].token_ids == alone.token_ids
    assert among[2].token_ids != alone.token_ids


def test_without_temperature_the_likeliest_token_is_taken(tiny):
    policy = TransformersPolicy(tiny, Sampling(8))
    assert policy.generate([asked("y", 1)])[0].token_ids == policy.generate([asked("y", 2)])[0].token_ids


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_log_probabilities_are_those_of_the_model(tiny, temperature):
    import torch

    policy = TransformersPolicy(tiny, Sampling(10, temperature))
    request = asked("def f(x):")
    (answer,) = policy.generate([request])
    prompt = tiny.tokenizer.apply_chat_template(request.messages, add_generation_prompt=True, return_dict=False)
    assert answer.prompt_tokens == len(prompt)
    with torch.no_grad():
        logits = tiny.model(torch.tensor([prompt + list(answer.token_ids)])).logits[0, len(prompt) - 1 : -1]
    logp = torch.log_softmax(logits / (temperature or 1.0), dim=-1)
    wanted = logp[torch.arange(len(answer.token_ids)), torch.tensor(answer.token_ids)]
    assert answer.logprobs == pytest.approx(wanted.tolist(), abs=1e-4)


def test_sampling_follows_the_distribution(tiny):
    """First tokens drawn at a low temperature, against their probabilities."""
    import torch

    policy = TransformersPolicy(tiny, Sampling(1, temperature=0.02))
    prompt = tiny.tokenizer.apply_chat_template(asked("z").messages, add_generation_prompt=True, return_dict=False)
    with torch.no_grad():
        wanted = torch.softmax(tiny.model(torch.tensor([prompt])).logits[0, -1] / 0.02, dim=-1)
    drawn = [a.token_ids[0] for a in policy.generate([asked("z", seed) for seed in range(600)])]
    top = torch.topk(wanted, 3)
    for token, probability in zip(top.indices.tolist(), top.values.tolist(), strict=True):
        assert drawn.count(token) / 600 == pytest.approx(probability, abs=0.08)


def test_an_answer_ends_with_its_end_mark_or_is_truncated(tiny):
    policy = TransformersPolicy(tiny, Sampling(40, temperature=1.0))
    answers = policy.generate([asked("q", seed) for seed in range(40)])
    end = tiny.tokenizer.eos_token_id
    for answer in answers:
        assert answer.truncated == (answer.token_ids[-1] != end)
        assert end not in answer.token_ids[:-1]
        assert len(answer.logprobs) == len(answer.token_ids)
    assert {a.truncated for a in answers} == {True, False}


def test_a_conversation_beyond_the_context_is_the_models_fault(tiny):
    with pytest.raises(ModelError, match="do not fit"):
        TransformersPolicy(tiny, Sampling(8)).generate([asked("x" * 5000)])


def native(tiny, template):
    import copy

    tokenizer = copy.deepcopy(tiny.tokenizer)
    tokenizer.chat_template, tokenizer.response_template = template, None
    spec = ModelSpec("native", "here", 1e5, "", 4096, "tools")
    return LoadedModel(spec, tiny.model, tokenizer)


def test_tool_calls_in_the_models_own_form_are_read(tiny):
    from pathlib import Path

    import trl

    template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text()
    policy = TransformersPolicy(native(tiny, template), Sampling(4))
    text = '<tool_call>\n{"name": "edit", "arguments": {"path": "a.py", "line": 3, "new": "x"}}\n</tool_call><|im_end|>'
    ids = policy.loaded.tokenizer(text)["input_ids"]
    prompt = policy.loaded.tokenizer("<|im_start|>assistant\n")["input_ids"]
    _, calls = policy._read(ids, prompt, asked("x"))
    assert calls == ({"tool": "edit", "path": "a.py", "line": 3, "new": "x"},)


def test_a_template_whose_tool_calls_nobody_can_read_is_refused(tiny):
    with pytest.raises(UserError, match="cannot be read"):
        TransformersPolicy(native(tiny, "{{ messages[0].content }}"), Sampling(4))
