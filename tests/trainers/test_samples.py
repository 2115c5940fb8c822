"""The loss mask, token by token."""

from pathlib import Path

import pytest

from scienceide.base.errors import UserError
from scienceide.trainers.samples import (
    IGNORED,
    Sample,
    audit,
    conversation,
    copied_tokens,
    encode,
    fitting,
    worth_learning,
)
from tests.trainers.records import record

# Sentinels that occur nowhere else: each role's tokens can be told by their characters.
MESSAGES = [
    {"role": "system", "content": "SSSS"},
    {"role": "user", "content": "UUUU"},
    {"role": "assistant", "content": "AAAA"},
    {"role": "tool", "name": "t", "content": "TTTT"},
    {"role": "assistant", "content": "FFFF", "failed": True},
    {"role": "tool", "name": "t", "content": "TTTT"},
    {"role": "assistant", "content": "BBBB"},
    {"role": "tool", "name": "t", "content": "XXXX"},
]
MARKS = ("<|im_start|>", "<|im_end|>")


def tokens_with_loss(tokenizer, sample):
    return [tokenizer.decode([label]) for label in sample.labels if label != IGNORED]


def test_loss_lies_on_what_the_assistant_wrote_and_on_nothing_else(tiny):
    sample = encode(tiny.tokenizer, record(messages=MESSAGES))
    assert "".join(tokens_with_loss(tiny.tokenizer, sample)) == "AAAA<|im_end|>BBBB<|im_end|>"
    for token, label in zip(sample.input_ids, sample.labels, strict=True):
        text = tiny.tokenizer.decode([token])
        if label != IGNORED:
            assert label == token
            assert text in ("A", "B", "<|im_end|>")
        else:
            assert text not in ("A", "B")


def test_every_token_is_the_one_that_inference_sees(tiny):
    sample = encode(tiny.tokenizer, record(messages=MESSAGES[:3]))
    asked = tiny.tokenizer.apply_chat_template(MESSAGES[:2], add_generation_prompt=True, return_dict=False)
    assert list(sample.input_ids[: len(asked)]) == asked
    first = next(i for i, label in enumerate(sample.labels) if label != IGNORED)
    assert first == len(asked)


def test_failed_actions_are_context_without_loss(tiny):
    sample = encode(tiny.tokenizer, record(messages=MESSAGES))
    text = tiny.tokenizer.decode(sample.input_ids)
    assert "FFFF" in text
    assert "F" not in tokens_with_loss(tiny.tokenizer, sample)


def test_what_follows_the_last_answer_is_left_out(tiny):
    assert "X" not in tiny.tokenizer.decode(encode(tiny.tokenizer, record(messages=MESSAGES)).input_ids)
    assert conversation([{"role": "user", "content": "u"}]) == []


def test_the_trainer_computes_its_loss_on_those_tokens_alone(tiny, tmp_path):
    """The labels that reach the model, batch padding included."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    samples = [encode(tiny.tokenizer, record(messages=MESSAGES[:n])) for n in (3, 7)]
    rows = {"input_ids": [list(s.input_ids) for s in samples], "labels": [list(s.labels) for s in samples]}
    arguments = SFTConfig(
        output_dir=str(tmp_path),
        max_length=None,
        use_cpu=True,
        per_device_train_batch_size=2,
        report_to="none",
        bf16=False,
    )
    trainer = SFTTrainer(tiny.model, arguments, train_dataset=Dataset.from_dict(rows), processing_class=tiny.tokenizer)
    (batch,) = trainer.get_train_dataloader()
    found = {"".join(tiny.tokenizer.decode([t]) for t in row if t != IGNORED) for row in batch["labels"].tolist()}
    assert found == {"AAAA<|im_end|>", "AAAA<|im_end|>BBBB<|im_end|>"}


def test_a_template_without_markers_is_replaced_by_its_marked_twin(tiny):
    import copy

    import trl

    tokenizer = copy.deepcopy(tiny.tokenizer)
    tokenizer.chat_template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text()
    sample = encode(tokenizer, record(messages=MESSAGES[1:3]))
    trained = "".join(tokens_with_loss(tokenizer, sample))
    assert "AAAA" in trained
    assert "U" not in trained


def test_a_template_that_cannot_be_marked_is_refused(tiny):
    import copy

    tokenizer = copy.deepcopy(tiny.tokenizer)
    tokenizer.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    with pytest.raises(UserError, match="does not mark generated text"):
        encode(tokenizer, record(messages=MESSAGES[:3]))


def sample(length, episode="e"):
    return Sample(episode, (1,) * length, (IGNORED,) * (length - 1) + (1,))


def test_the_audit_reports_every_sample_that_is_too_long():
    report = audit([sample(10, "a"), sample(30, "b"), sample(20, "c")], 15)
    assert report.over_long == (("b", 30), ("c", 20))
    assert (report.longest, report.mean, report.trained_tokens) == (30, 20.0, 3)
    assert "2 too long" in str(report)


def test_over_long_samples_are_refused_or_left_out_but_never_cut():
    samples = [sample(10, "a"), sample(30, "b")]
    with pytest.raises(UserError, match=r"1 of 2 samples.*episode b with 30"):
        fitting(samples, 15, "refuse")
    assert fitting(samples, 15, "leave_out") == [samples[0]]


def test_nothing_left_to_learn_from():
    with pytest.raises(UserError, match="No sample is left"):
        fitting([sample(30)], 15, "leave_out")
    with pytest.raises(UserError, match="No sample is left"):
        fitting([Sample("e", (1, 2), (IGNORED, IGNORED))], 15, "leave_out")


def test_only_good_graded_episodes_are_learnt_from():
    records = [record("a", reward=1.0), record("b", reward=0.4), record("c", reward=None), record("d", messages=[])]
    assert [r.episode for r in worth_learning(records, 1.0)] == ["a"]
    assert [r.episode for r in worth_learning(records, 0.3)] == ["a", "b"]


PROMPT = "f.py:\n    a = 1\n    y = a * x - b / c\nIn line 2 a sign is wrong:\n    y = a * x - b / c"


@pytest.mark.parametrize(
    ("answer", "new"),
    [
        ("@edit line=2\n    y = a * x + b / c", "@edit line=2\n+"),
        ("@edit line=2\n    y = a * x / c", "@edit line=2\n/"),
        ("@edit line=2\n    y = a * x - b / c + d", "@edit line=2\n + d"),
        ("@submit", "@submit"),
    ],
)
def test_what_only_repeats_the_prompt_is_told_from_what_is_new(answer, new):
    copied = copied_tokens([answer[: i + 1] for i in range(len(answer))], PROMPT)
    assert "".join(c for i, c in enumerate(answer) if i not in copied).replace("\n\n", "\n") == new


def test_a_token_with_anything_new_in_it_is_new():
    # "x + b" as one token: it holds the changed sign.
    assert copied_tokens(["    y = a *", "    y = a * x + b", "    y = a * x + b / c"], PROMPT) == [0, 2]


def test_a_share_of_the_copied_tokens_carries_loss(tiny):
    messages = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": "@edit line=2\n    y = a * x + b / c"},
    ]
    all_of_it, none, some = (
        encode(tiny.tokenizer, record(messages=messages), copied_share=share) for share in (1.0, 0.0, 0.5)
    )
    assert "".join(tokens_with_loss(tiny.tokenizer, none)) == "@edit line=2\n+<|im_end|>"
    assert none.trained < some.trained < all_of_it.trained
    assert some == encode(tiny.tokenizer, record(messages=messages), copied_share=0.5), "drawn the same every time"
    assert set(none.labels) <= set(some.labels)
