"""A chat model behind HTTP: a shape says what is asked and answered, the provider where, who asks and what it costs."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

from gradegate.core.conversation import Message, Reply, Request, Usage
from gradegate.errors import ProviderError, Trouble
from gradegate.http.client import Headers
from gradegate.providers.api.chat_api import (
    TOOL,
    JsonObject,
    NoOutput,
    Shape,
    members,
    objects,
    picked,
)
from gradegate.providers.api.content import CALLS, UNTOLD, uniform
from gradegate.providers.api.json_http import ACCESS, PRICES, Model, rows, token_usage, vector
from gradegate.providers.api.provider import Setting
from gradegate.providers.cache.call import named_model, paid
from gradegate.security.hosts import Vendor
from gradegate.structs import replace

ENFORCED, REQUESTED, NONE = "enforced", "requested", "none"  # values of the option `structured`
# Of AWS. Only letters before the first dash: `s3-us-west-2.amazonaws.com` has buckets of anybody below it.
REGION = r"[a-z]{2,4}(?:-[a-z]+){1,3}-\d{1,2}"
_AWS = r"(?:amazonaws\.(?:com|com\.cn|eu)|api\.aws|api\.amazonwebservices\.(?:com\.cn|eu))"
_ANTHROPIC = Vendor(hosts=("api.anthropic.com",))
# The hosts of the vendors whose APIs document strict schemas and always say why an answer ended, whoever may ask there:
# wider than where a key may go, since anybody can have a resource of Azure's or an endpoint in a network of AWS's.
OWN = Vendor(
    hosts=_ANTHROPIC.hosts,
    forms=(
        r"(?:[a-z]{2}\.)?api\.openai\.com",
        r"[a-z0-9-]+\.(?:openai|cognitiveservices)\.azure\.(?:com|us|cn)",
        r"(?:[a-z0-9-]+[.-])?(?:aiplatform|generativelanguage)(?:\.mtls|\.[a-z0-9-]+\.rep)?\.googleapis\.com",
        r"(?:api|codestral)(?:\.[a-z]{2})?\.mistral\.ai",
        rf"(?:vpce-[a-z0-9-]+\.)?bedrock-runtime(?:-fips)?\.{REGION}\.(?:vpce\.)?{_AWS}",
    ),
)


CHAT = (*PRICES, "structured")  # of every chat model, wherever it is


class ChatModel(Model):
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
        super().__init__(setting, url, headers, model)
        self._shape, self._beside = shape, beside or {}
        shape.own = OWN.owns(url)
        # What the endpoint does with a schema: the option, else what its host is known for. Anthropic ignores one in the form of OpenAI's
        # API: https://platform.claude.com/docs/en/api/openai-sdk
        ignored = _ANTHROPIC.owns(url) and not urlsplit(url).path.endswith("/messages")
        written = setting.spec.config.get("structured")
        self.structured = (
            (ENFORCED if shape.own and not ignored else REQUESTED)
            if written is None
            else str(written)
        )
        if written is not None and written not in (ENFORCED, REQUESTED, NONE):
            raise setting.mistake(
                f"`structured` of `{setting.spec.id}` is `{written}`",
                "write enforced, requested or none",
            )

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        asked = replace(request, schema=None) if self.structured == NONE else request
        return self._shape.ask(asked, self._send)

    def check(self, messages: Sequence[Message]) -> None:
        """Raises ProviderError for messages that its API does not take."""
        self._shape.body(Request(tuple(messages)))

    def _send(self, body: JsonObject, holds: str) -> Reply:
        try:
            response, seconds = self._post({**self._beside, **body})
        except ProviderError as e:
            if (
                e.trouble is Trouble.REFUSED
            ):  # a filter in front of the model declined: that is its answer
                return Reply(str(e), Usage(1, unpriced=1), "content_filter", refused=True)
            raise
        usage = self._usage(response, seconds)
        try:
            answer = self._shape.read(response)
        except NoOutput as e:
            paid(usage)
            raise ProviderError(f"{self.host} answered {e}", Trouble.MALFORMED) from e
        text, finish, calls = (
            answer.text,
            answer.finish_reason,
            [uniform(call) for call in answer.tool_calls],
        )
        metadata: dict[str, Any] = {CALLS: calls} if calls else {}
        constrained = holds == "schema" and self.structured == ENFORCED
        called = [(call["type"], call["function"]["name"]) for call in calls]
        if (
            holds == "tool"
            and called == [("function", TOOL)]
            and isinstance(answer.tool_calls[0].get("input"), Mapping)
        ):
            # Our own tool and nothing else, no tool of the vendor's own side: its input is the answer, and complete; a text
            # beside it is no part of it.
            text, finish, metadata = (
                calls[0]["function"]["arguments"],
                "stop" if finish == "tool_calls" else finish,
                {},
            )
            constrained = self._config.get("structured") != REQUESTED
        elif finish == "tool_calls" and not calls and not self._shape.own:
            # Gateways make the form by a tool of their own, and keep its word for the end.
            finish, metadata = (
                "stop",
                {UNTOLD: "the answer ended to call a tool, but contains no call"},
            )
        return Reply(
            text, usage, finish, answer.refused, metadata, constrained, named_model(response)
        )

    def _usage(self, response: JsonObject, seconds: float) -> Usage:
        return token_usage(
            self._config, self._priced_as(response), *self._shape.tokens(response), seconds
        )


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
        return [row.get("embedding") for row in data], members(response.get("usage")).get(
            "prompt_tokens"
        )

    def _usage(self, tokens: Any, response: JsonObject, seconds: float) -> Usage:
        return token_usage(self._config, self._priced_as(response), tokens, 0, seconds)
