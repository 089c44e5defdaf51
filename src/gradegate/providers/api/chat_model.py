"""A chat model behind HTTP: its API says what is sent and read, the provider where, with which key and at what cost."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

from gradegate.core.conversation import Message, Reply, Request
from gradegate.core.usage import Usage
from gradegate.errors import ProviderError, Trouble
from gradegate.http.credentials import NO_FIELDS, Credential
from gradegate.providers.api.chat_api import (
    TOOL,
    ChatApi,
    ModelOutput,
    NoOutput,
    as_object,
    objects_in,
    pick_options,
)
from gradegate.providers.api.content import CALLS, CALLS_UNKNOWN, uniform_call
from gradegate.providers.api.federation import Federation
from gradegate.providers.api.json_http import (
    ACCESS,
    PART,
    HttpModel,
    base_url,
    check_part,
    expect_rows,
    need_model,
    parse_vector,
    read_key,
    token_usage,
)
from gradegate.providers.api.openai_chat import SENT, Completions
from gradegate.providers.api.options import unknown_options
from gradegate.providers.api.prices import PRICES, is_number
from gradegate.providers.api.provider import Provider, ProviderSetup, Vectors, kind_of
from gradegate.providers.cache.call import model_in_response, pay_reply
from gradegate.security.vendors import Vendor
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts, replace

ENFORCED, REQUESTED, NONE = "enforced", "requested", "none"  # values of the option `structured`
# Of AWS. Only letters before the first dash: `s3-us-west-2.amazonaws.com` has buckets of anybody below it.
REGION = r"[a-z]{2,4}(?:-[a-z]+){1,3}-\d{1,2}"
_AWS = r"(?:amazonaws\.(?:com|com\.cn|eu)|api\.aws|api\.amazonwebservices\.(?:com\.cn|eu))"
_ANTHROPIC = Vendor(hosts=("api.anthropic.com",))
# Hosts of vendors with APIs that document strict schemas and always say why an answer ended.
# Not for deciding where a key may go: anybody can have a resource at Azure, or an endpoint in a network at AWS.
STRICT_VENDORS = Vendor(
    hosts=_ANTHROPIC.hosts,
    forms=(
        r"(?:[a-z]{2}\.)?api\.openai\.com",
        r"[a-z0-9-]+\.(?:openai|cognitiveservices)\.azure\.(?:com|us|cn)",
        r"(?:[a-z0-9-]+[.-])?(?:aiplatform|generativelanguage)(?:\.mtls|\.[a-z0-9-]+\.rep)?\.googleapis\.com",
        r"(?:api|codestral)(?:\.[a-z]{2})?\.mistral\.ai",
        rf"(?:vpce-[a-z0-9-]+\.)?bedrock-runtime(?:-fips)?\.{REGION}\.(?:vpce\.)?{_AWS}",
    ),
)
CHAT = (*PRICES, "structured")  # options of every chat model, wherever it is
EMBEDDING = ("embedding", "embeddings")  # kinds of models in ids


class ChatModel(HttpModel):
    """A chat model at ``url``. ``beside`` joins every body, such as a model that the API does not name."""

    takes_images = True

    def __init__(
        self,
        setup: ProviderSetup,
        api: ChatApi,
        url: str,
        credential: Credential,
        model: str,
        headers: NamedTexts = NO_FIELDS,
        beside: JsonObject | None = None,
    ) -> None:
        super().__init__(setup, url, credential, model, headers)
        self._api = api
        self._beside = beside or {}
        api.is_vendor_host = STRICT_VENDORS.owns(url)
        written = setup.config.get("structured")
        if written is None:
            # Anthropic ignores a schema in the form of OpenAI's API: https://platform.claude.com/docs/en/api/openai-sdk
            ignores = _ANTHROPIC.owns(url) and not urlsplit(url).path.endswith("/messages")
            self.structured = ENFORCED if api.is_vendor_host and not ignores else REQUESTED
        elif written in (ENFORCED, REQUESTED, NONE):
            self.structured = str(written)
        else:
            raise setup.mistake(
                f"`structured` of `{setup.spec.id}` is `{written}`",
                "write enforced, requested or none",
            )

    @property
    def reply_tokens(self) -> int | None:  # type: ignore[override]
        """As the config says, else a default for graders."""
        return self._api.reply_tokens

    def expect_reasoning(self) -> None:
        """As ``Provider.expect_reasoning``."""
        self._api.is_reasoning = True

    def complete(self, request: Request) -> Reply:
        """Raises ProviderError."""
        if self.structured == NONE:
            request = replace(request, schema=None)
        return self._api.complete(request, self._send)

    def check_messages(self, messages: Sequence[Message]) -> None:
        """Raises ProviderError for messages that its API does not take."""
        self._api.build_body(Request(tuple(messages)))

    def _send(self, body: JsonObject, constraint: str) -> Reply:
        """Send a body. ``constraint`` is the second part of a ``Form``. Raises ProviderError."""
        try:
            response, seconds = self._post_object({**self._beside, **body})
        except ProviderError as e:
            # A filter in front of the model declined: that is its answer
            if e.trouble is Trouble.REFUSED:
                return Reply(str(e), Usage(1, unpriced=1), "content_filter", refused=True)
            raise

        usage = self._usage(response, seconds)
        try:
            output = self._api.parse_response(response)
        except NoOutput as e:
            pay_reply(usage)
            raise ProviderError(f"{self.host} answered {e}") from e

        calls = [uniform_call(call) for call in output.tool_calls]
        reply = Reply(
            output.text,
            usage,
            output.finish_reason,
            output.refused,
            metadata={CALLS: calls} if calls else {},
            constrained=constraint == "schema" and self.structured == ENFORCED,
            model=model_in_response(response),
        )
        if constraint == "tool" and _is_verdict_call(calls, output):
            return self._reply_from_verdict_call(reply, calls[0])
        if reply.finish_reason == "tool_calls" and not calls and not self._api.is_vendor_host:
            # Gateways ask for the form with a tool of their own, and leave the finish reason as it is.
            problem = "the answer ended to call a tool, but contains no call"
            return replace(reply, finish_reason="stop", metadata={CALLS_UNKNOWN: problem})
        return reply

    def _reply_from_verdict_call(self, reply: Reply, call: JsonObject) -> Reply:
        """The reply with the input of gradegate's own tool as its text. Any text beside the call is dropped."""
        finish = reply.finish_reason
        return replace(
            reply,
            text=call["function"]["arguments"],
            finish_reason="stop" if finish == "tool_calls" else finish,
            metadata={},  # the verdict is no tool call of the answer
            # The call itself shows that this endpoint applies the tool's schema, whatever the default for its host.
            # Only the config can say that the endpoint merely receives the schema.
            constrained=self._config.get("structured") != REQUESTED,
        )

    def _usage(self, response: JsonObject, seconds: float) -> Usage:
        prompt_tokens, answer_tokens = self._api.count_tokens(response)
        model = self._priced_as(response)
        return token_usage(self._config, model, prompt_tokens, answer_tokens, seconds)


def _is_verdict_call(calls: Sequence[JsonObject], output: ModelOutput) -> bool:
    """Whether gradegate's own tool is the only call, so that no tool of the vendor ran either."""
    if len(calls) != 1 or calls[0]["type"] != "function":
        return False
    has_input = isinstance(output.tool_calls[0].get("input"), dict)
    return has_input and calls[0]["function"]["name"] == TOOL


class EmbeddingModel(HttpModel):
    """An embedding model at ``url``; one request for up to ``max_texts`` texts."""

    kinds = ("embedding",)
    sent: ClassVar[Sequence[str]] = ("dimensions", "user")
    options: tuple[str, ...] = ("dimensions", "user", *ACCESS, *PRICES)
    max_texts: ClassVar[int] = 2048

    def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """One vector for each text, in order. Raises ProviderError."""
        vectors = []
        usage = Usage()
        for start in range(0, len(texts), self.max_texts):
            batch = texts[start : start + self.max_texts]
            response, seconds = self._post_object(self._build_body(batch))
            rows, tokens = self._parse_response(response, len(batch))
            vectors += [parse_vector(row, self.host) for row in rows]
            batch_usage = self._usage(tokens, response, seconds)
            pay_reply(batch_usage)
            usage += batch_usage
        return vectors, usage

    def _build_body(self, texts: Sequence[str]) -> JsonObject:
        options = pick_options(self._config, self.sent)
        return {"model": self._model, "input": list(texts), **options, **self._passthrough}

    def _parse_response(self, response: JsonObject, count: int) -> tuple[list[Any], Any]:
        """The vectors of ``count`` texts in the order of the texts, and the tokens of these. Raises ProviderError."""
        rows = expect_rows(objects_in(response.get("data")), self.host, count)

        # Some services number their vectors, and need not send them in order.
        indexes = [row.get("index") for row in rows]
        is_numbered = sorted(indexes, key=str) == sorted(range(count), key=str)
        if is_numbered:
            rows = sorted(rows, key=lambda row: row["index"])
        elif any(index is not None for index in indexes):
            raise ProviderError(f"{self.host} numbered its vectors {indexes}")

        vectors = [row.get("embedding") for row in rows]
        tokens = as_object(response.get("usage")).get("prompt_tokens")
        return vectors, tokens

    def _usage(self, tokens: Any, response: JsonObject, seconds: float) -> Usage:
        return token_usage(self._config, self._priced_as(response), tokens, 0, seconds)


class CompatibleService(FrozenStruct):
    """A service with OpenAI's API, an entry of ``compatible.yaml``. Calling it with a setup builds the provider that the id names.

    An entry, with some fields of other entries::

        ids: ["cloudflare-ai"]
        name: Cloudflare Workers AI
        base_address: https://api.cloudflare.com/client/v4/accounts/{accountId}/ai/v1
        address_parts: {accountId: "CLOUDFLARE_ACCOUNT_ID"}  # the option, and the variable that may set it
        keys: ["CLOUDFLARE_API_KEY"]
        addresses: ["VLLM_BASE_URL"]  # replaces base_address
        api_path: /v1  # follows an address of a variable
        extra_options: [top_k]
        embeds: true
    """

    name: str
    base_address: str  # up to `/chat/completions`, with `address_parts` in braces; empty: only its users know it
    keys: tuple[str, ...] = ()  # variables that may contain the key
    # Variables that may contain an address in place of `base_address`
    addresses: tuple[str, ...] = ()
    api_path: str = ""  # path of the API below the address of a variable
    address_parts: NamedTexts = {}  # variables by the option that stands in braces in `base_address`
    extra_options: tuple[str, ...] = ()  # options that go into the request beside those of OpenAI
    renamed: NamedTexts = {}  # OpenAI's name of an option, by promptfoo's
    unsupported: NamedTexts = {}  # cures by the option of promptfoo that is not supported
    embeds: bool = False  # serves embeddings
    chats: bool = True  # serves chat models
    other_paths: tuple[str, ...] = ()  # further paths of its host that may get its key
    keyless: bool = False  # a server of one's own, which may ask for no key
    takes_any_option: bool = False  # options with unknown names go into the request too
    tells_cost: bool = False  # its responses contain the cost of the call
    federation: Federation | None = None  # takes GitHub's identity for a key

    def __call__(self, setup: ProviderSetup) -> Provider:
        """Raises ConfigError."""
        kind, _, model = setup.model.partition(":")
        if kind == "chat" and self.chats:
            return CompatibleChat(replace(setup, model=model), self)
        if kind in EMBEDDING:
            if self.embeds:
                return CompatibleEmbeddings(replace(setup, model=model), self)
            raise setup.mistake(
                f"{self.name} serves no embeddings",
                "name another vendor's, such as openai:embedding:MODEL",
            )
        return CompatibleChat(setup, self) if self.chats else CompatibleEmbeddings(setup, self)

    @property
    def summary(self) -> str:
        """A line for lists."""
        return f"Models of {self.name}, through its API in the form of OpenAI's."

    @property
    def options(self) -> tuple[str, ...]:
        """The options that its ``config`` takes."""
        names: list[str] = []
        if self.chats:
            names += (*SENT, *self.extra_options, *self.renamed, *CHAT)
        if self.embeds:
            names += CompatibleEmbeddings.sent
        return tuple(dict.fromkeys((*names, *ACCESS, *PRICES, *self.address_parts)))

    @property
    def bounded(self) -> bool:
        """Whether it is a vendor's, whose API takes no other values."""
        return not self.keyless

    @property
    def vendor(self) -> Vendor:
        """Where its keys may go: its own host, and the address that the environment gives."""
        address = urlsplit(self.base_address)
        is_own_host = address.scheme == "https" and "{" not in address.netloc
        # The part with which the address begins is its host, as in `https://{domain}/v1` or `{gatewayUrl}/v1`.
        host_variables = []
        for option, variable in self.address_parts.items():
            if self.base_address.removeprefix("https://").startswith(f"{{{option}}}"):
                host_variables.append(variable)
        # `{gatewayUrl}` without a scheme is a part of the path for `urlsplit`.
        path = self.api_path or re.sub(r"^\{\w+\}", "", address.path)
        paths = [*self.other_paths]
        if self.chats:
            paths.append(f"{path}/chat/completions")
        if self.embeds:
            paths.append(f"{path}/embeddings")
        return Vendor(
            self.keys,
            (str(address.hostname),) if is_own_host else (),
            (*self.addresses, *host_variables),
            ids=tuple(self.federation.ids.values()) if self.federation else (),
            requests=tuple(f"POST {path}" for path in paths),
        )

    def address_for(self, setup: ProviderSetup) -> str:
        """The address from ``apiHost`` or ``apiBaseUrl``, else from a variable, else ``base_address``. Raises ConfigError."""
        config = self.rename_options(setup.config)
        if config.get("apiHost"):
            return base_url(setup, f"https://{config['apiHost']}/v1")

        address = config.get("apiBaseUrl")
        variable_address = setup.env.read_first(*self.addresses).rstrip("/")
        if not address and variable_address:
            address = variable_address.removesuffix(self.api_path) + self.api_path
        if not address and not self.base_address:
            cure = f"set {self.addresses[0]}, or `apiBaseUrl` in its config"
            raise setup.mistake(f"no address for `{setup.spec.id}`", cure, self.addresses[0])
        url = str(address or self._fill_base_address(setup))
        return base_url(setup, url).removesuffix("/chat/completions")

    def _fill_base_address(self, setup: ProviderSetup) -> str:
        """``base_address`` with the model, and with its parts from options or variables. Raises ConfigError."""
        url = self.base_address.replace("{model}", quote(setup.model, safe="/"))
        for option, variable in self.address_parts.items():
            value = str(setup.config.get(option) or setup.env.read(variable))
            if not value:
                problem = f"`{setup.spec.id}` does not say which `{option}` to ask"
                raise setup.mistake(
                    problem, f"set {variable}, or `{option}` in its config", variable
                )
            # A part at the start is a whole address, which `base_url` checks.
            if not url.startswith(f"{{{option}}}"):
                check_part(option, value, PART, setup, f"correct `{option}`")
            url = url.replace(f"{{{option}}}", value.rstrip("/"))
        return url

    def credential(self, setup: ProviderSetup, url: str) -> Credential:
        """Raises ConfigError if a key is missing."""
        needed = not self.keyless and setup.config.get("apiKeyRequired") is not False
        if self.federation:
            return self.federation.credential(setup, url, self.keys, needed=needed)
        return read_key(setup, *self.keys, needed=needed)

    def rename_options(self, config: JsonObject) -> JsonObject:
        """The options as OpenAI's API names them."""
        return {self.renamed.get(name, name): value for name, value in config.items()}


class CompatibleChat(ChatModel):
    """A chat model at ``{base}/chat/completions``."""

    takes_keys_of_hosts = True

    def __init__(self, setup: ProviderSetup, service: CompatibleService) -> None:
        model = need_model(setup, f"{kind_of(setup.spec.id)}:MODEL")
        url = service.address_for(setup)
        config = service.rename_options(setup.config)
        sent = [*SENT, *service.extra_options]
        if service.takes_any_option:
            sent += unknown_options(config, service.options)
        credential = service.credential(setup, url)
        api = Completions(model, config, sent)
        super().__init__(setup, api, f"{url}/chat/completions", credential, model)
        self._tells_cost = service.tells_cost

    @property
    def is_priced(self) -> bool:
        """A service that tells what a call cost needs no table."""
        return self._tells_cost or super().is_priced

    def _usage(self, response: JsonObject, seconds: float) -> Usage:
        usage = super()._usage(response, seconds)
        if not self._tells_cost or "cost" in self._config:
            return usage
        # US dollars: a number, or one among its parts; anything else says nothing.
        cost: Any = as_object(response.get("usage")).get("cost")
        if isinstance(cost, dict):
            cost = cost.get("total_cost")
        if is_number(cost) and cost >= 0:
            return replace(usage, cost=float(cost), unpriced=0)
        return usage


class CompatibleEmbeddings(EmbeddingModel):
    """An embedding model at ``{base}/embeddings``."""

    takes_keys_of_hosts = True
    sent = ("dimensions", "encoding_format", "user")

    def __init__(self, setup: ProviderSetup, service: CompatibleService) -> None:
        prefix = kind_of(setup.spec.id) + (":embedding" if service.chats else "")
        model = need_model(setup, f"{prefix}:MODEL")
        url = service.address_for(setup)
        super().__init__(setup, f"{url}/embeddings", service.credential(setup, url), model)
