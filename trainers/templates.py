"""How a conversation becomes text for the small models, and how their answers are read back.

The template is plain ChatML with nothing added: no default system message, no tool list (the prompt
itself says what to answer, see `envs.agents.protocol`). What an assistant wrote lies between
`{% generation %}` markers, its end mark included, so that a loss on assistant turns is possible. Results of
tools come back as the user's turn, the only one besides the assistant's that such models have seen.
"""

from __future__ import annotations

from typing import Any

ACT = "act"
"""The one tool of models without tools: it takes the text of a call."""

CHAT_TEMPLATE = """\
{%- for m in messages -%}
{%- if m.role == 'assistant' -%}
{{- '<|im_start|>assistant\n' -}}
{%- generation -%}
{{- m.content or '' -}}
{%- for call in m.tool_calls or [] -%}
{%- set f = call.function -%}
{%- if f.name == 'act' and f.arguments.text is defined -%}
{{- f.arguments.text -}}
{%- else -%}
{{- '@' ~ f.name -}}
{%- for key, value in f.arguments.items() %}{{ ' ' ~ key ~ '=' ~ value }}{% endfor -%}
{%- endif -%}
{%- endfor -%}
{{- '<|im_end|>' -}}
{%- endgeneration -%}
{{- '\n' -}}
{%- else -%}
{{- '<|im_start|>' ~ ('system' if m.role == 'system' else 'user') ~ '\n' ~ m.content ~ '<|im_end|>\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}"""

RESPONSE_TEMPLATE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        # The lookahead keeps the call's own first characters in it: the codec reads the whole text.
        "tool_calls": {
            "open_pattern": r"(?=@[a-z])",
            "close_pattern": r"<\|im_end\|>\s*|$",
            "content": "text",
            "content_args": {"strip": False},
            "repeats": True,
            "transform": {"type": "function", "function": {"name": ACT, "arguments": {"text": "{content}"}}},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*|$", "content": "text"},
    },
}


def dress(tokenizer: Any) -> Any:
    """Give a tokenizer the small models' chat template and the way to read their answers; returns it."""
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.response_template = RESPONSE_TEMPLATE
    return tokenizer
