"""anthropic: Claude at Anthropic.

API: https://platform.claude.com/docs/en/api/messages and https://platform.claude.com/docs/en/api/versioning: version
2026-10-21 has no sampling parameters, 2023-06-01 has them for the models up to Claude 4.6.
"""

from __future__ import annotations

from typing import Any

from gradegate.access.hosts import Vendor
from gradegate.asking.chatmodel import ChatModel
from gradegate.asking.messages import OPTIONS, SAMPLING, Messages
from gradegate.asking.provider import PROVIDERS, Setting
from gradegate.asking.shape import JsonObject
from gradegate.asking.wire import PRICES, base_url, need_key, need_model, own_headers, post

VERSION, SAMPLING_VERSION = "2026-10-21", "2023-06-01"


class Anthropic(ChatModel):
    """A model at ``{base}/v1/messages``."""

    options = (*OPTIONS, *PRICES, "model", "apiKey", "apiKeyEnvar", "apiBaseUrl", "headers", "beta")
    vendor = Vendor(("ANTHROPIC_API_KEY",), ("api.anthropic.com",), ("ANTHROPIC_BASE_URL",))

    def __init__(self, setting: Setting) -> None:
        config = setting.spec.config
        model = need_model(setting, "anthropic:messages:MODEL")
        base = config.get("apiBaseUrl") or setting.env.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
        url = base_url(setting, base).removesuffix("/v1") + "/v1/messages"
        beta = config.get("beta") or ()
        headers = {
            "x-api-key": need_key(setting, "ANTHROPIC_API_KEY"),
            **({"anthropic-beta": ",".join([beta] if isinstance(beta, str) else map(str, beta))} if beta else {}),
        }
        super().__init__(setting, Messages(model, config), url, headers, model, {"model": model})

    def _post(self, body: JsonObject) -> tuple[dict[str, Any], float]:
        version = SAMPLING_VERSION if any(name in body for name in SAMPLING) else VERSION
        headers = {**self._headers, "anthropic-version": version, **own_headers(self._config)}
        return post(self._client, self.url, headers, body)


PROVIDERS.register("anthropic:messages", "anthropic")(Anthropic)
