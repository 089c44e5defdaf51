"""openai:responses: the Responses API.

API: https://platform.openai.com/docs/api-reference/responses/create, as in the types of the ``openai`` package 3.54.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.asking.completions import PRICES
from gradegate.asking.negotiation import Structure, Temperature
from gradegate.asking.openai_access import ACCESS, base, headers
from gradegate.asking.provider import PROVIDERS, Provider, Setting
from gradegate.asking.wire import host_of, need_model, picked, post, token_usage
from gradegate.conversation import Message, Reply, Request, Usage
from gradegate.errors import ProviderError, Trouble

SENT = tuple(
    "temperature top_p max_output_tokens max_tool_calls instructions reasoning text tools tool_choice truncation user "
    "parallel_tool_calls previous_response_id store metadata include service_tier prompt prompt_cache_key "
    "safety_identifier top_logprobs conversation".split()
)
_REASONING = re.compile(r"(^|/)(o\d|gpt-([5-9]|\d\d))")  # take no temperature
_INCOMPLETE = {"max_output_tokens": "length", "content_filter": "content_filter"}


class OpenAiResponses(Provider):
    """A model at ``{base}/responses``."""

    sees = True
    known = (*SENT, *ACCESS, *PRICES, "max_tokens", "reasoning_effort", "verbosity", "response_format")

    def __init__(self, setting: Setting) -> None:
        url = base(setting)
        self.name = setting.spec.name
        self.host = host_of(url)
        self._client, self._config = setting.client, setting.spec.config
        self._url, self._headers = f"{url}/responses", headers(setting, url)
        self._model = need_model(setting, "openai:responses:MODEL")
        self._structure = Structure(self._shaped)
        self._temperature = Temperature(self._config, taken=not _REASONING.search(self._model))

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        body = self._body(request)
        schema = None if "format" in body.get("text", ()) else request.schema

        def ask(shape: Mapping[str, Any]) -> Reply:
            return self._temperature.ask(request.options, lambda heat: self._send({**heat, **body, **shape}))

        return self._structure.ask(schema, ask)

    def _body(self, request: Request) -> dict[str, Any]:
        config = self._config
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

    def _shaped(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        shape = {"format": {"type": "json_schema", "name": "verdict", "strict": True, "schema": schema}}
        return {"text": {**picked(self._config, ("verbosity",)), **(self._config.get("text") or {}), **shape}}

    def _send(self, body: Mapping[str, Any]) -> Reply:
        try:
            found, seconds = post(self._client, self._url, self._headers, body)
        except ProviderError as e:
            if e.trouble is Trouble.REFUSED:  # a filter in front of the model declined: that is its answer
                return Reply(str(e), Usage(1, unpriced=1), "content_filter", refused=True)
            raise
        why = str((found.get("incomplete_details") or {}).get("reason") or "")
        finish = _INCOMPLETE.get(why, why) or "stop"
        text, refused = self._text(found.get("output"), finish)
        tokens = found.get("usage") or {}
        cost = (tokens.get("input_tokens"), tokens.get("output_tokens"), seconds)
        return Reply(text, token_usage(self._config, self._model, *cost), finish, refused or finish == "content_filter")

    def _text(self, output: Any, finish: str) -> tuple[str, bool]:
        """The text of all messages and whether it is a refusal; without a message, the tool calls as JSON text."""
        items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
        parts = [part for item in items if item.get("type") == "message" for part in item.get("content") or ()]
        refusals = [str(part["refusal"]) for part in parts if part.get("type") == "refusal"]
        if refusals:
            return "".join(refusals), True
        texts = [str(part.get("text", "")) for part in parts if part.get("type") == "output_text"]
        calls = [item for item in items if str(item.get("type")).endswith("_call")]
        if calls and not any(texts):
            return json.dumps(calls, ensure_ascii=False), False
        if not texts and finish == "stop":
            raise ProviderError(f"{self.host} answered without a message", Trouble.MALFORMED)
        return "".join(texts), False


def _input(messages: Sequence[Message]) -> str | list[dict[str, Any]]:
    only = messages[0] if len(messages) == 1 else None
    if only and only.role == "user" and not only.images and only.written is None:
        return only.content
    return [_item(message) for message in messages]


def _item(message: Message) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role, "content": message.content}
    images = [{"type": "input_image", "image_url": image, "detail": "auto"} for image in message.images]
    return {"role": message.role, "content": [{"type": "input_text", "text": message.content}, *images]}


def _format(written: Any) -> Any:
    """``response_format`` of Chat Completions in the form of this API: the schema stands one level higher."""
    if isinstance(written, Mapping) and isinstance(written.get("json_schema"), Mapping):
        return {"type": "json_schema", **written["json_schema"]}
    return written


PROVIDERS.register("openai:responses")(OpenAiResponses)
