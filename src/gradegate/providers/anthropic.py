"""anthropic: the Messages API of Anthropic.

API: https://platform.claude.com/docs/en/api/messages, as in the types of the ``anthropic`` package 2.12, and
https://platform.claude.com/docs/en/api/versioning: version 2026-10-21 has no sampling parameters, 2023-06-01 has them
for the models up to Claude 4.6. Structured output: ``output_config.format``, else a forced tool
(https://platform.claude.com/docs/en/build-with-claude/structured-outputs).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradegate.asking.completions import PRICES
from gradegate.asking.negotiation import Structure, Temperature
from gradegate.asking.provider import PROVIDERS, Provider, Setting
from gradegate.asking.wire import (
    base64_image,
    base_url,
    host_of,
    need_key,
    need_model,
    own_headers,
    picked,
    post,
    token_usage,
)
from gradegate.conversation import Message, Reply, Request, Usage
from gradegate.errors import ConfigError, ProviderError, Trouble

VERSION, SAMPLING_VERSION = "2026-10-21", "2023-06-01"
SAMPLING = ("temperature", "top_p", "top_k")
SENT = (
    *SAMPLING,
    *"max_tokens stop_sequences metadata service_tier thinking tools tool_choice output_config speed".split(),
    *"cache_control container inference_geo".split(),
)
MAX_TOKENS = 8192  # the API wants a limit; thinking counts towards it
TOOL = "give_verdict"
_SAMPLED = re.compile(r"claude-(2|3|instant|(opus|sonnet|haiku)-4(-[0-6])?($|-\d{8}|-latest|@))")
_FINISHED = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
_OTHERS = frozenset({"completion", "claude-agent-sdk", "claude-code", "managed-agents"})  # of promptfoo


class Anthropic(Provider):
    """A model at ``{base}/v1/messages``."""

    sees = True
    others = ("claude-agent-sdk*", "claude-code*", "completion")
    known = (*SENT, *PRICES, "model", "apiKey", "apiKeyEnvar", "apiBaseUrl", "headers", "passthrough", "extra_body")
    known = (*known, "beta", "effort", "output_format")

    def __init__(self, setting: Setting) -> None:
        config = setting.spec.config
        self.name = setting.spec.name
        self._model = need_model(setting, "anthropic:messages:MODEL")
        if self._model.partition(":")[0] in _OTHERS:
            what = f"`{setting.spec.id}` is not supported"
            raise ConfigError.at(what, setting.spec.origin, "use anthropic:messages:MODEL")
        written = config.get("apiBaseUrl") or setting.env.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        self._url = base_url(setting, written).removesuffix("/v1") + "/v1/messages"
        self.host = host_of(self._url)
        beta = config.get("beta") or ()
        self._headers = {
            "x-api-key": need_key(setting, "ANTHROPIC_API_KEY"),
            **({"anthropic-beta": ",".join([beta] if isinstance(beta, str) else map(str, beta))} if beta else {}),
        }
        self._client, self._config = setting.client, config
        self._structure = Structure(self._formatted, _tool)
        thinks = (config.get("thinking") or {}).get("type") in ("enabled", "adaptive")
        self._temperature = Temperature(config, taken=bool(_SAMPLED.search(self._model)) and not thinks)

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        body = self._body(request)
        shaped = "tools" in body or "format" in body.get("output_config", ())

        def ask(shape: Mapping[str, Any]) -> Reply:
            return self._temperature.ask(request.options, lambda heat: self._send({**body, **heat, **shape}))

        return self._structure.ask(None if shaped else request.schema, ask)

    def _body(self, request: Request) -> dict[str, Any]:
        system, rest = _split(request.messages)
        output = {**picked(self._config, ("effort",)), **(self._config.get("output_config") or {})}
        if self._config.get("output_format"):  # its name before it became `output_config.format`
            output["format"] = self._config["output_format"]
        return {
            "model": self._model,
            "max_tokens": MAX_TOKENS,
            "messages": [_message(message) for message in rest],
            **({"system": system} if system else {}),
            **picked(self._config, SENT),
            **{name: value for name, value in request.options.items() if name in SENT and name not in SAMPLING},
            **({"output_config": output} if output else {}),
            **(self._config.get("extra_body") or {}),
            **(self._config.get("passthrough") or {}),
        }

    def _formatted(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        effort = {**picked(self._config, ("effort",)), **(self._config.get("output_config") or {})}
        return {"output_config": {**effort, "format": {"type": "json_schema", "schema": schema}}}

    def _send(self, body: Mapping[str, Any]) -> Reply:
        version = SAMPLING_VERSION if any(name in body for name in SAMPLING) else VERSION
        headers = {**self._headers, "anthropic-version": version, **own_headers(self._config)}
        found, seconds = post(self._client, self._url, headers, body)
        blocks = found.get("content")
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            raise ProviderError(f"{self.host} answered without content", Trouble.MALFORMED)
        reason = str(found.get("stop_reason") or "")
        finish = _FINISHED.get(reason, reason)
        text = _text(blocks)
        if not text and finish == "stop" and not any(block.get("type") == "text" for block in blocks):
            raise ProviderError(f"{self.host} answered without a text", Trouble.MALFORMED)
        if reason == "refusal":
            text = text or str((found.get("stop_details") or {}).get("explanation") or "")
        return Reply(text, self._usage(found.get("usage") or {}, seconds), finish, reason == "refusal")

    def _usage(self, tokens: Mapping[str, Any], seconds: float) -> Usage:
        """``input_tokens`` leaves out what the cache was written with and read from."""
        given = [tokens.get(f"{kind}input_tokens") for kind in ("", "cache_creation_", "cache_read_")]
        counts = [count for count in given if isinstance(count, int)]
        prompt = sum(counts) if counts else None
        return token_usage(self._config, self._model, prompt, tokens.get("output_tokens"), seconds)


def _tool(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A tool that the model is made to call: its input has the shape."""
    tool = {"name": TOOL, "description": "Give the verdict.", "input_schema": schema}
    return {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}


def _split(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """The system's messages as one text, and the rest; there must be a message of the user's."""
    system = [message.content for message in messages if message.role in ("system", "developer")]
    rest = [message for message in messages if message.role not in ("system", "developer")]
    if not rest:  # the API answers nothing but a user
        return "", [Message("user", "\n\n".join(system))]
    return "\n\n".join(system), rest


def _message(message: Message) -> dict[str, Any]:
    role = "assistant" if message.role == "assistant" else "user"
    if not message.images:
        return {"role": role, "content": message.content}
    images = [{"type": "image", "source": _source(image)} for image in message.images]
    texts = [{"type": "text", "text": message.content}] if message.content else []
    return {"role": role, "content": [*images, *texts]}


def _source(image: str) -> Mapping[str, str]:
    found = base64_image(image)
    return (
        {"type": "base64", "media_type": found[0], "data": found[1]} if found else {"type": "url", "url": image.strip()}
    )


def _text(blocks: Sequence[Mapping[str, Any]]) -> str:
    """The text blocks, or the tool calls as JSON text; blocks of thinking are no answer."""
    return "".join(_parts(blocks)) or _calls(blocks)


def _parts(blocks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for block in blocks:
        if block.get("type") == "text":
            yield str(block.get("text", ""))


def _calls(blocks: Sequence[Mapping[str, Any]]) -> str:
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    if len(calls) == 1 and calls[0].get("name") == TOOL:
        return json.dumps(calls[0].get("input"), ensure_ascii=False)
    return json.dumps(calls, ensure_ascii=False) if calls else ""


PROVIDERS.register("anthropic:messages", "anthropic")(Anthropic)
