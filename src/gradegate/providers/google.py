"""google: Gemini models of Google AI Studio, and its embeddings.

API: https://ai.google.dev/api/generate-content and https://ai.google.dev/api/embeddings (``batchEmbedContents``, one
request for up to 100 texts); the key goes in the header ``x-goog-api-key``.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from gradegate.access.hosts import Vendor
from gradegate.asking.chatmodel import ChatModel
from gradegate.asking.gemini import OPTIONS, Gemini
from gradegate.asking.provider import PROVIDERS, Provider, Setting
from gradegate.asking.shape import members, picked
from gradegate.asking.wire import (
    ACCESS,
    PRICES,
    base_url,
    need_key,
    need_model,
    own_headers,
    post,
    rates,
    token_usage,
    vector,
)
from gradegate.conversation import Usage
from gradegate.errors import ProviderError, Trouble

_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_BASES = ("GOOGLE_API_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
_HOST = "generativelanguage.googleapis.com"
_VENDOR = Vendor(_KEYS, (_HOST,), (*_BASES, "GOOGLE_API_HOST"))
_EMBEDDING = ("taskType", "outputDimensionality", "title")


class Google(ChatModel):
    """A model at ``{base}/models/{model}:generateContent``."""

    options = (*OPTIONS, *ACCESS, *PRICES, "apiVersion")
    vendor = _VENDOR

    def __init__(self, setting: Setting) -> None:
        model = need_model(setting, "google:MODEL").removeprefix("models/")
        url = f"{_root(setting)}/models/{quote(model, safe='')}:generateContent"
        super().__init__(setting, Gemini(setting.spec.config), url, _headers(setting), model)


class GoogleEmbeddings(Provider):
    """An embedding model at ``{base}/models/{model}:batchEmbedContents``."""

    kinds = ("embedding",)
    options = (*_EMBEDDING, *ACCESS, *PRICES, "apiVersion")
    vendor = _VENDOR
    most = 100  # texts that one request may hold

    def __init__(self, setting: Setting) -> None:
        self.name = setting.spec.name
        self._model = need_model(setting, "google:embedding:MODEL").removeprefix("models/")
        self.url = f"{_root(setting)}/models/{quote(self._model, safe='')}:batchEmbedContents"
        self._client, self._config, self._headers = setting.client, setting.spec.config, _headers(setting)

    @property
    def rates(self) -> tuple[float, float] | None:
        """From the config or the table."""
        return rates(self._config, self._model)

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Usage]:
        """One vector for each text, in order. Raises ProviderError."""
        rows: list[list[float]] = []
        usage = Usage()
        for start in range(0, len(texts), self.most):
            batch, cost = self._batch(texts[start : start + self.most])
            rows += batch
            usage = usage + cost
        return rows, usage

    def _batch(self, texts: Sequence[str]) -> tuple[list[list[float]], Usage]:
        more = {**picked(self._config, _EMBEDDING), **(self._config.get("passthrough") or {})}
        asked = [{"model": f"models/{self._model}", "content": {"parts": [{"text": text}]}, **more} for text in texts]
        response, seconds = post(self._client, self.url, self._headers, {"requests": asked})
        rows = response.get("embeddings")
        if not isinstance(rows, list) or len(rows) != len(texts):
            raise ProviderError(f"{self.host} gave no vector for each of {len(texts)} texts", Trouble.MALFORMED)
        tokens = members(response.get("usageMetadata")).get("promptTokenCount")
        found = [vector(members(row).get("values"), self.host) for row in rows]
        return found, token_usage(self._config, self._model, tokens, None, seconds)


def _headers(setting: Setting) -> dict[str, str]:
    return {"x-goog-api-key": need_key(setting, *_KEYS), **own_headers(setting.spec.config)}


def _root(setting: Setting) -> str:
    """The address with the version of the API. Raises ConfigError."""
    base = base_url(setting, _base(setting))
    version = str(setting.spec.config.get("apiVersion") or "v1beta")
    return base if base.endswith(("/v1", "/v1beta", "/v1alpha")) else f"{base}/{version}"


def _base(setting: Setting) -> str:
    config, env = setting.spec.config, setting.env
    if config.get("apiBaseUrl") or config.get("apiHost"):
        return str(config.get("apiBaseUrl") or f"https://{config['apiHost']}")
    return env.address(*_BASES) or f"https://{env.get('GOOGLE_API_HOST') or _HOST}"


PROVIDERS.register("google")(Google)
PROVIDERS.register("google:embedding", "google:embeddings")(GoogleEmbeddings)
