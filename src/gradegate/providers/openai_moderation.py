"""openai:moderation: the categories that a text is flagged for.

API: https://platform.openai.com/docs/api-reference/moderations, as in the types of the ``openai`` package 3.54; its
use is free of charge (https://platform.openai.com/docs/guides/moderation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.asking.openai_access import ACCESS, VENDOR, base, headers
from gradegate.asking.provider import PROVIDERS, Provider, Setting
from gradegate.asking.wire import post
from gradegate.conversation import Usage
from gradegate.errors import ProviderError, Trouble


class OpenAiModeration(Provider):
    """A moderation model at ``{base}/moderations``."""

    kinds = ("moderation",)
    options = tuple(ACCESS)
    vendor = VENDOR

    def __init__(self, setting: Setting) -> None:
        url = base(setting)
        self.name = setting.spec.name
        self._client, self._config = setting.client, setting.spec.config
        self.url, self._headers = f"{url}/moderations", headers(setting, url)
        self._model = setting.model or str(self._config.get("model") or "omni-moderation-latest")

    @property
    def rates(self) -> tuple[float, float]:
        """Its use is free of charge."""
        return 0.0, 0.0

    def moderate(self, text: str) -> tuple[Sequence[str], Usage]:
        """Raises ProviderError."""
        body = {"model": self._model, "input": text, **(self._config.get("passthrough") or {})}
        response, seconds = post(self._client, self.url, self._headers, body)
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


PROVIDERS.register("openai:moderation")(OpenAiModeration)
