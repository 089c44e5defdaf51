"""openai: chat, responses, embeddings and moderation of OpenAI, and of every endpoint that speaks the same.

API: https://platform.openai.com/docs/api-reference, as in the types of the ``openai`` package 3.54. Embeddings: up to 2,048
texts in one request, none of them empty; vectors carry the ``index`` of their text. Moderation is free of charge
(https://platform.openai.com/docs/guides/moderation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.asking import completions, responses
from gradegate.asking.chatmodel import CHAT, ChatModel, Embeddings
from gradegate.asking.completions import Completions
from gradegate.asking.openai_access import ACCESS, VENDOR, base, headers
from gradegate.asking.provider import PROVIDERS, Setting
from gradegate.asking.responses import Responses
from gradegate.asking.wire import Model, need_model
from gradegate.errors import ProviderError, Trouble
from gradegate.values.conversation import Usage

SIBLINGS = {"embedding": "openai:embedding:text-embedding-3-large", "moderation": "openai:moderation:omni-moderation-latest"}


@PROVIDERS.register("openai:chat", "openai")
class OpenAiChat(ChatModel):
    """A chat model at ``{base}/chat/completions``."""

    siblings = SIBLINGS
    options = (*completions.SENT, *ACCESS, *CHAT)
    vendor = VENDOR

    def __init__(self, setting: Setting) -> None:
        model = need_model(setting, "openai:chat:MODEL")
        url, shape = base(setting), Completions(model, setting.spec.config)
        super().__init__(setting, shape, f"{url}/chat/completions", headers(setting, url), model)


@PROVIDERS.register("openai:responses")
class OpenAiResponses(ChatModel):
    """A model at ``{base}/responses``."""

    siblings = SIBLINGS
    options = (*responses.SENT, *ACCESS, *CHAT, "max_tokens", "reasoning_effort", "verbosity", "response_format")
    vendor = VENDOR

    def __init__(self, setting: Setting) -> None:
        model = need_model(setting, "openai:responses:MODEL")
        url, shape = base(setting), Responses(model, setting.spec.config)
        super().__init__(setting, shape, f"{url}/responses", headers(setting, url), model)


@PROVIDERS.register("openai:embeddings", "openai:embedding")
class OpenAiEmbeddings(Embeddings):
    """An embedding model at ``{base}/embeddings``."""

    options = (*Embeddings.options, *ACCESS)
    vendor = VENDOR

    def __init__(self, setting: Setting) -> None:
        model = need_model(setting, "openai:embeddings:MODEL")
        url = base(setting)
        super().__init__(setting, f"{url}/embeddings", headers(setting, url), model)


@PROVIDERS.register("openai:moderation")
class OpenAiModeration(Model):
    """A moderation model at ``{base}/moderations``."""

    kinds = ("moderation",)
    options = tuple(ACCESS)
    vendor = VENDOR

    def __init__(self, setting: Setting) -> None:
        url, model = base(setting), setting.model or str(setting.spec.config.get("model") or "omni-moderation-latest")
        super().__init__(setting, f"{url}/moderations", headers(setting, url), model)

    @property
    def rates(self) -> tuple[float, float]:
        """Its use is free of charge."""
        return 0.0, 0.0

    def moderate(self, text: str, prompt: str = "") -> tuple[Sequence[str], Usage]:
        """Raises ProviderError."""
        body = {"model": self._model, "input": text, **(self._config.get("passthrough") or {})}
        response, seconds = self._post(body)
        results = response.get("results")
        if not isinstance(results, list) or not results:
            raise ProviderError(f"{self.host} answered without a result", Trouble.MALFORMED)
        return [name for result in results for name in self._flags(result)], Usage(1, seconds=seconds)

    def _flags(self, result: Any) -> Sequence[str]:
        categories = result.get("categories") if isinstance(result, Mapping) else None
        # `illicit` is null for models that do not know it
        if not isinstance(categories, Mapping) or any(not isinstance(v, bool | None) for v in categories.values()):
            raise ProviderError(f"{self.host} answered without categories", Trouble.MALFORMED)
        flags = [name for name, flagged in categories.items() if flagged]
        return flags or (["flagged"] if result.get("flagged") else [])
