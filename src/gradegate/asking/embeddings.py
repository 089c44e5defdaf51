"""Embeddings of OpenAI's form, for every vendor that serves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from gradegate.asking.provider import Provider, Setting
from gradegate.asking.shape import picked
from gradegate.asking.signed import Headers
from gradegate.asking.wire import ACCESS, PRICES, post, rates, token_usage, vectors
from gradegate.conversation import Usage


class Embeddings(Provider):
    """An embedding model that is asked at ``url`` with ``headers``; one request for all texts."""

    kinds = ("embedding",)
    sent: ClassVar[Sequence[str]] = ("dimensions", "user")
    options: tuple[str, ...] = ("dimensions", "user", *ACCESS, *PRICES)
    most: ClassVar[int] = 2048  # texts that one request may hold

    def __init__(self, setting: Setting, url: str, headers: Headers, model: str) -> None:
        self.name = setting.spec.name
        self._client, self._config = setting.client, setting.spec.config
        self.url, self._headers, self._model = url, headers, model

    @property
    def rates(self) -> tuple[float, float] | None:
        """From the config or the table."""
        return rates(self._config, self._priced_as({}))

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
        options = {**picked(self._config, self.sent), **(self._config.get("passthrough") or {})}
        body = {"model": self._model, "input": list(texts), **options}
        response, seconds = post(self._client, self.url, self._headers, body)
        tokens = (response.get("usage") or {}).get("prompt_tokens")
        model = self._priced_as(response)
        return vectors(response, self.host, len(texts)), token_usage(self._config, model, tokens, None, seconds)

    def _priced_as(self, response: Mapping[str, Any]) -> str:
        return self._model
