"""Chat Completions and embeddings of OpenAI's form, for every vendor that serves them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gradegate.asking.negotiation import Structure, Temperature, json_schema
from gradegate.asking.provider import Provider, Setting
from gradegate.asking.wire import host_of, picked, post, token_usage, vectors
from gradegate.conversation import Message, Reply, Request, Usage
from gradegate.errors import ProviderError, Trouble

# Options that go into the request as they are.
SENT = tuple(
    "temperature top_p max_tokens max_completion_tokens frequency_penalty presence_penalty seed stop logit_bias n user "
    "logprobs top_logprobs response_format tools tool_choice parallel_tool_calls functions function_call store "
    "reasoning_effort verbosity service_tier metadata modalities prediction prompt_cache_key safety_identifier "
    "web_search_options".split()
)
# Where the API is, and who asks.
ACCESS = ("model", "apiKey", "apiKeyEnvar", "apiHost", "apiBaseUrl", "headers", "passthrough")
PRICES = ("cost", "inputCost", "outputCost")
# These models take no temperature, and `max_completion_tokens` in place of `max_tokens`.
_REASONING = re.compile(r"(^|/)(o\d|gpt-([5-9]|\d\d))")
_TEXTS = ("text", "output_text", None)  # parts of a message that are text; a part of the type `thinking` is not


class ChatCompletions(Provider):
    """A chat model that is asked at ``url`` with ``headers``."""

    sees = True
    sent: ClassVar[Sequence[str]] = SENT
    known: tuple[str, ...] = (*SENT, *ACCESS, *PRICES)

    def __init__(
        self, setting: Setting, url: str, headers: Mapping[str, str], model: str, reasons: bool = False
    ) -> None:
        self.name = setting.spec.name
        self.host = host_of(url)
        self._client, self._config = setting.client, setting.spec.config
        self._url, self._headers, self._model = url, headers, model
        self._reasons = reasons or bool(_REASONING.search(model))
        self._structure = Structure(json_schema)
        self._temperature = Temperature(self._config, taken=not self._reasons)

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        body = self._body(request)
        schema = None if "response_format" in body else request.schema

        def ask(shape: Mapping[str, Any]) -> Reply:
            return self._temperature.ask(request.options, lambda heat: self._send({**heat, **body, **shape}))

        return self._structure.ask(schema, ask)

    def _body(self, request: Request) -> dict[str, Any]:
        options = {**picked(self._config, self.sent), **request.options}
        options.pop("temperature", None)  # sent where the model takes any
        options |= self._config.get("passthrough") or {}
        if self._reasons and "max_tokens" in options:
            options["max_completion_tokens"] = options.pop("max_tokens")
        return {"model": self._model, "messages": [_message(m) for m in request.messages], **options}

    def _send(self, body: Mapping[str, Any]) -> Reply:
        try:
            found, seconds = post(self._client, self._url, self._headers, body)
        except ProviderError as e:
            if e.trouble is Trouble.REFUSED:  # a filter in front of the model declined: that is its answer
                return Reply(str(e), Usage(1, unpriced=1), "content_filter", refused=True)
            raise
        try:
            choice = found["choices"][0]
            finish = _FINISHED.get(str(choice.get("finish_reason")), str(choice.get("finish_reason") or ""))
            text, refused = _text(choice["message"], finish)
        except (KeyError, IndexError, TypeError, AttributeError) as e:
            raise ProviderError(f"{self.host} answered without a message", Trouble.MALFORMED) from e
        return Reply(text, self._usage(found, seconds), finish, refused or finish == "content_filter")

    def _usage(self, found: Mapping[str, Any], seconds: float) -> Usage:
        tokens = found.get("usage") or {}
        model = self._priced_as(found)
        return token_usage(self._config, model, tokens.get("prompt_tokens"), tokens.get("completion_tokens"), seconds)

    def _priced_as(self, found: Mapping[str, Any]) -> str:
        return self._model


_FINISHED = {"model_length": "length", "max_tokens": "length"}


class Embeddings(Provider):
    """An embedding model that is asked at ``url`` with ``headers``; one request for all texts."""

    kinds = ("embedding",)
    sent: ClassVar[Sequence[str]] = ("dimensions", "user")
    known: tuple[str, ...] = ("dimensions", "user", *ACCESS, *PRICES)
    most: ClassVar[int] = 2048  # texts that one request may hold

    def __init__(self, setting: Setting, url: str, headers: Mapping[str, str], model: str) -> None:
        self.name = setting.spec.name
        self.host = host_of(url)
        self._client, self._config = setting.client, setting.spec.config
        self._url, self._headers, self._model = url, headers, model

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Usage]:
        """One vector for each text, in order. Raises ProviderError."""
        found: list[list[float]] = []
        usage = Usage()
        for start in range(0, len(texts), self.most):
            some, cost = self._some(texts[start : start + self.most])
            found += some
            usage = usage + cost
        return found, usage

    def _some(self, texts: Sequence[str]) -> tuple[list[list[float]], Usage]:
        options = {**picked(self._config, self.sent), **(self._config.get("passthrough") or {})}
        body = {"model": self._model, "input": list(texts), **options}
        found, seconds = post(self._client, self._url, self._headers, body)
        tokens = (found.get("usage") or {}).get("prompt_tokens")
        model = self._priced_as(found)
        return vectors(found, self.host, len(texts)), token_usage(self._config, model, tokens, None, seconds)

    def _priced_as(self, found: Mapping[str, Any]) -> str:
        return self._model


def _message(message: Message) -> Mapping[str, Any]:
    if message.written is not None:
        return message.written
    if not message.images:
        return {"role": message.role, "content": message.content}
    images = [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
    return {"role": message.role, "content": [{"type": "text", "text": message.content}, *images]}


def _text(message: Mapping[str, Any], finish: str) -> tuple[str, bool]:
    """The text of a message and whether it is a refusal; tool calls are given as JSON text.

    Reasoning stands in fields and parts of its own (``reasoning_content``, ``{"type": "thinking"}``): none of it is
    the answer.
    """
    if message.get("refusal"):
        return str(message["refusal"]), True
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        content = "".join(str(part.get("text", "")) for part in parts if part.get("type") in _TEXTS)
    called = message.get("tool_calls") or message.get("function_call")
    if called and not content:
        return json.dumps(called, ensure_ascii=False), False
    if content is None and finish not in ("length", "content_filter"):
        raise KeyError("content")
    return str(content or ""), False
