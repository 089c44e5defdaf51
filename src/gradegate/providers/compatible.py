"""openrouter, groq, xai, deepseek, together: services that serve OpenAI's Chat Completions under their own key.

APIs: https://openrouter.ai/docs/api-reference/overview (``usage.cost`` is what the call cost in US dollars:
https://openrouter.ai/docs/use-cases/usage-accounting), https://console.groq.com/docs/openai,
https://docs.x.ai/docs/api-reference, https://api-docs.deepseek.com, https://docs.together.ai/docs/openai-api-compatibility
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from gradegate.access.hosts import Vendor
from gradegate.asking.chatmodel import ChatModel
from gradegate.asking.completions import SENT, Completions
from gradegate.asking.provider import PROVIDERS, Setting
from gradegate.asking.shape import JsonObject, ModelOutput, members
from gradegate.asking.wire import ACCESS, PRICES, base_url, need_key, need_model, own_headers
from gradegate.conversation import Usage


class Compatible(ChatModel):
    """A chat model of a service with the API of OpenAI."""

    base: ClassVar[str]
    tells_cost: ClassVar[bool] = False
    extra: ClassVar[tuple[str, ...]] = ()  # options that go into the request beside those of OpenAI
    options = (*SENT, *ACCESS, *PRICES)

    def __init__(self, setting: Setting) -> None:
        model = need_model(setting, f"{setting.spec.id.partition(':')[0]}:MODEL")
        config = setting.spec.config
        url = base_url(setting, f"https://{config['apiHost']}/v1" if config.get("apiHost") else self._base(config))
        key = need_key(setting, *self.vendor.keys)
        headers = {"Authorization": f"Bearer {key}", **own_headers(config)}
        shape = Completions(model, config, (*SENT, *self.extra))
        super().__init__(setting, shape, f"{url}/chat/completions", headers, model)

    @property
    def priced(self) -> bool:
        """A service that tells what a call cost needs no table."""
        return self.tells_cost or super().priced

    def _base(self, config: JsonObject) -> Any:
        return config.get("apiBaseUrl") or self.base

    def _usage(self, answer: ModelOutput, response: JsonObject, seconds: float) -> Usage:
        usage = super()._usage(answer, response, seconds)
        cost = members(response.get("usage")).get("cost") if self.tells_cost else None
        if isinstance(cost, int | float) and not isinstance(cost, bool) and "cost" not in self._config:
            return replace(usage, cost=float(cost), unpriced=0)
        return usage


class OpenRouter(Compatible):
    """A chat model by way of OpenRouter, which says what each call costs."""

    base, vendor = "https://openrouter.ai/api/v1", Vendor(("OPENROUTER_API_KEY",), ("openrouter.ai",))
    tells_cost = True
    extra = ("models", "route", "provider", "transforms", "plugins", "reasoning")
    options = (*Compatible.options, *extra)


class Groq(Compatible):
    """A chat model of Groq."""

    base, vendor = "https://api.groq.com/openai/v1", Vendor(("GROQ_API_KEY",), ("api.groq.com",))
    others = ("responses",)
    extra = ("reasoning_format", "include_reasoning")
    options = (*Compatible.options, *extra)


class XAi(Compatible):
    """A chat model of xAI."""

    base, vendor = "https://api.x.ai/v1", Vendor(("XAI_API_KEY",), ("api.x.ai",))
    others = ("embedding", "embeddings", "image", "responses", "video", "voice")
    extra = ("search_parameters",)
    options = (*Compatible.options, *extra)


class DeepSeek(Compatible):
    """A chat model of DeepSeek."""

    base, vendor = "https://api.deepseek.com/v1", Vendor(("DEEPSEEK_API_KEY",), ("api.deepseek.com",))


class Together(Compatible):
    """A chat model of Together AI."""

    base, vendor = "https://api.together.xyz/v1", Vendor(("TOGETHER_API_KEY",), ("api.together.xyz",))


PROVIDERS.register("openrouter")(OpenRouter)
PROVIDERS.register("groq")(Groq)
PROVIDERS.register("xai")(XAi)
PROVIDERS.register("deepseek")(DeepSeek)
PROVIDERS.register("togetherai", "together")(Together)
