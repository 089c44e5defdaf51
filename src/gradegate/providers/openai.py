"""openai:chat: Chat Completions of OpenAI and of every endpoint that speaks the same.

API: https://platform.openai.com/docs/api-reference/chat/create
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.model import Message, Reply, Request
from gradegate.provider import PROVIDERS, Provider, Setting, secret
from gradegate.wire import post, token_usage

# Options that go into the request as they are.
SENT = (
    "temperature top_p max_tokens max_completion_tokens frequency_penalty presence_penalty seed stop logit_bias user "
    "response_format tools tool_choice parallel_tool_calls functions function_call reasoning_effort verbosity store "
    "service_tier metadata modalities"
).split()
_REASONING = re.compile(r"(^|/)(o\d|gpt-5)")  # take no temperature, and max_completion_tokens


class OpenAiChat(Provider):
    """A chat model at ``{base}/chat/completions``."""

    sees = True

    def __init__(self, setting: Setting) -> None:
        config = setting.spec.config
        self.name = setting.spec.name
        self._client = setting.client
        self._model = setting.model or str(config.get("model", ""))
        if not self._model:
            raise ConfigError.at(f"`{setting.spec.id}` names no model", setting.spec.origin, "write openai:chat:MODEL")
        self._base = base_url(config, setting.env)
        self.host = re.sub(r"^\w+://", "", self._base).partition("/")[0]
        self._headers = headers(setting, self._base)
        self._config = config
        self._schemas = True  # until the endpoint refuses one

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        body = self._body(request)
        if request.schema is not None and self._schemas and "response_format" not in body:
            wanted = {"name": "verdict", "strict": True, "schema": request.schema}
            try:
                return self._send({**body, "response_format": {"type": "json_schema", "json_schema": wanted}})
            except ProviderError as e:
                if e.status not in (400, 422):
                    raise
                reply = self._send(body)
                self._schemas = False  # the question was fine, so it was the schema that was refused
                return reply
        return self._send(body)

    def _body(self, request: Request) -> dict[str, Any]:
        options = {name: self._config[name] for name in SENT if self._config.get(name) is not None}
        options |= self._config.get("passthrough") or {}
        options |= request.options
        if _REASONING.search(self._model):
            options.pop("temperature", None)
            if "max_tokens" in options:
                options["max_completion_tokens"] = options.pop("max_tokens")
        else:
            options.setdefault("temperature", 0)
        return {"model": self._model, "messages": [_message(m) for m in request.messages], **options}

    def _send(self, body: Mapping[str, Any]) -> Reply:
        found, seconds = post(self._client, f"{self._base}/chat/completions", self._headers, body)
        try:
            choice = found["choices"][0]
            message = choice["message"]
            text, refused = _text(message)
        except (KeyError, IndexError, TypeError) as e:
            raise ProviderError(f"{self.host} answered without a message", Trouble.MALFORMED) from e
        tokens = found.get("usage") or {}
        usage = token_usage(
            self._config, self._model, tokens.get("prompt_tokens"), tokens.get("completion_tokens"), seconds
        )
        finish = str(choice.get("finish_reason") or "")
        return Reply(text, usage, finish, refused or finish == "content_filter")


def base_url(config: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """Where the API is: ``apiHost`` or ``apiBaseUrl``, else the environment, else OpenAI."""
    if config.get("apiHost"):
        return f"https://{config['apiHost']}/v1"
    if config.get("apiBaseUrl"):
        return str(config["apiBaseUrl"]).rstrip("/")
    if env.get("OPENAI_API_HOST"):
        return f"https://{env['OPENAI_API_HOST']}/v1"
    named = env.get("OPENAI_API_BASE_URL") or env.get("OPENAI_BASE_URL")
    return (named or "https://api.openai.com/v1").rstrip("/")


def headers(setting: Setting, base: str) -> dict[str, str]:
    """Authorization and the config's own headers. Raises ConfigError when OpenAI itself would get no key."""
    key = secret(setting, "OPENAI_API_KEY")
    if not key and "://api.openai.com/" in base:
        cure = "set OPENAI_API_KEY, or `apiKey` or `apiKeyEnvar` in its config"
        raise ConfigError.at(f"no key for `{setting.spec.id}`", setting.spec.origin, cure)
    config = setting.spec.config
    organization = config.get("organization") or setting.env.get("OPENAI_ORGANIZATION")
    return {
        **({"Authorization": f"Bearer {key}"} if key else {}),
        **({"OpenAI-Organization": str(organization)} if organization else {}),
        **{str(name): str(value) for name, value in (config.get("headers") or {}).items()},
    }


def _message(message: Message) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role, "content": message.content}
    images = [{"type": "image_url", "image_url": {"url": image}} for image in message.images]
    return {"role": message.role, "content": [{"type": "text", "text": message.content}, *images]}


def _text(message: Mapping[str, Any]) -> tuple[str, bool]:
    """The text of a message and whether it is a refusal; tool calls are given as JSON text."""
    if message.get("refusal"):
        return str(message["refusal"]), True
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    called = message.get("tool_calls") or message.get("function_call")
    if called and not content:
        return json.dumps(called, ensure_ascii=False), False
    if content is None:
        raise KeyError("content")
    return str(content), False


PROVIDERS.register("openai:chat", "openai")(OpenAiChat)
