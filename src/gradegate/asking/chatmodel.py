"""A chat model behind HTTP: a shape says what is asked and answered, the provider where, who asks and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradegate.asking import endpoint
from gradegate.asking.negotiation import Way
from gradegate.asking.provider import Setting
from gradegate.asking.shape import TOOL, JsonObject, NoOutput, Shape
from gradegate.asking.toolcalls import CALLS, UNTOLD, uniform
from gradegate.asking.wire import PRICES, Model, token_usage
from gradegate.errors import ProviderError, Trouble
from gradegate.http.headers import Headers
from gradegate.replies.question import named_model, paid
from gradegate.values.conversation import Message, Reply, Request, Usage

CHAT = (*PRICES, "structured")  # of every chat model, wherever it is


class ChatModel(Model):
    """Asked at ``url`` with ``headers``. ``beside`` joins every body, such as a model that the shape does not name."""

    sees = True

    def __init__(self, setting: Setting, shape: Shape, url: str, headers: Headers, model: str, beside: JsonObject | None = None) -> None:
        super().__init__(setting, url, headers, model)
        self._shape, self._beside = shape, beside or {}
        self.structured = endpoint.structured(setting, url)
        shape.own = endpoint.is_vendors_own(url)

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        asked = replace(request, schema=None) if self.structured == endpoint.NONE else request
        return self._shape.ask(asked, self._send)

    def check(self, messages: Sequence[Message]) -> None:
        """Raises ProviderError for messages that its API does not take."""
        self._shape.body(Request(tuple(messages)))

    def _send(self, body: JsonObject, way: Way) -> Reply:
        try:
            response, seconds = self._post({**self._beside, **body})
        except ProviderError as e:
            if e.trouble is Trouble.REFUSED:  # a filter in front of the model declined: that is its answer
                return Reply(str(e), Usage(1, unpriced=1), "content_filter", refused=True)
            raise
        usage = self._usage(response, seconds)
        try:
            answer = self._shape.read(response)
        except NoOutput as e:
            paid(usage)
            raise ProviderError(f"{self.host} answered {e}", Trouble.MALFORMED) from e
        text, finish, calls = answer.text, answer.finish_reason, [uniform(call) for call in answer.tool_calls]
        metadata: dict[str, Any] = {CALLS: calls} if calls else {}
        constrained = way.holds == "schema" and self.structured == endpoint.ENFORCED
        called = [(call["type"], call["function"]["name"]) for call in calls]
        if way.holds == "tool" and called == [("function", TOOL)] and isinstance(answer.tool_calls[0].get("input"), Mapping):
            # Our own tool and nothing else, no tool of the vendor's own side: its input is the answer, and complete; a text
            # beside it is no part of it.
            text, finish, metadata = calls[0]["function"]["arguments"], "stop" if finish == "tool_calls" else finish, {}
            constrained = self._config.get("structured") != endpoint.REQUESTED
        elif finish == "tool_calls" and not calls and not self._shape.own:
            # Gateways make the form by a tool of their own, and keep its word for the end.
            finish, metadata = "stop", {UNTOLD: "the answer ended to call a tool, but contains no call"}
        return Reply(text, usage, finish, answer.refused, metadata, constrained, named_model(response))

    def _usage(self, response: JsonObject, seconds: float) -> Usage:
        return token_usage(self._config, self._priced_as(response), *self._shape.tokens(response), seconds)
