"""A transformers model as a policy: padded batches, reproducible sampling, exact tokens and log-probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scienceide.base.errors import ModelError, UserError
from scienceide.base.progress import Progress
from scienceide.envs.agents import Answer, Request
from scienceide.trainers.models import LoadedModel, load_model


@dataclass(frozen=True)
class Sampling:
    """How answers are drawn."""

    max_tokens: int = 64
    temperature: float = 0.0
    """0 takes the likeliest token every time."""


class TransformersPolicy:
    """Answers conversations with a model in this process. For one thread at a time; see `collect.Batcher`."""

    def __init__(self, loaded: LoadedModel, sampling: Sampling, *, version: int = 0) -> None:
        self.loaded = loaded
        self.sampling = sampling
        self.name = loaded.spec.name
        self.version = version
        self._native = loaded.spec.speech == "tools"
        if self._native and getattr(loaded.tokenizer, "response_template", None) is None:
            self._learn_to_read()

    def generate(self, requests: Sequence[Request]) -> list[Answer]:
        """Answer all requests in one padded batch.

        Raises:
            ModelError: a conversation does not fit the model's context.
        """
        import torch

        tokenizer, model = self.loaded.tokenizer, self.loaded.model
        prompts = [self._tokenise(request) for request in requests]
        longest = max(len(ids) for ids in prompts)
        if longest + self.sampling.max_tokens > self.loaded.spec.context:
            raise ModelError(
                f"A conversation of {longest} tokens and {self.sampling.max_tokens} more do not fit "
                f"the {self.loaded.spec.context} tokens of {self.name}."
            )
        ids = [[tokenizer.pad_token_id] * (longest - len(p)) + p for p in prompts]
        mask = [[0] * (longest - len(p)) + [1] * len(p) for p in prompts]
        with torch.no_grad():
            out = model.generate(
                input_ids=torch.tensor(ids, device=model.device),
                attention_mask=torch.tensor(mask, device=model.device),
                max_new_tokens=self.sampling.max_tokens,
                do_sample=False,
                logits_processor=self._noise([request.seed for request in requests]),
                output_logits=True,
                return_dict_in_generate=True,
            )
        logprobs = self._logprobs(out.logits, out.sequences[:, longest:])
        rows = zip(prompts, out.sequences[:, longest:].tolist(), logprobs, requests, strict=True)
        return [self._answer(*row) for row in rows]

    def _tokenise(self, request: Request) -> list[int]:
        messages = [{k: v for k, v in m.items() if k != "failed"} for m in request.messages]
        ids: list[int] = self.loaded.tokenizer.apply_chat_template(
            messages, tools=list(request.tools) or None, add_generation_prompt=True, return_dict=False
        )
        return ids

    def _noise(self, seeds: Sequence[int]) -> Any:
        from transformers import LogitsProcessorList

        temperature = self.sampling.temperature
        return LogitsProcessorList([_gumbel(seeds, temperature)] if temperature > 0 else [])

    def _logprobs(self, logits: Sequence[Any], tokens: Any) -> list[list[float]]:
        """Log-probabilities of the drawn tokens under the distribution that they were drawn from."""
        import torch

        scale = self.sampling.temperature or 1.0
        columns = [
            torch.log_softmax(step.float() / scale, dim=-1).gather(1, tokens[:, i : i + 1])[:, 0]
            for i, step in enumerate(logits)
        ]
        return torch.stack(columns, dim=1).tolist()  # type: ignore[no-any-return]

    def _answer(self, prompt: list[int], tokens: list[int], logprobs: list[float], request: Request) -> Answer:
        tokenizer = self.loaded.tokenizer
        ended = tokenizer.eos_token_id in tokens
        length = tokens.index(tokenizer.eos_token_id) + 1 if ended else len(tokens)
        ids = tokens[:length]
        text = tokenizer.decode(ids, skip_special_tokens=True)
        calls: tuple[Mapping[str, Any], ...] = ()
        if self._native:
            text, calls = self._read(ids, prompt, request)
        return Answer(text, tuple(ids), tuple(logprobs[:length]), len(prompt), calls, not ended)

    def _read(self, ids: list[int], prompt: list[int], request: Request) -> tuple[str, tuple[Mapping[str, Any], ...]]:
        """Text and tool calls of an answer in the model's own form."""
        from trl.chat_template_utils import parse_response

        message = parse_response(self.loaded.tokenizer, ids, prefix=prompt, tools=list(request.tools))
        calls = [call["function"] for call in message.get("tool_calls") or ()]
        actions = tuple({**dict(call["arguments"]), "tool": call["name"]} for call in calls)
        return message.get("content") or "", actions

    def _learn_to_read(self) -> None:
        from trl.chat_template_utils import add_response_schema

        try:
            add_response_schema(self.loaded.tokenizer)
        except ValueError:
            raise UserError(
                f"The tool calls of {self.name} cannot be read: its chat template is none that TRL knows, "
                "and its tokenizer has no response_template."
            ) from None


def load_policy(
    model: str,
    *,
    max_tokens: int = 64,
    temperature: float = 0.0,
    progress: Progress | None = None,
    device: str | None = None,
) -> TransformersPolicy:
    """A model of the registry, or of a folder, as a policy; raises as `load_model`."""
    return TransformersPolicy(load_model(model, progress, device=device), Sampling(max_tokens, temperature))


def _gumbel(seeds: Sequence[int], temperature: float) -> Any:
    """A logits processor that adds Gumbel noise, each row from a generator of its own.

    The largest of the noisy logits is then an exact sample at `temperature`, and what a request draws
    depends on its seed alone, not on its neighbours in the batch.
    """
    import torch
    from transformers import LogitsProcessor

    generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    class Gumbel(LogitsProcessor):  # type: ignore[misc]
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            uniform = torch.stack([torch.rand(scores.shape[1], generator=g) for g in generators])
            noise = -torch.log(-torch.log(uniform.clamp(1e-20, 1 - 1e-7)))
            return scores.float() / temperature + noise.to(scores.device)

    return Gumbel()
