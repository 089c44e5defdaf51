"""Embeddings of OpenAI's form, for every vendor that serves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gradegate.asking.shape import JsonObject, members, objects, picked
from gradegate.asking.wire import ACCESS, PRICES, Model, rows, token_usage, vector
from gradegate.errors import ProviderError, Trouble
from gradegate.replies.question import paid
from gradegate.values.conversation import Usage


class Embeddings(Model):
    """An embedding model that is asked at ``url`` with ``headers``; one request for all texts."""

    kinds = ("embedding",)
    sent: ClassVar[Sequence[str]] = ("dimensions", "user")
    options: tuple[str, ...] = ("dimensions", "user", *ACCESS, *PRICES)
    most: ClassVar[int] = 2048  # texts that one request may hold

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Usage]:
        """One vector for each text, in order. Raises ProviderError."""
        found: list[list[float]] = []
        usage = Usage()
        for start in range(0, len(texts), self.most):
            batch = texts[start : start + self.most]
            response, seconds = self._post(self._body(batch))
            vectors, tokens = self._read(response, len(batch))
            found += [vector(numbers, self.host) for numbers in vectors]
            paid(spent := self._usage(tokens, response, seconds))
            usage = usage + spent
        return found, usage

    def _body(self, texts: Sequence[str]) -> dict[str, Any]:
        options = {**picked(self._config, self.sent), **(self._config.get("passthrough") or {})}
        return {"model": self._model, "input": list(texts), **options}

    def _read(self, response: JsonObject, texts: int) -> tuple[list[Any], Any]:
        """The vectors in the order of the texts, and the tokens of these. Raises ProviderError."""
        data = rows(objects(response.get("data")), self.host, texts)
        places = [row.get("index") for row in data]
        if sorted(places, key=str) == sorted(range(texts), key=str):
            data = sorted(data, key=lambda row: row["index"])
        elif any(place is not None for place in places):
            raise ProviderError(f"{self.host} numbered its vectors {places}", Trouble.MALFORMED)
        return [row.get("embedding") for row in data], members(response.get("usage")).get("prompt_tokens")

    def _usage(self, tokens: Any, response: JsonObject, seconds: float) -> Usage:
        return token_usage(self._config, self._priced_as(response), tokens, 0, seconds)
