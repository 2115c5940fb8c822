"""GRPO as TRL does it, with three things of ours: an episode ends with its last answer, grading runs in parallel,
and what could not be graded takes no part.

TRL leaves an episode without a reward out of its group's mean and deviation. Here its tokens are masked as
well, so that they neither carry a divergence or entropy term nor count in the loss's normalisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def trainer_class() -> type[Any]:
    """The trainer; made on demand, since it derives from TRL's."""
    import torch
    from trl import GRPOTrainer

    class EpisodeTrainer(GRPOTrainer):  # type: ignore[misc]
        """`GRPOTrainer` over episodes made by `trl_env.factory`."""

        concurrency: int = 2
        """Episodes graded at a time."""

        def _generate(self, prompts: list[Any]) -> tuple[Any, ...]:
            generated: tuple[Any, ...] = super()._generate(prompts)
            _, ids, mask, completions, *_ = generated
            slots = self.environments
            with ThreadPoolExecutor(self.concurrency) as pool:
                list(pool.map(lambda pair: pair[0]._finish_turn(pair[1]), zip(slots, completions, strict=True)))
            for i, slot in enumerate(slots):
                slot._heard(completions[i], ids[i], None if mask is None else mask[i])
            return generated

        def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Any:
            with ThreadPoolExecutor(self.concurrency) as pool:
                rewards = list(pool.map(lambda slot: slot.get_reward(), self.environments))
            mode = "train" if self.model.training else "eval"
            self._metrics[mode]["ungraded"].append(float(sum(reward is None for reward in rewards)))
            return super()._calculate_rewards(*args, **kwargs)

        def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
            output: dict[str, Any] = super()._generate_and_score_completions(inputs)
            graded = torch.tensor([slot.get_reward() is not None for slot in self.environments])
            return mask_ungraded(output, graded, lambda total: self.accelerator.gather(total).sum())

    return EpisodeTrainer


def mask_ungraded(output: Mapping[str, Any], graded: Any, total: Any) -> dict[str, Any]:
    """TRL's batch with the completions of ungraded episodes masked out.

    Args:
        output: of `_generate_and_score_completions`.
        graded: booleans, one per completion.
        total: sums a count over all processes.
    """
    masked = dict(output)
    mask = output["completion_mask"] * graded.to(output["completion_mask"].device).unsqueeze(1).int()
    masked["completion_mask"] = mask
    counted = mask * output["tool_mask"] if "tool_mask" in output else mask
    masked["num_items_in_batch"] = total(counted.sum()).clamp(min=1)
    return masked
