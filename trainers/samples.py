"""From trajectories to what SFT trains on: tokens, and which of them carry loss.

Only what the assistant wrote carries loss, its end mark included. A message that came to nothing (`failed`)
is shown as context and carries none. Most of a repair is a copy of what the prompt shows; where asked for,
only a share of the copied tokens carries loss, so that the few that change something are not drowned by them.
A sample is never cut: one that is too long is reported and, only if asked, left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby
from typing import Any, Literal

from scienceide.base.errors import UserError
from scienceide.envs.record import EpisodeRecord

IGNORED = -100
"""The label of a token without loss."""
ALIKE = 0.6
"""Lines less alike than this are no copies (difflib's ratio)."""


@dataclass(frozen=True)
class Sample:
    """One conversation as tokens. `labels[i]` is `input_ids[i]` where there is loss, else `IGNORED`."""

    episode: str
    input_ids: tuple[int, ...]
    labels: tuple[int, ...]

    @property
    def trained(self) -> int:
        """Tokens with loss."""
        return sum(label != IGNORED for label in self.labels)


@dataclass(frozen=True)
class Audit:
    """Lengths of the samples, in tokens, and which are too long."""

    samples: int
    longest: int
    mean: float
    trained_tokens: int
    over_long: tuple[tuple[str, int], ...]
    """Episode and length of each."""

    def __str__(self) -> str:
        text = f"{self.samples} samples, {self.mean:.0f} tokens on average, {self.longest} at most"
        return text + (f", {len(self.over_long)} too long" if self.over_long else "")


def worth_learning(records: Iterable[EpisodeRecord], min_reward: float) -> list[EpisodeRecord]:
    """Graded episodes with at least that reward and something said in them."""
    return [
        record
        for record in records
        if record.reward is not None and record.reward >= min_reward and conversation(record.messages)
    ]


def conversation(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages up to the assistant's last; empty where the assistant said nothing."""
    last = max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=-1)
    return [dict(m) for m in messages[: last + 1]]


def encode(tokenizer: Any, record: EpisodeRecord, *, copied_share: float = 1.0, seed: int = 0) -> Sample:
    """Tokens and labels of one episode's conversation.

    Args:
        tokenizer: with a chat template.
        record: the episode.
        copied_share: share of the tokens copied from the prompt that carry loss.
        seed: decides, with the episode's name, which of them do.

    Raises:
        UserError: the tokenizer's chat template does not say which tokens are the assistant's.
    """
    messages = conversation(record.messages)
    plain = [{k: v for k, v in m.items() if k != "failed"} for m in messages]
    encoded = tokenizer.apply_chat_template(
        plain, chat_template=training_template(tokenizer), return_dict=True, return_assistant_tokens_mask=True
    )
    ids, mask = list(encoded["input_ids"]), list(encoded["assistant_masks"])
    spoken = [m for m in messages if m["role"] == "assistant"]
    runs = _runs(mask)
    if len(runs) != len(spoken):
        raise UserError(
            f"The chat template marks {len(runs)} stretches of generated text in a conversation with "
            f"{len(spoken)} assistant messages; loss on the assistant alone needs one for each."
        )
    labels = [IGNORED] * len(ids)
    draw = random.Random(f"{seed} {record.episode}")
    for (start, end), message in zip(runs, spoken, strict=True):
        if message.get("failed"):
            continue
        labels[start:end] = ids[start:end]
        if copied_share < 1.0:
            # The end mark is no copy, whatever it stands behind.
            shown = tokenizer.decode(ids[:start])
            for i in copied_tokens([tokenizer.decode(ids[start : k + 1]) for k in range(start, end - 1)], shown):
                if draw.random() >= copied_share:
                    labels[start + i] = IGNORED
    return Sample(record.episode, tuple(ids), tuple(labels))


def copied_tokens(prefixes: Sequence[str], shown: str) -> list[int]:
    """Which tokens of a message only repeat a line that was shown before.

    Each line of the message is held against the shown line that is most like it; what both have in common at
    their beginnings and at their ends is copied, what lies between is said anew, and so is the first token after
    something was left out. A line like no other is all new.

    Args:
        prefixes: the message up to and including each token, as text.
        shown: all text before the message.
    """
    text = prefixes[-1] if prefixes else ""
    lines = list(dict.fromkeys(shown.split("\n")))
    copied = [False] * len(text)
    position = 0
    for line in text.split("\n"):
        near = get_close_matches(line, lines, n=1, cutoff=ALIKE) if line.strip() else []
        if near:
            head = _common(line, near[0])
            tail = _common(line[head:][::-1], near[0][head:][::-1])
            gap = head == len(line) - tail and line != near[0]
            for i in (*range(head), *range(len(line) - tail + gap, len(line))):
                copied[position + i] = True
        position += len(line) + 1
    starts = [0, *map(len, prefixes[:-1])]
    pairs = enumerate(zip(starts, map(len, prefixes), strict=True))
    return [i for i, (start, end) in pairs if start < end and all(copied[start:end])]


def training_template(tokenizer: Any) -> str:
    """The tokenizer's chat template, or TRL's equal of it that marks what is generated.

    Raises:
        UserError: there is neither.
    """
    from trl.chat_template_utils import get_training_chat_template

    if "{% generation" in tokenizer.chat_template or "{%- generation" in tokenizer.chat_template:
        return str(tokenizer.chat_template)
    try:
        return str(get_training_chat_template(tokenizer))
    except ValueError:
        raise UserError(
            "The model's chat template does not mark generated text ({% generation %}), and none that does is "
            "known for it; loss on assistant turns alone is impossible."
        ) from None


def audit(samples: Sequence[Sample], max_length: int) -> Audit:
    """Lengths of all samples against the limit."""
    lengths = [len(s.input_ids) for s in samples]
    over = tuple((s.episode, len(s.input_ids)) for s in samples if len(s.input_ids) > max_length)
    return Audit(
        samples=len(samples),
        longest=max(lengths, default=0),
        mean=sum(lengths) / len(lengths) if lengths else 0.0,
        trained_tokens=sum(s.trained for s in samples),
        over_long=over,
    )


def fitting(samples: Sequence[Sample], max_length: int, over_long: Literal["refuse", "leave_out"]) -> list[Sample]:
    """The samples that can be trained on whole.

    Raises:
        UserError: some are too long and nobody said to leave them out, or nothing is left.
    """
    report = audit(samples, max_length)
    if report.over_long and over_long == "refuse":
        episode, length = report.over_long[0]
        raise UserError(
            f"{len(report.over_long)} of {len(samples)} samples are longer than max_length = {max_length} tokens, "
            f"episode {episode} with {length} among them; raise max_length or set over_long = 'leave_out'."
        )
    kept = [s for s in samples if len(s.input_ids) <= max_length and s.trained]
    if not kept:
        raise UserError("No sample is left to learn from: no graded episode is good enough, or none fits max_length.")
    return kept


def _common(a: str, b: str) -> int:
    """Length of the common beginning."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _runs(mask: Sequence[int]) -> list[tuple[int, int]]:
    """Half-open ranges of ones."""
    runs, position = [], 0
    for value, group in groupby(mask):
        length = len(list(group))
        if value:
            runs.append((position, position + length))
        position += length
    return runs
