"""google: Gemini models of Google AI Studio.

API: https://ai.google.dev/api/generate-content; the key goes in the header ``x-goog-api-key``.
"""

from __future__ import annotations

from urllib.parse import quote

from gradegate.access.hosts import Vendor
from gradegate.asking.chatmodel import ChatModel
from gradegate.asking.gemini import OPTIONS, Gemini
from gradegate.asking.provider import PROVIDERS, Setting
from gradegate.asking.wire import ACCESS, PRICES, base_url, need_key, need_model, own_headers

_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_BASES = ("GOOGLE_API_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
_HOST = "generativelanguage.googleapis.com"


class Google(ChatModel):
    """A model at ``{base}/models/{model}:generateContent``."""

    options = (*OPTIONS, *ACCESS, *PRICES, "apiVersion")
    vendor = Vendor(_KEYS, (_HOST,), (*_BASES, "GOOGLE_API_HOST"))

    def __init__(self, setting: Setting) -> None:
        config = setting.spec.config
        model = need_model(setting, "google:MODEL").removeprefix("models/")
        url = f"{_root(setting)}/models/{quote(model, safe='')}:generateContent"
        headers = {"x-goog-api-key": need_key(setting, *_KEYS), **own_headers(config)}
        super().__init__(setting, Gemini(config), url, headers, model)


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
