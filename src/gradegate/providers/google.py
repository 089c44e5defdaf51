"""google: Gemini models of Google AI Studio, and its embeddings.

API: https://ai.google.dev/api/generate-content and https://ai.google.dev/api/embeddings (``batchEmbedContents``, one
request for up to 100 texts); the key goes in the header ``x-goog-api-key``.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from gradegate.http.credentials import Credential
from gradegate.providers.api.chat_api import as_object, pick_options
from gradegate.providers.api.chat_model import CHAT, ChatModel, EmbeddingModel
from gradegate.providers.api.gemini import OPTIONS, Gemini
from gradegate.providers.api.json_http import (
    ACCESS,
    base_url,
    check_part,
    check_schema,
    expect_rows,
    need_model,
    read_key,
)
from gradegate.providers.api.prices import PRICES
from gradegate.providers.api.provider import PROVIDERS, ProviderSetup
from gradegate.security.vendors import Vendor
from gradegate.structs import JsonObject

_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_BASES = ("GOOGLE_API_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
_HOST = "generativelanguage.googleapis.com"
_VENDOR = Vendor(
    _KEYS,
    (_HOST,),
    (*_BASES, "GOOGLE_API_HOST"),
    requests=(
        "POST /{version}/models/{model}:generateContent",
        "POST /{version}/models/{model}:batchEmbedContents",
        "POST /{version}/openai/chat/completions",
        "POST /{version}/openai/embeddings",
    ),
)
_EMBEDDING = ("taskType", "outputDimensionality", "title")


@PROVIDERS.register("google")
class Google(ChatModel):
    """A model at ``{base}/models/{model}:generateContent``."""

    default_graders = {"embedding": "google:embedding:gemini-embedding-001"}
    options = (*OPTIONS, *ACCESS, *CHAT, "apiVersion")
    vendor = _VENDOR

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, "google:MODEL").removeprefix("models/")
        api = Gemini(setup.config)
        check_schema(setup, "responseSchema", api.response_schema)
        super().__init__(setup, api, *_access(setup, model, "generateContent"), model)


@PROVIDERS.register("google:embedding", "google:embeddings")
class GoogleEmbeddings(EmbeddingModel):
    """An embedding model at ``{base}/models/{model}:batchEmbedContents``."""

    options = (*_EMBEDDING, *ACCESS, *PRICES, "apiVersion")
    vendor = _VENDOR
    max_texts = 100

    def __init__(self, setup: ProviderSetup) -> None:
        model = need_model(setup, "google:embedding:MODEL").removeprefix("models/")
        super().__init__(setup, *_access(setup, model, "batchEmbedContents"), model)

    def _build_body(self, texts: Sequence[str]) -> JsonObject:
        options = {**pick_options(self._config, _EMBEDDING), **self._passthrough}
        requests = []
        for text in texts:
            content = {"parts": [{"text": text}]}
            requests.append({"model": f"models/{self._model}", "content": content, **options})
        return {"requests": requests}

    def _parse_response(self, response: JsonObject, texts: int) -> tuple[list[Any], Any]:
        rows = expect_rows(response.get("embeddings"), self.host, texts)
        tokens = as_object(response.get("usageMetadata")).get("promptTokenCount")
        return [as_object(row).get("values") for row in rows], tokens


def _access(setup: ProviderSetup, model: str, task: str) -> tuple[str, Credential]:
    """The address with the version of the API, and the key. Raises ConfigError."""
    config = setup.config
    env = setup.env
    address = config.get("apiBaseUrl")
    if not address and config.get("apiHost"):
        address = f"https://{config['apiHost']}"
    if not address:
        address = env.read_first(*_BASES) or f"https://{env.read('GOOGLE_API_HOST') or _HOST}"
    base = base_url(setup, address)

    version = str(config.get("apiVersion") or "v1beta")
    check_part("version", version, r"v\d\w{0,20}", setup, "write v1 or v1beta")
    if not base.endswith(("/v1", "/v1beta", "/v1alpha")):
        base = f"{base}/{version}"
    url = f"{base}/models/{quote(model, safe='')}:{task}"
    return url, read_key(setup, *_KEYS, header="x-goog-api-key")
