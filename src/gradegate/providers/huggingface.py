"""huggingface: text classification and feature extraction of Hugging Face inference, or of an endpoint of one's own.

API: https://huggingface.co/docs/inference-providers/tasks/text-classification and .../feature-extraction, as in the
client of the ``huggingface_hub`` package 2.4: ``{"inputs": ...}`` to ``/hf-inference/models/MODEL`` of
router.huggingface.co, for feature extraction with ``/pipeline/feature-extraction`` behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.access.hosts import Vendor
from gradegate.asking.provider import PROVIDERS, Provider, Setting, secret
from gradegate.asking.shape import picked
from gradegate.asking.wire import base_url, labels, need_key, need_model, own_headers, post_any, rows, vector
from gradegate.errors import ProviderError, Trouble
from gradegate.http.headers import Headers, bearer
from gradegate.values.conversation import Usage

ROUTER = "https://router.huggingface.co/hf-inference/models"
_KEYS = ("HF_TOKEN", "HF_API_TOKEN")
_VENDOR = Vendor(_KEYS, ("router.huggingface.co",))
ACCESS = ("model", "apiKey", "apiKeyEnvar", "apiEndpoint", "headers", "passthrough")


class HuggingFaceClassification(Provider):
    """A text classification model: labels with scores."""

    kinds = ("classification",)
    options = (*ACCESS, "function_to_apply", "top_k")
    vendor = _VENDOR

    def __init__(self, setting: Setting) -> None:
        self.name = setting.spec.name
        model = need_model(setting, "huggingface:text-classification:MODEL")
        self.url, self._headers = _access(setting, f"{ROUTER}/{model}")
        self._client, self._config = setting.client, setting.spec.config

    def classify(self, text: str) -> tuple[Mapping[str, float], Usage]:
        """Raises ProviderError."""
        parameters = picked(self._config, ("function_to_apply", "top_k"))
        body = {"inputs": text, **({"parameters": parameters} if parameters else {}), **_passed(self._config)}
        answer, seconds = post_any(self._client, self.url, self._headers, body)
        if isinstance(answer, list) and answer and isinstance(answer[0], list):
            answer = answer[0]
        return labels(answer if isinstance(answer, list) else None, self.host), _usage(seconds)


class HuggingFaceEmbeddings(Provider):
    """A feature extraction model; one request for all texts."""

    kinds = ("embedding",)
    options = (*ACCESS, "normalize", "prompt_name", "truncate", "truncation_direction")
    vendor = _VENDOR

    def __init__(self, setting: Setting) -> None:
        self.name = setting.spec.name
        model = need_model(setting, "huggingface:feature-extraction:MODEL")
        self.url, self._headers = _access(setting, f"{ROUTER}/{model}/pipeline/feature-extraction")
        self._client, self._config = setting.client, setting.spec.config

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Usage]:
        """One vector for each text, in order. Raises ProviderError."""
        options = picked(self._config, ("normalize", "prompt_name", "truncate", "truncation_direction"))
        body = {"inputs": list(texts), **options, **_passed(self._config)}
        answer, seconds = post_any(self._client, self.url, self._headers, body)
        return [self._pooled(row) for row in rows(answer, self.host, len(texts))], _usage(seconds)

    def _pooled(self, row: Any) -> list[float]:
        """A vector for the text; a model that gives one for each token leaves the choice to the user."""
        if isinstance(row, list) and row and isinstance(row[0], list):
            if len(row) > 1:
                what = f"{self.host} gave a vector for each token; use a model for sentence embeddings"
                raise ProviderError(what, Trouble.SETUP)
            row = row[0]
        return vector(row, self.host)


def _access(setting: Setting, url: str) -> tuple[str, Headers]:
    """An endpoint of one's own may do without a key."""
    endpoint = setting.spec.config.get("apiEndpoint")
    key = secret(setting, *_KEYS) if endpoint else need_key(setting, *_KEYS)
    return base_url(setting, endpoint or url), Headers(own_headers(setting.spec.config), bearer(key))


def _passed(config: Mapping[str, Any]) -> Mapping[str, Any]:
    return config.get("passthrough") or {}


def _usage(seconds: float) -> Usage:
    return Usage(1, unpriced=1, seconds=seconds)  # the answer names no tokens and no price


PROVIDERS.register("huggingface:text-classification", "hf:text-classification")(HuggingFaceClassification)
PROVIDERS.register("huggingface:feature-extraction", "hf:feature-extraction")(HuggingFaceEmbeddings)
