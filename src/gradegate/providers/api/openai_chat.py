"""The shapes of OpenAI: Chat Completions, for every vendor that serves it, and Responses.

API: https://platform.openai.com/docs/api-reference/chat/create and https://platform.openai.com/docs/api-reference/responses/create, as
in the types of the ``openai`` package 3.54.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradegate.core.conversation import Image, Message, Request
from gradegate.providers.api.chat_api import (
    COMPLETE,
    ChatApi,
    Form,
    ModelOutput,
    NoOutput,
    as_object,
    json_text,
    normalize_finish,
    objects_in,
    pick_options,
    text_or_calls,
)
from gradegate.providers.api.content import (
    MessageForm,
    Part,
    Parts,
    ToolCall,
    ToolResult,
    flatten_calls,
    is_text,
)
from gradegate.structs import JsonObject

# Options that go into the request as they are.
SENT = tuple(
    "temperature top_p max_tokens max_completion_tokens frequency_penalty presence_penalty seed stop logit_bias n user "
    "logprobs top_logprobs response_format tools tool_choice parallel_tool_calls functions function_call store "
    "reasoning_effort verbosity service_tier metadata modalities prediction prompt_cache_key "
    "prompt_cache_options prompt_cache_retention moderation safety_identifier web_search_options".split()
)
# These models take no temperature, and `max_completion_tokens` in place of `max_tokens`.
_REASONING = re.compile(r"(^|/)(o\d|gpt-([5-9]|\d\d))")
# Parts of a message that are text; a part of the type `thinking` is not
_TEXTS = ("text", "output_text", None)


def is_reasoning_model(model: str) -> bool:
    """Whether an OpenAI model reasons before it answers, and so takes no temperature."""
    return bool(_REASONING.search(model))


class Completions(ChatApi):
    """Questions to a chat model, and its answers. ``sent`` names the options that go into the request as they are."""

    def __init__(
        self,
        model: str,
        config: JsonObject,
        sent: Sequence[str] = SENT,
        *,
        reasoning: bool | None = None,
    ) -> None:
        self._model = model
        self._is_reasoning_model = is_reasoning_model(model) if reasoning is None else reasoning
        self._options = pick_options(config, sent)
        self.takes_bounds = not model.startswith("ft:")  # OpenAI takes none for fine-tuned models
        of_reasoning = (("max_completion_tokens",),)
        self.limit_places = (
            of_reasoning if self._is_reasoning_model else (("max_tokens",), *of_reasoning)
        )
        super().__init__(config, takes_temperature=not self._is_reasoning_model)

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """As OpenAI and Mistral have them."""
        named = {"name": "verdict", "strict": True, "schema": schema}
        whole = {"response_format": {"type": "json_schema", "json_schema": named}}
        return (whole, "schema"), ({"response_format": {"type": "json_object"}}, "")

    def build_body(self, request: Request) -> JsonObject:
        """The whole body, with the model."""
        options = {**self._options, **request.options}
        options.pop("temperature", None)  # sent where the model takes any
        options |= self.passthrough
        if self._is_reasoning_model and "max_tokens" in options:
            options["max_completion_tokens"] = options.pop("max_tokens")
        return {
            "model": self._model,
            "messages": [_message(message) for message in request.messages],
            **options,
        }

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """The first choice. Raises NoOutput."""
        choices = objects_in(response.get("choices"))
        message = choices[0].get("message") if choices else None
        if not isinstance(message, dict):
            raise NoOutput("without a message")
        # The tool calls of a message, and its one call. Raises NoOutput for one that cannot be read, lest it counts as none.
        fields = [message[key] for key in ("tool_calls", "function_call") if message.get(key)]
        written = flatten_calls(fields)
        calls = objects_in(written)
        if len(calls) < len(written):
            raise NoOutput("with a tool call that is not an object")
        finish = self._finish(choices[0], calls)
        # What the model says in order to decline, in a field or in a part of its own; empty where it does not.
        parts = [
            part.get("refusal")
            for part in objects_in(message.get("content"))
            if part.get("type") == "refusal"
        ]
        refusal = str(message.get("refusal") or "") or "".join(
            str(part or "no reason given") for part in parts
        )
        if refusal:
            return ModelOutput(refusal, finish, True, calls)
        # The text of a message; None where it has none.
        # Reasoning has fields and parts of its own (``reasoning_content``, ``{"type": "thinking"}``), which are left out.
        content = message.get("content")
        text = None if content is None else str(content)
        if isinstance(content, list):
            text = "".join(
                str(part.get("text", ""))
                for part in objects_in(content)
                if part.get("type") in _TEXTS
            )
        if any(calls) and not text:
            text = json_text(fields[0] if len(fields) == 1 else written)
        if text is None and finish not in ("length", "content_filter"):
            raise NoOutput("without a message")
        return ModelOutput(text or "", finish, finish == "content_filter", calls)

    def _finish(self, choice: JsonObject, calls: Sequence[JsonObject]) -> str:
        """OpenRouter gives the vendor's own word too, which may say of a "stop" that it was none, and errors of a choice."""
        finish = self.finish_reason(choice.get("finish_reason"), calls)
        if finish not in COMPLETE:
            return finish
        native = normalize_finish(str(choice.get("native_finish_reason") or ""))
        return "error" if choice.get("error") else finish if native in COMPLETE else native


def _message(message: Message) -> JsonObject:
    more = message.written or {}
    if "role" in more:
        return more
    images = [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
    content = [{"type": "text", "text": message.content}, *images] if images else message.content
    return {"role": message.role, "content": content, **more}


RESPONSES_SENT = tuple(
    "temperature top_p max_output_tokens max_tool_calls instructions reasoning text tools tool_choice truncation user "
    "parallel_tool_calls previous_response_id store metadata include service_tier prompt prompt_cache_key prompt_cache_options "
    "prompt_cache_retention moderation context_management access_programs "
    "safety_identifier top_logprobs conversation".split()
)
_OWN = ("input_text", "input_image", "input_file", "output_text", "refusal")
_TAKEN = MessageForm("OpenAI's Responses API", _OWN, images_first=False, detail_type="input_image")
# Calls that the API itself has answered; the model waits for the answer to any other.
_HOSTED = (
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
)


class Responses(ChatApi):
    """Questions in the form of the Responses API, and its answers."""

    finish_words = ("completed",)
    limit_places = (("max_output_tokens",),)
    prompt_counts = ("input_tokens",)
    answer_count = "output_tokens"

    def __init__(self, model: str, config: JsonObject) -> None:
        self._model = model
        super().__init__(config, takes_temperature=not is_reasoning_model(model))

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """As in Chat Completions, one level higher."""
        whole = {"type": "json_schema", "name": "verdict", "strict": True, "schema": schema}
        return ({"text": {"format": whole}}, "schema"), (
            {"text": {"format": {"type": "json_object"}}},
            "",
        )

    def build_body(self, request: Request) -> JsonObject:
        """The whole body, with the model."""
        config = self.config
        options = pick_options(config, RESPONSES_SENT)
        options.pop("temperature", None)  # sent where the model takes any
        if config.get("max_tokens") is not None:
            options.setdefault("max_output_tokens", config["max_tokens"])
        if config.get("reasoning_effort") is not None:
            options["reasoning"] = {
                "effort": config["reasoning_effort"],
                **options.get("reasoning", {}),
            }
        text = {**pick_options(config, ("verbosity",)), **options.get("text", {})}
        # Of Chat Completions: the schema is one level higher here
        if written := config.get("response_format"):
            inner = as_object(written).get("json_schema")
            text["format"] = (
                {"type": "json_schema", **inner} if isinstance(inner, Mapping) else written
            )
        only = request.messages[0] if len(request.messages) == 1 else None
        plain = (
            only.content
            if only and only.role == "user" and not only.images and only.written is None
            else None
        )
        return {
            "model": self._model,
            "input": [
                item
                for role, parts in _TAKEN.read_messages(request.messages)
                for item in _items(role, parts)
            ]
            if plain is None
            else plain,
            **options,
            **({"text": text} if text else {}),
            **self.passthrough,
        }

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """The text of all messages, else the tool calls as JSON text. Raises NoOutput."""
        items = objects_in(response.get("output"))
        # What a model says on its way to an answer is marked as commentary, and is no part of it.
        messages = [
            item
            for item in items
            if item.get("type") == "message" and item.get("phase") != "commentary"
        ]
        parts = [part for item in messages for part in objects_in(item.get("content"))]
        calls = [item for item in items if str(item.get("type")).endswith("_call")]
        waiting = [item for item in calls if item.get("type") not in _HOSTED]
        # Why an incomplete response ended, else its status: only one of completed messages has come to its end.
        reason = as_object(response.get("incomplete_details")).get("reason")
        statuses = [
            normalize_finish(str(item.get("status") or ""))
            for item in items
            if item.get("type") == "message"
        ]
        unfinished = next((status for status in statuses if status not in ("stop", "")), "")
        finish = self.finish_reason(reason or response.get("status"), waiting)
        finish = unfinished if unfinished and finish in COMPLETE else finish
        refusals = _texts(parts, "refusal", "refusal")
        if refusals:
            return ModelOutput("".join(refusals), finish, True, calls)
        texts = _texts(parts, "output_text", "text")
        if not texts and not calls and finish not in ("length", "content_filter"):
            raise NoOutput(
                "without a message" + ("" if finish in ("stop", "") else f" (status {finish})")
            )
        text = text_or_calls(texts, calls)
        return ModelOutput(text, finish, finish == "content_filter", calls)


def _texts(parts: Sequence[JsonObject], kind: str, key: str) -> list[str]:
    return [str(part.get(key, "")) for part in parts if part.get("type") == kind]


def _items(role: str, parts: Parts) -> Iterator[JsonObject]:
    """A message, then the calls in it and the results, which are items of their own."""
    said = [part for part in parts if not isinstance(part, ToolCall | ToolResult)]
    text = "output_text" if role == "assistant" else "input_text"
    if said and all(map(is_text, said)):
        yield {"role": role, "content": "\n".join(map(str, said))}
    elif said:
        yield {"role": role, "content": [_content(part, text) for part in said]}
    for part in parts:
        if isinstance(part, ToolCall):
            arguments = json.dumps(part.arguments, ensure_ascii=False)
            yield {
                "type": "function_call",
                "call_id": part.id,
                "name": part.name,
                "arguments": arguments,
            }
        elif isinstance(part, ToolResult):
            yield {"type": "function_call_output", "call_id": part.id, "output": part.content}


def _content(part: Part, text: str) -> Any:
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": part, "detail": "auto"}
    return {"type": text, "text": part} if isinstance(part, str) else part
