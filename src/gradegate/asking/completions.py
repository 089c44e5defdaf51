"""The Chat Completions shape of OpenAI, for every vendor that serves it.

API: https://platform.openai.com/docs/api-reference/chat/create, as in the types of the ``openai`` package 3.54.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gradegate.asking.shape import WHOLE, Form, JsonObject, ModelOutput, NoOutput, Shape, as_text, ended, members, objects, picked
from gradegate.values.conversation import Message, Request

# Options that go into the request as they are.
SENT = tuple(
    "temperature top_p max_tokens max_completion_tokens frequency_penalty presence_penalty seed stop logit_bias n user "
    "logprobs top_logprobs response_format tools tool_choice parallel_tool_calls functions function_call store "
    "reasoning_effort verbosity service_tier metadata modalities prediction prompt_cache_key "
    "prompt_cache_options prompt_cache_retention moderation safety_identifier web_search_options".split()
)
# These models take no temperature, and `max_completion_tokens` in place of `max_tokens`.
_REASONING = re.compile(r"(^|/)(o\d|gpt-([5-9]|\d\d))")
_TEXTS = ("text", "output_text", None)  # parts of a message that are text; a part of the type `thinking` is not


def reasons(model: str) -> bool:
    """Whether an OpenAI model reasons before it answers, and so takes no temperature."""
    return bool(_REASONING.search(model))


class Completions(Shape):
    """Questions to a chat model, and its answers. ``sent`` names the options that go into the request as they are."""

    def __init__(self, model: str, config: JsonObject, sent: Sequence[str] = SENT, *, reasoning: bool | None = None) -> None:
        self._model = model
        self._reasons = reasons(model) if reasoning is None else reasoning
        self._options = picked(config, sent)
        super().__init__(config, heats=not self._reasons)

    def forms(self, schema: JsonObject) -> Sequence[Form]:
        """As OpenAI and Mistral have them."""
        named = {"name": "verdict", "strict": True, "schema": schema}
        whole = {"response_format": {"type": "json_schema", "json_schema": named}}
        return (whole, "schema"), ({"response_format": {"type": "json_object"}}, "")

    def body(self, request: Request) -> dict[str, Any]:
        """The whole body, with the model."""
        options = {**self._options, **request.options}
        options.pop("temperature", None)  # sent where the model takes any
        options |= self.config.get("passthrough") or {}
        if self._reasons and "max_tokens" in options:
            options["max_completion_tokens"] = options.pop("max_tokens")
        return {"model": self._model, "messages": [_message(message) for message in request.messages], **options}

    def read(self, response: JsonObject) -> ModelOutput:
        """The first choice. Raises NoOutput."""
        choices = objects(response.get("choices"))
        message = choices[0].get("message") if choices else None
        if not isinstance(message, dict):
            raise NoOutput("without a message")
        # The tool calls of a message, and its one call. Raises NoOutput for one that cannot be read, lest it counts as none.
        fields = [message[key] for key in ("tool_calls", "function_call") if message.get(key)]
        written = [call for field in fields for call in (field if isinstance(field, list) else [field])]
        calls = objects(written)
        if len(calls) < len(written):
            raise NoOutput("with a tool call that is not an object")
        finish = self._finish(choices[0], calls)
        # What the model says in order to decline, in a field or in a part of its own; empty where it does not.
        parts = [part.get("refusal") for part in objects(message.get("content")) if part.get("type") == "refusal"]
        refusal = str(message.get("refusal") or "") or "".join(str(part or "no reason given") for part in parts)
        if refusal:
            return ModelOutput(refusal, finish, True, calls)
        # The text of a message; None where it has none.
        # Reasoning has fields and parts of its own (``reasoning_content``, ``{"type": "thinking"}``), which are left out.
        content = message.get("content")
        text = None if content is None else str(content)
        if isinstance(content, list):
            text = "".join(str(part.get("text", "")) for part in objects(content) if part.get("type") in _TEXTS)
        if any(calls) and not text:
            text = as_text(fields[0] if len(fields) == 1 else written)
        if text is None and finish not in ("length", "content_filter"):
            raise NoOutput("without a message")
        return ModelOutput(text or "", finish, finish == "content_filter", calls)

    def tokens(self, response: JsonObject) -> tuple[Any, Any]:
        """As the vendor counts them."""
        usage = members(response.get("usage"))
        return usage.get("prompt_tokens"), usage.get("completion_tokens")

    def _finish(self, choice: JsonObject, calls: Sequence[JsonObject]) -> str:
        """OpenRouter gives the vendor's own word too, which may say of a "stop" that it was none, and errors of a choice."""
        finish = self.ended(choice.get("finish_reason"), calls)
        if finish not in WHOLE:
            return finish
        native = ended(str(choice.get("native_finish_reason") or ""))
        return "error" if choice.get("error") else finish if native in WHOLE else native


def _message(message: Message) -> JsonObject:
    more = message.written or {}
    if "role" in more:
        return more
    images = [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
    content = [{"type": "text", "text": message.content}, *images] if images else message.content
    return {"role": message.role, "content": content, **more}
