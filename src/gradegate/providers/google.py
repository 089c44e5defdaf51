"""google: Gemini models of Google AI Studio.

API: https://ai.google.dev/api/generate-content, as in the types of the ``google-genai`` package 3.4: the key goes in
the header ``x-goog-api-key``; ``responseJsonSchema`` takes JSON Schema; parts with ``thought`` are reasoning.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from gradegate.asking.completions import PRICES
from gradegate.asking.negotiation import Structure
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
from gradegate.conversation import Message, Reply, Request
from gradegate.errors import ConfigError, ProviderError, Trouble

# Options of `generationConfig`, under promptfoo's names and the API's, and those that stand beside it.
GENERATION = tuple(
    "temperature topP topK maxOutputTokens stopSequences seed presencePenalty frequencyPenalty candidateCount "
    "thinkingConfig responseMimeType responseSchema responseJsonSchema responseModalities mediaResolution".split()
)
_ALIASES = {"top_p": "topP", "top_k": "topK", "max_tokens": "maxOutputTokens"}
BESIDE = ("safetySettings", "tools", "toolConfig", "systemInstruction", "cachedContent", "labels")
_FINISHED = {"STOP": "stop", "MAX_TOKENS": "length"}
_DECLINED = frozenset(
    "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII LANGUAGE IMAGE_SAFETY MODEL_ARMOR ESCALATION".split()
)
_OTHERS = frozenset({"live", "image", "video", "interactions", "embedding", "embeddings"})  # of promptfoo


class Google(Provider):
    """A model at ``{base}/models/{model}:generateContent``."""

    sees = True
    others = ("embedding", "embeddings", "image", "live", "video", "*-image", "*-image-*")
    known = (*GENERATION, *_ALIASES, *BESIDE, *PRICES, "generationConfig", "service_tier", "apiVersion")
    known = (*known, "model", "apiKey", "apiKeyEnvar", "apiHost", "apiBaseUrl", "headers", "passthrough")

    def __init__(self, setting: Setting) -> None:
        self.name = setting.spec.name
        self._model = need_model(setting, "google:MODEL").removeprefix("models/")
        if self._model.partition(":")[0] in _OTHERS:
            raise ConfigError.at(f"`{setting.spec.id}` is not supported", setting.spec.origin, "use google:MODEL")
        base = base_url(setting, _base(setting))
        version = str(setting.spec.config.get("apiVersion") or "v1beta")
        root = base if base.endswith(("/v1", "/v1beta", "/v1alpha")) else f"{base}/{version}"
        self._url = f"{root}/models/{quote(self._model, safe='')}:generateContent"
        self.host = host_of(base)
        self._client, self._config = setting.client, setting.spec.config
        key = need_key(setting, "GOOGLE_API_KEY", "GEMINI_API_KEY")
        self._headers = {"x-goog-api-key": key, **own_headers(self._config)}
        self._structure = Structure(_json_schema, _mime_type)

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        generation = self._generation(request.options)
        body = self._body(request)
        shaped = any(name in generation for name in ("responseSchema", "responseJsonSchema", "responseMimeType"))

        def ask(shape: Mapping[str, Any]) -> Reply:
            return self._send({**body, "generationConfig": {**generation, **shape}})

        return self._structure.ask(None if shaped else request.schema, ask)

    def _generation(self, options: Mapping[str, Any]) -> dict[str, Any]:
        config = self._config
        named = {_ALIASES.get(name, name): value for name, value in (*config.items(), *options.items())}
        own = {_camel(name): value for name, value in (config.get("generationConfig") or {}).items()}
        found = {"temperature": 0, **own, **picked(named, GENERATION)}
        if isinstance(found.get("responseSchema"), str):
            found["responseSchema"] = json.loads(found["responseSchema"])
        if "responseSchema" in found or "responseJsonSchema" in found:
            found.setdefault("responseMimeType", "application/json")
        return found

    def _body(self, request: Request) -> dict[str, Any]:
        system = [message.content for message in request.messages if message.role in ("system", "developer")]
        rest = [message for message in request.messages if message.role not in ("system", "developer")]
        if not rest:  # the API answers nothing but a user
            system, rest = [], [Message("user", "\n\n".join(system))]
        beside = picked(self._config, BESIDE)
        if isinstance(beside.get("systemInstruction"), str):
            beside["systemInstruction"] = {"parts": [{"text": beside["systemInstruction"]}]}
        return {
            "contents": [{"role": _role(m), "parts": [*_parts(m)]} for m in rest],
            **beside,
            **({"systemInstruction": {"parts": [{"text": "\n\n".join(system)}]}} if system else {}),
            **(self._config.get("passthrough") or {}),
        }

    def _send(self, body: Mapping[str, Any]) -> Reply:
        found, seconds = post(self._client, self._url, self._headers, body)
        tokens = found.get("usageMetadata") or {}
        wrote = [tokens[name] for name in ("candidatesTokenCount", "thoughtsTokenCount") if name in tokens]
        usage = token_usage(
            self._config, self._model, tokens.get("promptTokenCount"), sum(wrote) if wrote else None, seconds
        )
        blocked = (found.get("promptFeedback") or {}).get("blockReason")
        if blocked:
            message = found["promptFeedback"].get("blockReasonMessage")
            return Reply(str(message or f"the prompt was blocked: {blocked}"), usage, "content_filter", refused=True)
        try:
            candidate = found["candidates"][0]
            reason = str(candidate.get("finishReason") or "")
            parts = (candidate.get("content") or {}).get("parts") or []
            text = _text(parts)
        except (KeyError, IndexError, TypeError, AttributeError) as e:
            raise ProviderError(f"{self.host} answered without a candidate", Trouble.MALFORMED) from e
        if reason in _DECLINED:
            words = text or str(candidate.get("finishMessage") or f"the answer was blocked: {reason}")
            return Reply(words, usage, "content_filter", refused=True)
        if not parts and reason != "MAX_TOKENS":
            what = f"{self.host} answered without a text (finishReason {reason or 'absent'})"
            raise ProviderError(what, Trouble.MALFORMED)
        return Reply(text, usage, _FINISHED.get(reason, reason.lower()))


def _base(setting: Setting) -> str:
    config, env = setting.spec.config, setting.env
    if config.get("apiBaseUrl") or config.get("apiHost"):
        return str(config.get("apiBaseUrl") or f"https://{config['apiHost']}")
    if env.get("GOOGLE_API_BASE_URL") or env.get("GOOGLE_GEMINI_BASE_URL"):
        return env.get("GOOGLE_API_BASE_URL") or env["GOOGLE_GEMINI_BASE_URL"]
    return (
        f"https://{env['GOOGLE_API_HOST']}"
        if env.get("GOOGLE_API_HOST")
        else "https://generativelanguage.googleapis.com"
    )


def _json_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"responseMimeType": "application/json", "responseJsonSchema": schema}


def _mime_type(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"responseMimeType": "application/json"}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _role(message: Message) -> str:
    return "model" if message.role == "assistant" else "user"


def _parts(message: Message) -> Sequence[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": message.content}]
    for image in message.images:
        found = base64_image(image)
        if found:
            parts.append({"inlineData": {"mimeType": found[0], "data": found[1]}})
        else:
            parts.append({"fileData": {"fileUri": image.strip()}})
    return parts


def _text(parts: Sequence[Mapping[str, Any]]) -> str:
    """The text that is no thought, or the function calls as JSON text."""
    texts = [str(part["text"]) for part in parts if "text" in part and not part.get("thought")]
    calls = [part["functionCall"] for part in parts if part.get("functionCall")]
    return json.dumps(calls, ensure_ascii=False) if calls and not any(texts) else "".join(texts)


PROVIDERS.register("google")(Google)
