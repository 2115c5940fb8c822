"""What ungraded episodes do to their siblings: nothing."""

from typing import ClassVar

import pytest

from scienceide.trainers.config import RLConfig
from scienceide.trainers.grpo import mask_ungraded, trainer_class
from scienceide.trainers.models import load_model
from scienceide.trainers.training import common_arguments


class ScriptedSlot:
    """A rollout's slot with a reward that is known beforehand."""

    rewards: ClassVar[list] = []
    made = 0

    def __init__(self):
        self.number = ScriptedSlot.made
        ScriptedSlot.made += 1

    def reset(self, **row):
        return "Say something."

    def act(self, text: str) -> str:
        """Do nothing.

        Args:
            text: A call.

        Returns:
            Nothing.
        """
        return ""

    def get_reward(self):
        return ScriptedSlot.rewards[self.number]

    def _finish_turn(self, completion):
        pass

    def _heard(self, completion, ids, mask):
        pass


def scored(tmp_path, rewards, group, **settings):
    """TRL's batch for completions with these rewards, and the trainer."""
    from datasets import Dataset
    from transformers import set_seed
    from trl import GRPOConfig

    ScriptedSlot.rewards, ScriptedSlot.made = rewards, 0
    loaded = load_model("tiny", device="cpu")
    set_seed(0)
    trainer = trainer_class()(
        model=loaded.model,
        args=GRPOConfig(
            **common_arguments(tmp_path, loaded.spec, save_steps=100, seed=0),
            per_device_train_batch_size=len(rewards),
            num_generations=group,
            max_completion_length=6,
            max_tool_calling_iterations=0,
            max_steps=1,
            **settings,
        ),
        train_dataset=Dataset.from_list([{"prompt": [{"role": "user", "content": ""}], "task": "t"}]),
        processing_class=loaded.tokenizer,
        environment_factory=ScriptedSlot,
    )
    trainer.model.train()
    row = {"prompt": [{"role": "user", "content": ""}], "task": "t"}
    return trainer._generate_and_score_completions([row] * len(rewards)), trainer


def test_the_advantages_of_its_siblings_are_as_if_it_had_never_been(tmp_path):
    with_it, _ = scored(tmp_path / "a", [1.0, None, 0.0, 0.25], 4)
    without, _ = scored(tmp_path / "b", [1.0, 0.0, 0.25], 3)
    assert with_it["advantages"][[0, 2, 3]].tolist() == pytest.approx(without["advantages"].tolist(), abs=1e-6)
    assert with_it["advantages"][1] == 0.0


@pytest.mark.parametrize("scale", ["group", "none"])
def test_another_group_is_untouched_too(tmp_path, scale):
    with_it, _ = scored(tmp_path / "a", [1.0, None, 0.0, 1.0, 0.5, 0.0], 3, scale_rewards=scale)
    full, _ = scored(tmp_path / "b", [1.0, 0.5, 0.0], 3, scale_rewards=scale)
    assert with_it["advantages"][3:].tolist() == pytest.approx(full["advantages"].tolist(), abs=1e-6)


def test_its_tokens_are_masked_and_not_counted(tmp_path):
    output, _ = scored(tmp_path, [1.0, None, 0.0, 0.25], 4)
    lengths = output["completion_mask"].sum(dim=1)
    assert lengths[1] == 0
    assert (lengths[[0, 2, 3]] > 0).all()
    assert output["num_items_in_batch"] == lengths.sum()


def gradient(trainer, output):
    trainer.model.zero_grad()
    trainer.current_gradient_accumulation_steps = 1
    trainer.compute_loss(trainer.model, output).backward()
    return {n: p.grad.clone() for n, p in trainer.model.named_parameters() if p.grad is not None}


def test_the_gradient_does_not_depend_on_what_it_said(tmp_path):
    """With a divergence term, which would otherwise pull even at an advantage of zero."""
    import torch

    output, trainer = scored(tmp_path, [1.0, None, 0.0, 0.25], 4, beta=0.5)
    with torch.no_grad():
        for parameter in trainer.model.parameters():
            parameter.add_(0.01 * torch.ones_like(parameter))
    before = gradient(trainer, output)
    other = {k: v.clone() if torch.is_tensor(v) else v for k, v in output.items()}
    other["completion_ids"][1] = (other["completion_ids"][1] + 7) % 200
    other["ref_per_token_logps"][1] -= 3.0
    after = gradient(trainer, other)
    assert any(g.abs().max() > 0 for g in before.values())
    assert all(torch.allclose(before[name], after[name], atol=1e-7) for name in before)


def test_a_batch_without_any_grade_moves_nothing(tmp_path):
    output, trainer = scored(tmp_path, [None, None], 2)
    assert output["advantages"].tolist() == [0.0, 0.0]
    assert output["num_items_in_batch"] == 1, "the loss is divided by it"
    assert all(g.abs().max() == 0 for g in gradient(trainer, output).values())


def test_results_of_tools_stay_uncounted():
    import torch

    output = {"completion_mask": torch.ones(2, 3, dtype=torch.int), "tool_mask": torch.tensor([[1, 0, 1], [1, 1, 1]])}
    masked = mask_ungraded(output, torch.tensor([True, False]), lambda total: total)
    assert masked["num_items_in_batch"] == 2


def test_the_number_of_ungraded_is_logged(tmp_path):
    _, trainer = scored(tmp_path, [1.0, None, None, 0.25], 4)
    assert trainer._metrics["train"]["ungraded"] == [2.0]


def test_defaults_go_together():
    config = RLConfig()
    assert config.groups * config.generations % config.batch == 0
