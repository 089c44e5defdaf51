"""ollama: models of an Ollama server, which cost nothing.

API: https://github.com/ollama/ollama/blob/main/docs/api.md (``/api/chat``, ``/api/embed``), as in the types of the
``ollama`` package 0.6: ``format`` takes a JSON Schema, ``thinking`` stands beside ``content``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.asking.negotiation import Structure
from gradegate.asking.provider import PROVIDERS, Provider, Setting, secret
from gradegate.asking.wire import base64_image, base_url, host_of, need_model, own_headers, picked, post, vector
from gradegate.conversation import Message, Reply, Request, Usage
from gradegate.errors import ConfigError, ProviderError, Trouble

# Members of `options`, and what stands beside it.
OPTIONS = tuple(
    "num_predict num_keep seed top_k top_p min_p tfs_z typical_p repeat_last_n temperature repeat_penalty "
    "presence_penalty frequency_penalty mirostat mirostat_tau mirostat_eta penalize_newline stop num_ctx num_batch "
    "num_gpu main_gpu low_vram f16_kv logits_all vocab_only use_mmap use_mlock embedding_only num_thread numa".split()
)
BESIDE = ("format", "keep_alive", "think", "tools")
ACCESS = ("model", "apiKey", "apiKeyEnvar", "apiBaseUrl", "headers", "passthrough", "options")


class Ollama(Provider):
    """A chat model at ``{base}/api/chat``."""

    sees = True
    options = (*OPTIONS, *BESIDE, *ACCESS, "max_tokens")

    def __init__(self, setting: Setting) -> None:
        self.name = setting.spec.name
        self._model = need_model(setting, "ollama:chat:MODEL")
        if self._model.partition(":")[0] in ("embedding", "embeddings"):
            raise ConfigError.at(f"`{setting.spec.id}` names no model", setting.spec.origin, "write it after the colon")
        self._url, self._headers = f"{_base(setting)}/api/chat", _headers(setting)
        self.host = host_of(self._url)
        self._client, self._config = setting.client, setting.spec.config
        self._structure = Structure(lambda schema: {"format": schema})

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        own = picked(self._config, OPTIONS)
        if self._config.get("max_tokens") is not None:
            own.setdefault("num_predict", self._config["max_tokens"])
        body = {
            "model": self._model,
            "messages": [_message(message, self.host) for message in request.messages],
            "stream": False,
            "options": {"temperature": 0, **(self._config.get("options") or {}), **own, **request.options},
            **picked(self._config, BESIDE),
            **(self._config.get("passthrough") or {}),
        }
        schema = None if "format" in body else request.schema
        return self._structure.ask(schema, lambda shape: self._send({**body, **shape}))

    def _send(self, body: Mapping[str, Any]) -> Reply:
        found, seconds = post(self._client, self._url, self._headers, body)
        message = found.get("message")
        if not isinstance(message, dict):
            raise ProviderError(f"{self.host} answered without a message", Trouble.MALFORMED)
        text, calls = str(message.get("content") or ""), message.get("tool_calls")
        if calls and not text:
            text = json.dumps(calls, ensure_ascii=False)
        counts = (_count(found.get("prompt_eval_count")), _count(found.get("eval_count")))
        return Reply(text, Usage(1, *counts, seconds=seconds), str(found.get("done_reason") or ""))


class OllamaEmbeddings(Provider):
    """An embedding model at ``{base}/api/embed``; one request for all texts."""

    kinds = ("embedding",)
    options = (*OPTIONS, *ACCESS, "keep_alive", "truncate", "dimensions")

    def __init__(self, setting: Setting) -> None:
        self.name = setting.spec.name
        self._model = need_model(setting, "ollama:embeddings:MODEL")
        self._url, self._headers = f"{_base(setting)}/api/embed", _headers(setting)
        self.host = host_of(self._url)
        self._client, self._config = setting.client, setting.spec.config

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Usage]:
        """One vector for each text, in order. Raises ProviderError."""
        options = {**(self._config.get("options") or {}), **picked(self._config, OPTIONS)}
        body = {
            "model": self._model,
            "input": list(texts),
            **({"options": options} if options else {}),
            **picked(self._config, ("keep_alive", "truncate", "dimensions")),
            **(self._config.get("passthrough") or {}),
        }
        found, seconds = post(self._client, self._url, self._headers, body)
        rows = found.get("embeddings")
        if not isinstance(rows, list) or len(rows) != len(texts):
            raise ProviderError(f"{self.host} gave no vector for each of {len(texts)} texts", Trouble.MALFORMED)
        usage = Usage(1, _count(found.get("prompt_eval_count")), seconds=seconds)
        return [vector(row, self.host) for row in rows], usage


def _base(setting: Setting) -> str:
    written = setting.spec.config.get("apiBaseUrl") or setting.env.get("OLLAMA_BASE_URL")
    return base_url(setting, written or "http://localhost:11434")


def _headers(setting: Setting) -> dict[str, str]:
    key = secret(setting, "OLLAMA_API_KEY")  # a server of one's own asks for none
    return {**({"Authorization": f"Bearer {key}"} if key else {}), **own_headers(setting.spec.config)}


def _message(message: Message, host: str) -> dict[str, Any]:
    images = [base64_image(image) for image in message.images]
    if None in images:
        raise ProviderError(f"{host} takes images as data, not as a URL", Trouble.SETUP)
    role = "system" if message.role == "developer" else message.role
    return {
        "role": role,
        "content": message.content,
        **({"images": [found[1] for found in images if found]} if images else {}),
    }


def _count(tokens: Any) -> int:
    return tokens if isinstance(tokens, int) and tokens > 0 else 0


PROVIDERS.register("ollama", "ollama:chat", "ollama:completion")(Ollama)
PROVIDERS.register("ollama:embeddings", "ollama:embedding")(OllamaEmbeddings)
