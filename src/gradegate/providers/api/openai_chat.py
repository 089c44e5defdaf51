"""The chat APIs of OpenAI: Chat Completions, for every vendor that serves it, and Responses.

API: https://platform.openai.com/docs/api-reference/chat/create and https://platform.openai.com/docs/api-reference/responses/create, as
in the types of the ``openai`` package 3.54.
"""

import json
import re
from collections.abc import Iterator, Sequence
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

# Options that go into the request as they are
SENT = tuple(
    "temperature top_p max_tokens max_completion_tokens frequency_penalty presence_penalty seed stop logit_bias n user "
    "logprobs top_logprobs response_format tools tool_choice parallel_tool_calls functions function_call store "
    "reasoning_effort verbosity service_tier metadata modalities prediction prompt_cache_key "
    "prompt_cache_options prompt_cache_retention moderation safety_identifier web_search_options".split()
)
# These models take no temperature, and `max_completion_tokens` in place of `max_tokens`.
_REASONING = re.compile(r"(^|/)(o\d|gpt-([5-9]|\d\d))")
# Parts of a message that are text; a part of the type `thinking` is not
_TEXT_TYPES = ("text", "output_text", None)


def is_reasoning_model(model: str) -> bool:
    """Whether an OpenAI model reasons before it answers, and so takes no temperature."""
    return bool(_REASONING.search(model))


# --- Chat Completions -------------------------------------------------------------------------------------------


class Completions(ChatApi):
    """Requests to a chat model and its answers. ``sent`` names the options that go into the request as they are."""

    def __init__(
        self,
        model: str,
        config: JsonObject,
        sent: Sequence[str] = SENT,
        *,
        reasoning: bool | None = None,
    ) -> None:
        self._model = model
        self._options = pick_options(config, sent)
        self._is_reasoning_model = is_reasoning_model(model) if reasoning is None else reasoning
        self.takes_bounds = not model.startswith("ft:")  # OpenAI takes none for fine-tuned models
        self.limit_places = (("max_completion_tokens",),)
        if not self._is_reasoning_model:
            self.limit_places = (("max_tokens",), *self.limit_places)
        super().__init__(config, takes_temperature=not self._is_reasoning_model)

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """As OpenAI and Mistral have them."""
        named = {"name": "verdict", "strict": True, "schema": schema}
        with_schema = {"response_format": {"type": "json_schema", "json_schema": named}}
        return (with_schema, "schema"), ({"response_format": {"type": "json_object"}}, "")

    def build_body(self, request: Request) -> JsonObject:
        """The whole body, with the model."""
        options = {**self._options, **request.options}
        options.pop("temperature", None)  # `ChatApi.complete` adds it if the model takes one
        options |= self.passthrough
        if self._is_reasoning_model and "max_tokens" in options:
            options["max_completion_tokens"] = options.pop("max_tokens")
        messages = [_message(message) for message in request.messages]
        return {"model": self._model, "messages": messages, **options}

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """The first choice. Raises NoOutput."""
        choices = objects_in(response.get("choices"))
        message = choices[0].get("message") if choices else None
        if not isinstance(message, dict):
            raise NoOutput("without a message")

        # A call that cannot be read is an error, lest the answer counts as one without calls.
        fields = [message[key] for key in ("tool_calls", "function_call") if message.get(key)]
        all_calls = flatten_calls(fields)
        calls = objects_in(all_calls)
        if len(calls) < len(all_calls):
            raise NoOutput("with a tool call that is not an object")

        finish = self._finish_of(choices[0], calls)
        refusal = _refusal_in(message)
        if refusal:
            return ModelOutput(refusal, finish, True, calls)
        text = _text_in(message)
        if any(calls) and not text:
            text = json_text(fields[0] if len(fields) == 1 else all_calls)
        if text is None and finish not in ("length", "content_filter"):
            raise NoOutput("without a message")
        return ModelOutput(text or "", finish, finish == "content_filter", calls)

    def _finish_of(self, choice: JsonObject, calls: Sequence[JsonObject]) -> str:
        """OpenRouter gives the vendor's own word too, which may deny a "stop", and errors of a choice."""
        finish = self.finish_reason(choice.get("finish_reason"), calls)
        if finish not in COMPLETE:
            return finish
        if choice.get("error"):
            return "error"
        native = normalize_finish(str(choice.get("native_finish_reason") or ""))
        return finish if native in COMPLETE else native


def _refusal_in(message: JsonObject) -> str:
    """What the model says to decline, in a field or in parts of its own; empty if it does not decline."""
    if message.get("refusal"):
        return str(message["refusal"])
    parts = [part for part in objects_in(message.get("content")) if part.get("type") == "refusal"]
    return "".join(str(part.get("refusal") or "no reason given") for part in parts)


def _text_in(message: JsonObject) -> str | None:
    """The text of a message; None without content, empty for a list of parts without text.

    Reasoning has fields and parts of its own (``reasoning_content``, ``{"type": "thinking"}``), which are left out.
    """
    content = message.get("content")
    if isinstance(content, list):
        parts = objects_in(content)
        return "".join(
            str(part.get("text", "")) for part in parts if part.get("type") in _TEXT_TYPES
        )
    return None if content is None else str(content)


def _message(message: Message) -> JsonObject:
    written = message.written or {}
    if "role" in written:
        return written
    content: Any = message.content
    if message.images:
        content = [{"type": "text", "text": content}]
        content += [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
    return {"role": message.role, "content": content, **written}


# --- Responses --------------------------------------------------------------------------------------------------


RESPONSES_SENT = tuple(
    "temperature top_p max_output_tokens max_tool_calls instructions reasoning text tools tool_choice truncation user "
    "parallel_tool_calls previous_response_id store metadata include service_tier prompt prompt_cache_key prompt_cache_options "
    "prompt_cache_retention moderation context_management access_programs "
    "safety_identifier top_logprobs conversation".split()
)
_MESSAGE_FORM = MessageForm(
    "OpenAI's Responses API",
    ("input_text", "input_image", "input_file", "output_text", "refusal"),
    images_first=False,
    detail_type="input_image",
)
# Calls that the API itself has answered; the model waits for the answer to any other.
_HOSTED = (
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
)


class Responses(ChatApi):
    """Requests in the form of the Responses API and its answers."""

    finish_words = ("completed",)
    limit_places = (("max_output_tokens",),)
    prompt_counts = ("input_tokens",)
    answer_count = "output_tokens"

    def __init__(self, model: str, config: JsonObject) -> None:
        self._model = model
        super().__init__(config, takes_temperature=not is_reasoning_model(model))

    def json_forms(self, schema: JsonObject) -> Sequence[Form]:
        """As in Chat Completions, except that name and schema stand beside ``type`` here."""
        named = {"type": "json_schema", "name": "verdict", "strict": True, "schema": schema}
        any_json = {"text": {"format": {"type": "json_object"}}}
        return ({"text": {"format": named}}, "schema"), (any_json, "")

    def build_body(self, request: Request) -> JsonObject:
        """The whole body, with the model.

        Options of Chat Completions go where this API has them: ``max_tokens``, ``reasoning_effort``, ``verbosity`` and
        ``response_format``. An option of this API wins over its counterpart, except ``text.format`` over ``response_format``.
        """
        config = self.config
        options = pick_options(config, RESPONSES_SENT)
        options.pop("temperature", None)  # `ChatApi.complete` adds it if the model takes one
        max_tokens = config.get("max_tokens")
        if max_tokens is not None:
            options.setdefault("max_output_tokens", max_tokens)
        effort = config.get("reasoning_effort")
        if effort is not None:
            options["reasoning"] = {"effort": effort, **options.get("reasoning", {})}

        text = {**pick_options(config, ("verbosity",)), **options.get("text", {})}
        response_format = config.get("response_format")
        if response_format:
            schema = as_object(response_format).get("json_schema")
            if isinstance(schema, dict):
                # Chat Completions has name and schema in an object under `json_schema`. Here they stand beside `type`.
                text["format"] = {"type": "json_schema", **schema}
            else:
                text["format"] = response_format
        if text:
            options["text"] = text
        model_input = _input(request.messages)
        return {"model": self._model, "input": model_input, **options, **self.passthrough}

    def parse_response(self, response: JsonObject) -> ModelOutput:
        """The text of all messages, else the tool calls as JSON text. Raises NoOutput."""
        parts: list[JsonObject] = []
        calls = []
        waiting_calls = []
        unfinished = ""  # why the first message that has not come to its end did not
        for item in objects_in(response.get("output")):
            kind = str(item.get("type"))
            if kind.endswith("_call"):
                calls.append(item)
                if kind not in _HOSTED:
                    waiting_calls.append(item)
            elif kind == "message":
                # What a model says on its way to an answer is commentary, and no part of the answer.
                if item.get("phase") != "commentary":
                    parts += objects_in(item.get("content"))
                status = normalize_finish(str(item.get("status") or ""))
                if status != "stop":
                    unfinished = unfinished or status

        # An incomplete response says why it ended. A completed one has come to its end only if its messages have.
        reason = as_object(response.get("incomplete_details")).get("reason")
        finish = self.finish_reason(reason or response.get("status"), waiting_calls)
        if unfinished and finish in COMPLETE:
            finish = unfinished

        refusals = _texts(parts, "refusal", "refusal")
        if refusals:
            return ModelOutput("".join(refusals), finish, True, calls)
        texts = _texts(parts, "output_text", "text")
        if not texts and not calls and finish not in ("length", "content_filter"):
            status = "" if finish in ("stop", "") else f" (status {finish})"
            raise NoOutput(f"without a message{status}")
        return ModelOutput(text_or_calls(texts, calls), finish, finish == "content_filter", calls)


def _texts(parts: Sequence[JsonObject], kind: str, key: str) -> list[str]:
    return [str(part.get(key, "")) for part in parts if part.get("type") == kind]


def _input(messages: Sequence[Message]) -> str | list[JsonObject]:
    """The text of a single message of the user, else the items of all messages."""
    if len(messages) == 1:
        message = messages[0]
        if message.role == "user" and not message.images and message.written is None:
            return message.content
    items: list[JsonObject] = []
    for role, parts in _MESSAGE_FORM.read_messages(messages):
        items += _items(role, parts)
    return items


def _items(role: str, parts: Parts) -> Iterator[JsonObject]:
    """A message, then the calls in it and the results, which are items of their own."""
    content = [part for part in parts if not isinstance(part, ToolCall | ToolResult)]
    if content and all(map(is_text, content)):
        yield {"role": role, "content": "\n".join(map(str, content))}
    elif content:
        text_type = "output_text" if role == "assistant" else "input_text"
        yield {"role": role, "content": [_content_part(part, text_type) for part in content]}

    for part in parts:
        if isinstance(part, ToolCall):
            yield {
                "type": "function_call",
                "call_id": part.id,
                "name": part.name,
                "arguments": json.dumps(part.arguments, ensure_ascii=False),
            }
        elif isinstance(part, ToolResult):
            yield {"type": "function_call_output", "call_id": part.id, "output": part.content}


def _content_part(part: Part, text_type: str) -> Any:
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": part, "detail": "auto"}
    return {"type": text_type, "text": part} if isinstance(part, str) else part
