"""A chat model behind HTTP: a shape says what is asked and answered, the provider where, who asks and what it costs."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

from gradegate.core.conversation import Message, Reply, Request
from gradegate.core.usage import Usage
from gradegate.errors import ProviderError, Trouble
from gradegate.http.credentials import NO_FIELDS, Credential
from gradegate.providers.api import options
from gradegate.providers.api.chat_api import TOOL, NoOutput, Shape, members, objects, picked
from gradegate.providers.api.content import CALLS, UNTOLD, uniform
from gradegate.providers.api.federation import Federation
from gradegate.providers.api.json_http import (
    ACCESS,
    PART,
    Model,
    base_url,
    must_be,
    need_model,
    read_key,
    rows,
    token_usage,
    vector,
)
from gradegate.providers.api.openai_chat import SENT, Completions
from gradegate.providers.api.prices import PRICES, is_number
from gradegate.providers.api.provider import Provider, Setting, Vectors, kind_of
from gradegate.providers.cache.call import named_model, paid
from gradegate.security.vendors import Vendor
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts, replace

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
EMBEDDING = ("embedding", "embeddings")  # kinds of models in ids


class ChatModel(Model):
    """Asked at ``url``. ``beside`` joins every body, such as a model that the shape does not name."""

    sees = True

    def __init__(
        self,
        setting: Setting,
        shape: Shape,
        url: str,
        credential: Credential,
        model: str,
        headers: NamedTexts = NO_FIELDS,
        beside: JsonObject | None = None,
    ) -> None:
        super().__init__(setting, url, credential, model, headers)
        self._shape = shape
        self._beside = beside or {}
        shape.own = OWN.owns(url)
        # What the endpoint does with a schema: the option, else what its host is known for. Anthropic ignores one in the form of OpenAI's
        # API: https://platform.claude.com/docs/en/api/openai-sdk
        ignored = _ANTHROPIC.owns(url) and not urlsplit(url).path.endswith("/messages")
        written = setting.config.get("structured")
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

    @property
    def reply_tokens(self) -> int | None:  # type: ignore[override]
        """As the config says, else a default for graders."""
        return self._shape.reply_tokens

    def expect_reasoning(self) -> None:
        """As ``Provider.expect_reasoning``."""
        self._shape.reasons = True

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
            # A filter in front of the model declined: that is its answer
            if e.trouble is Trouble.REFUSED:
                return Reply(str(e), Usage(1, unpriced=1), "content_filter", refused=True)
            raise
        usage = self._usage(response, seconds)
        try:
            answer = self._shape.read(response)
        except NoOutput as e:
            paid(usage)
            raise ProviderError(f"{self.host} answered {e}") from e
        text = answer.text
        finish = answer.finish_reason
        calls = [uniform(call) for call in answer.tool_calls]
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
            text = calls[0]["function"]["arguments"]
            finish = "stop" if finish == "tool_calls" else finish
            metadata = {}
            constrained = self._config.get("structured") != REQUESTED
        elif finish == "tool_calls" and not calls and not self._shape.own:
            # Gateways make the form by a tool of their own, and keep its word for the end.
            finish = "stop"
            metadata = {UNTOLD: "the answer ended to call a tool, but contains no call"}
        return Reply(
            text, usage, finish, answer.refused, metadata, constrained, named_model(response)
        )

    def _usage(self, response: JsonObject, seconds: float) -> Usage:
        return token_usage(
            self._config, self._priced_as(response), *self._shape.tokens(response), seconds
        )


class Embeddings(Model):
    """An embedding model that is asked at ``url``; one request for all texts."""

    kinds = ("embedding",)
    sent: ClassVar[Sequence[str]] = ("dimensions", "user")
    options: tuple[str, ...] = ("dimensions", "user", *ACCESS, *PRICES)
    most: ClassVar[int] = 2048  # texts that one request may hold

    def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """One vector for each text, in order. Raises ProviderError."""
        found = []
        usage = Usage()
        for start in range(0, len(texts), self.most):
            batch = texts[start : start + self.most]
            response, seconds = self._post(self._body(batch))
            vectors, tokens = self._read(response, len(batch))
            found += [vector(numbers, self.host) for numbers in vectors]
            paid(spent := self._usage(tokens, response, seconds))
            usage = usage + spent
        return found, usage

    def _body(self, texts: Sequence[str]) -> JsonObject:
        options = {**picked(self._config, self.sent), **self._passthrough}
        return {"model": self._model, "input": list(texts), **options}

    def _read(self, response: JsonObject, texts: int) -> tuple[list[Any], Any]:
        """The vectors in the order of the texts, and the tokens of these. Raises ProviderError."""
        data = rows(objects(response.get("data")), self.host, texts)
        places = [row.get("index") for row in data]
        if sorted(places, key=str) == sorted(range(texts), key=str):
            data = sorted(data, key=lambda row: row["index"])
        elif any(place is not None for place in places):
            raise ProviderError(f"{self.host} numbered its vectors {places}")
        return [row.get("embedding") for row in data], members(response.get("usage")).get(
            "prompt_tokens"
        )

    def _usage(self, tokens: Any, response: JsonObject, seconds: float) -> Usage:
        return token_usage(self._config, self._priced_as(response), tokens, 0, seconds)


class Service(FrozenStruct):
    """One service; called with a setting, it builds the provider that its id names."""

    name: str
    base: str  # its address up to `/chat/completions`, with `parts` in braces; empty: only its users know it
    keys: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()  # variables that hold another address
    below: str = ""  # where the API is, below the address that a variable holds
    parts: NamedTexts = {}  # options that `base` names, and the variables for them
    extra: tuple[str, ...] = ()  # options that go into the request beside those of OpenAI
    renamed: NamedTexts = {}  # options that promptfoo writes otherwise
    unsupported: NamedTexts = {}
    embeds: bool = False
    chats: bool = True
    also: tuple[str, ...] = ()  # other paths of its API in OpenAI's form
    keyless: bool = False  # a server of one's own may ask for no key
    open: bool = False  # any parameter of a model goes into the request
    tells_cost: bool = False
    federation: Federation | None = None  # takes GitHub's identity for a key

    def __call__(self, setting: Setting) -> Provider:
        """Raises ConfigError."""
        kind, _, model = setting.model.partition(":")
        if kind == "chat" and self.chats:
            setting = replace(setting, model=model)
        elif kind in EMBEDDING and self.embeds:
            return CompatibleEmbeddings(replace(setting, model=model), self)
        elif kind in EMBEDDING:
            raise setting.mistake(
                f"{self.name} serves no embeddings",
                "name another vendor's, such as openai:embedding:MODEL",
            )
        return CompatibleChat(setting, self) if self.chats else CompatibleEmbeddings(setting, self)

    @property
    def summary(self) -> str:
        """A line for lists."""
        return f"Models of {self.name}, through its API in the form of OpenAI's."

    @property
    def options(self) -> tuple[str, ...]:
        """The options that its ``config`` takes."""
        chat = (*SENT, *self.extra, *self.renamed, *CHAT) if self.chats else ()
        dimensions = ("dimensions", "encoding_format", "user") if self.embeds else ()
        return tuple(dict.fromkeys((*chat, *dimensions, *ACCESS, *PRICES, *self.parts)))

    @property
    def bounded(self) -> bool:
        """Whether it is a vendor's, whose API takes no other values."""
        return not self.keyless

    @property
    def vendor(self) -> Vendor:
        """Where its keys may go: its own host, and the address that the environment gives."""
        place = urlsplit(self.base)
        is_own_host = place.scheme == "https" and "{" not in place.netloc
        address_variables = tuple(
            variable
            for option, variable in self.parts.items()
            if self.base.removeprefix("https://").startswith(f"{{{option}}}")
        )
        ids = tuple(self.federation.ids.values()) if self.federation else ()
        path = self.below or re.sub(r"^\{\w+\}", "", place.path)
        requests = [*self.also]
        if self.chats:
            requests.append(f"{path}/chat/completions")
        if self.embeds:
            requests.append(f"{path}/embeddings")
        return Vendor(
            self.keys,
            (str(place.hostname),) if is_own_host else (),
            (*self.addresses, *address_variables),
            ids=ids,
            requests=tuple(f"POST {request}" for request in requests),
        )

    def url(self, setting: Setting) -> str:
        """``apiHost`` or ``apiBaseUrl``, else the address of the environment, else its own. Raises ConfigError."""
        config = self.config(setting.config)
        if config.get("apiHost"):
            return base_url(setting, f"https://{config['apiHost']}/v1")
        variable_address = setting.env.address(*self.addresses).rstrip("/")
        address = config.get("apiBaseUrl") or (
            variable_address and variable_address.removesuffix(self.below) + self.below
        )
        if not address and not self.base:
            cure = f"set {self.addresses[0]}, or `apiBaseUrl` in its config"
            raise setting.mistake(f"no address for `{setting.spec.id}`", cure, self.addresses[0])
        url = str(address or self.base.replace("{model}", quote(setting.model, safe="/")))
        for option, variable in () if address else self.parts.items():
            value = str(setting.config.get(option) or setting.env.get(variable))
            if not value:
                what = f"`{setting.spec.id}` does not say which `{option}` to ask"
                raise setting.mistake(
                    what, f"set {variable}, or `{option}` in its config", variable
                )
            if not url.startswith(f"{{{option}}}"):  # else it is the address
                must_be(option, value, PART, setting, f"correct `{option}`")
            url = url.replace(f"{{{option}}}", value.rstrip("/"))
        return base_url(setting, url).removesuffix("/chat/completions")

    def credential(self, setting: Setting, url: str) -> Credential:
        """Raises ConfigError where a key is missing."""
        needed = not self.keyless and setting.config.get("apiKeyRequired") is not False
        if self.federation:
            return self.federation.credential(setting, url, self.keys, needed=needed)
        return read_key(setting, *self.keys, needed=needed)

    def config(self, written: JsonObject) -> JsonObject:
        """The options as OpenAI's API names them."""
        return {self.renamed.get(name, name): value for name, value in written.items()}


class CompatibleChat(ChatModel):
    """A chat model at ``{base}/chat/completions``."""

    takes_keys_of_hosts = True

    def __init__(self, setting: Setting, service: Service) -> None:
        model = need_model(setting, f"{kind_of(setting.spec.id)}:MODEL")
        url = service.url(setting)
        config = service.config(setting.config)
        more = options.free(config, service.options) if service.open else ()
        shape = Completions(model, config, (*SENT, *service.extra, *more))
        super().__init__(
            setting, shape, f"{url}/chat/completions", service.credential(setting, url), model
        )
        self._tells_cost = service.tells_cost

    @property
    def priced(self) -> bool:
        """A service that tells what a call cost needs no table."""
        return self._tells_cost or super().priced

    def _usage(self, response: JsonObject, seconds: float) -> Usage:
        usage = super()._usage(response, seconds)
        # US dollars that a response says it cost: a number, or one among its parts; nothing for what cannot be a cost.
        cost: Any = (
            members(response.get("usage")).get("cost")
            if self._tells_cost and "cost" not in self._config
            else None
        )
        cost = cost.get("total_cost") if isinstance(cost, Mapping) else cost
        if is_number(cost) and cost >= 0:
            return replace(usage, cost=float(cost), unpriced=0)
        return usage


class CompatibleEmbeddings(Embeddings):
    """An embedding model at ``{base}/embeddings``."""

    takes_keys_of_hosts = True
    sent = ("dimensions", "encoding_format", "user")

    def __init__(self, setting: Setting, service: Service) -> None:
        prefix = kind_of(setting.spec.id) + (":embedding" if service.chats else "")
        model = need_model(setting, f"{prefix}:MODEL")
        url = service.url(setting)
        super().__init__(setting, f"{url}/embeddings", service.credential(setting, url), model)
