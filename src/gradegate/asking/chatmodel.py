"""A chat model behind HTTP: a shape says what is asked and answered, the provider where, who asks and what it costs."""

from __future__ import annotations

from typing import Any

from gradegate.asking.provider import Provider, Setting
from gradegate.asking.shape import JsonObject, ModelOutput, NoOutput, Shape
from gradegate.asking.signed import Headers
from gradegate.asking.toolcalls import CALLS, uniform
from gradegate.asking.wire import post, rates, token_usage
from gradegate.conversation import Reply, Request, Usage
from gradegate.errors import ProviderError, Trouble


class ChatModel(Provider):
    """Asked at ``url`` with ``headers``. ``beside`` joins every body, such as a model that the shape does not name."""

    sees = True

    def __init__(
        self,
        setting: Setting,
        shape: Shape,
        url: str,
        headers: Headers,
        model: str,
        beside: JsonObject | None = None,
    ) -> None:
        self.name = setting.spec.name
        self._client, self._config, self._shape = setting.client, setting.spec.config, shape
        self.url, self._headers, self._model, self._beside = url, headers, model, beside or {}

    @property
    def rates(self) -> tuple[float, float] | None:
        """From the config or the table; a deployment's name may say nothing."""
        return rates(self._config, self._priced_as({}))

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        return self._shape.ask(request, self._send)

    def _send(self, body: JsonObject) -> Reply:
        try:
            response, seconds = self._post({**self._beside, **body})
        except ProviderError as e:
            if e.trouble is Trouble.REFUSED:  # a filter in front of the model declined: that is its answer
                return Reply(str(e), Usage(1, unpriced=1), "content_filter", refused=True)
            raise
        try:
            answer = self._shape.read(response)
        except NoOutput as e:
            raise ProviderError(f"{self.host} answered {e}", Trouble.MALFORMED) from e
        usage = self._usage(answer, response, seconds)
        metadata = {CALLS: [uniform(call) for call in answer.tool_calls]} if answer.tool_calls else {}
        return Reply(answer.text, usage, answer.finish_reason, answer.refused, metadata)

    def _post(self, body: JsonObject) -> tuple[dict[str, Any], float]:
        return post(self._client, self.url, self._headers, body)

    def _usage(self, answer: ModelOutput, response: JsonObject, seconds: float) -> Usage:
        model = self._priced_as(response)
        return token_usage(self._config, model, answer.prompt_tokens, answer.completion_tokens, seconds)

    def _priced_as(self, response: JsonObject) -> str:
        return self._model
