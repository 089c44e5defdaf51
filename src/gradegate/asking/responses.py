"""The shape of OpenAI's Responses API.

API: https://platform.openai.com/docs/api-reference/responses/create, as in the types of the ``openai`` package 3.54.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradegate.asking.completions import reasons
from gradegate.asking.content import Part, Parts, Taken, ToolCall, ToolResult
from gradegate.asking.shape import WHOLE, Form, JsonObject, ModelOutput, NoOutput, Shape, as_text, ended, members, objects, picked
from gradegate.values.conversation import Image, Message, Request

SENT = tuple(
    "temperature top_p max_output_tokens max_tool_calls instructions reasoning text tools tool_choice truncation user "
    "parallel_tool_calls previous_response_id store metadata include service_tier prompt prompt_cache_key prompt_cache_options "
    "prompt_cache_retention moderation context_management access_programs "
    "safety_identifier top_logprobs conversation".split()
)
_OWN = ("input_text", "input_image", "input_file", "output_text", "refusal")
_TAKEN = Taken("OpenAI's Responses API", _OWN, images_first=False, detailed="input_image")
# Calls that the API itself has answered; the model waits for the answer to any other.
_HOSTED = ("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call")


class Responses(Shape):
    """Questions in the form of the Responses API, and its answers."""

    finished = ("completed",)

    def __init__(self, model: str, config: JsonObject) -> None:
        self._model = model
        super().__init__(config, heats=not reasons(model))

    def forms(self, schema: JsonObject) -> Sequence[Form]:
        """As in Chat Completions, one level higher."""
        whole = {"type": "json_schema", "name": "verdict", "strict": True, "schema": schema}
        return ({"text": {"format": whole}}, "schema"), ({"text": {"format": {"type": "json_object"}}}, "")

    def body(self, request: Request) -> dict[str, Any]:
        """The whole body, with the model."""
        config = self.config
        options = picked(config, SENT)
        options.pop("temperature", None)  # sent where the model takes any
        if config.get("max_tokens") is not None:
            options.setdefault("max_output_tokens", config["max_tokens"])
        if config.get("reasoning_effort") is not None:
            options["reasoning"] = {"effort": config["reasoning_effort"], **options.get("reasoning", {})}
        text = {**picked(config, ("verbosity",)), **options.get("text", {})}
        if config.get("response_format"):
            text["format"] = _format(config["response_format"])
        return {
            "model": self._model,
            "input": _input(request.messages),
            **options,
            **({"text": text} if text else {}),
            **(config.get("passthrough") or {}),
        }

    def read(self, response: JsonObject) -> ModelOutput:
        """The text of all messages, else the tool calls as JSON text. Raises NoOutput."""
        items = objects(response.get("output"))
        # What a model says on its way to an answer is marked as commentary, and is no part of it.
        told = [item for item in items if item.get("type") == "message" and item.get("phase") != "commentary"]
        parts = [part for item in told for part in objects(item.get("content"))]
        calls = [item for item in items if str(item.get("type")).endswith("_call")]
        waiting = [item for item in calls if item.get("type") not in _HOSTED]
        finish = self._finish(response, items, waiting)
        refusals = _texts(parts, "refusal", "refusal")
        if refusals:
            return ModelOutput("".join(refusals), finish, True, calls)
        texts = _texts(parts, "output_text", "text")
        if not texts and not calls and finish not in ("length", "content_filter"):
            raise NoOutput("without a message" + ("" if finish in ("stop", "") else f" (status {finish})"))
        text = as_text(calls) if calls and not any(texts) else "".join(texts)
        return ModelOutput(text, finish, finish == "content_filter", calls)

    def tokens(self, response: JsonObject) -> tuple[Any, Any]:
        """As the vendor counts them."""
        usage = members(response.get("usage"))
        return usage.get("input_tokens"), usage.get("output_tokens")

    def _finish(self, response: JsonObject, items: Sequence[JsonObject], waiting: Sequence[JsonObject]) -> str:
        """Why an incomplete response ended, else its status: only one of completed messages has come to its end."""
        why = members(response.get("incomplete_details")).get("reason")
        statuses = [ended(str(item.get("status") or "")) for item in items if item.get("type") == "message"]
        unfinished = next((status for status in statuses if status not in ("stop", "")), "")
        finish = self.ended(why or response.get("status"), waiting)
        return unfinished if unfinished and finish in WHOLE else finish


def _texts(parts: Sequence[JsonObject], kind: str, key: str) -> list[str]:
    return [str(part.get(key, "")) for part in parts if part.get("type") == kind]


def _input(messages: Sequence[Message]) -> str | list[JsonObject]:
    only = messages[0] if len(messages) == 1 else None
    if only and only.role == "user" and not only.images and only.written is None:
        return only.content
    return [item for role, parts in _TAKEN.read(messages) for item in _items(role, parts)]


def _items(role: str, parts: Parts) -> Iterator[JsonObject]:
    """A message, then the calls in it and the results, which are items of their own."""
    said = [part for part in parts if not isinstance(part, ToolCall | ToolResult)]
    text = "output_text" if role == "assistant" else "input_text"
    if said and all(isinstance(part, str) and not isinstance(part, Image) for part in said):
        yield {"role": role, "content": "\n".join(map(str, said))}
    elif said:
        yield {"role": role, "content": [_content(part, text) for part in said]}
    for part in parts:
        if isinstance(part, ToolCall):
            arguments = json.dumps(part.arguments, ensure_ascii=False)
            yield {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": arguments}
        elif isinstance(part, ToolResult):
            yield {"type": "function_call_output", "call_id": part.id, "output": part.content}


def _content(part: Part, text: str) -> Any:
    if isinstance(part, Image):
        return {"type": "input_image", "image_url": part, "detail": "auto"}
    return {"type": text, "text": part} if isinstance(part, str) else part


def _format(written: Any) -> Any:
    """``response_format`` of Chat Completions in the form of this API: the schema is one level higher."""
    if isinstance(written, Mapping) and isinstance(written.get("json_schema"), Mapping):
        return {"type": "json_schema", **written["json_schema"]}
    return written
