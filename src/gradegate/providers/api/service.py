"""A service with the API of OpenAI under an address and a key of its own: its chat models, and its embeddings."""

import math
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from gradegate.core.conversation import Usage
from gradegate.http.client import Headers, bearer
from gradegate.providers.api import options
from gradegate.providers.api.chat_api import JsonObject, members
from gradegate.providers.api.chat_model import CHAT, ChatModel, Embeddings
from gradegate.providers.api.federation import Federation
from gradegate.providers.api.json_http import (
    ACCESS,
    PRICES,
    base_url,
    need_key,
    need_model,
    own_headers,
)
from gradegate.providers.api.openai_chat import SENT, Completions
from gradegate.providers.api.provider import Provider, Setting, secret, split_id
from gradegate.security.hosts import Vendor
from gradegate.structs import Struct, replace

_EMBEDDING = ("embedding", "embeddings")


class Service(Struct, frozen=True):
    """One service; called with a setting, it builds the provider that its id names."""

    name: str
    base: str  # its address up to `/chat/completions`, with `parts` in braces; empty: only its users know it
    keys: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()  # variables that hold another address
    below: str = ""  # where the API is, below the address that a variable holds
    parts: Mapping[str, str] = {}  # options that `base` names, and the variables for them
    extra: tuple[str, ...] = ()  # options that go into the request beside those of OpenAI
    renamed: Mapping[str, str] = {}  # options that promptfoo writes otherwise
    unsupported: Mapping[str, str] = {}
    embeds: bool = False
    chats: bool = True
    keyless: bool = False  # a server of one's own may ask for no key
    open: bool = False  # any parameter of a model goes into the request
    tells_cost: bool = False
    federation: Federation | None = None  # takes GitHub's identity for a key

    def __call__(self, setting: Setting) -> Provider:
        """Raises ConfigError."""
        kind, _, model = setting.model.partition(":")
        if kind == "chat" and self.chats:
            setting = replace(setting, model=model)
        elif kind in _EMBEDDING and (self.embeds or not self.chats):
            return CompatibleEmbeddings(replace(setting, model=model), self)
        elif kind in _EMBEDDING:
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
        dimensions = (
            ("dimensions", "encoding_format", "user") if self.embeds or not self.chats else ()
        )
        return tuple(dict.fromkeys((*chat, *dimensions, *ACCESS, *PRICES, *self.parts)))

    @property
    def bounded(self) -> bool:
        """Whether it is a vendor's, whose API takes no other values."""
        return not self.keyless

    @property
    def vendor(self) -> Vendor:
        """Where its keys may go: its own host, and the address that the environment gives."""
        place = urlsplit(self.base)
        own = place.scheme == "https" and "{" not in place.netloc
        given = tuple(
            variable
            for option, variable in self.parts.items()
            if self.base.removeprefix("https://").startswith(f"{{{option}}}")
        )
        ids = tuple(self.federation.ids.values()) if self.federation else ()
        return Vendor(
            self.keys, (str(place.hostname),) if own else (), (*self.addresses, *given), ids=ids
        )

    def url(self, setting: Setting) -> str:
        """``apiHost`` or ``apiBaseUrl``, else the address of the environment, else its own. Raises ConfigError."""
        config = self.config(setting.spec.config)
        if config.get("apiHost"):
            return base_url(setting, f"https://{config['apiHost']}/v1")
        given = setting.env.address(*self.addresses).rstrip("/")
        named = config.get("apiBaseUrl") or (given and given.removesuffix(self.below) + self.below)
        if not named and not self.base:
            cure = f"set {self.addresses[0]}, or `apiBaseUrl` in its config"
            raise setting.mistake(f"no address for `{setting.spec.id}`", cure, self.addresses[0])
        url = str(named or self.base.replace("{model}", quote(setting.model, safe="/")))
        for option, variable in () if named else self.parts.items():
            value = str(setting.spec.config.get(option) or setting.env.get(variable))
            if not value:
                what = f"`{setting.spec.id}` does not say which `{option}` to ask"
                raise setting.mistake(
                    what, f"set {variable}, or `{option}` in its config", variable
                )
            first = url.startswith(f"{{{option}}}")  # it is the address
            url = url.replace(
                f"{{{option}}}", value.rstrip("/") if first else quote(value, safe="")
            )
        return base_url(setting, url).removesuffix("/chat/completions")

    def headers(self, setting: Setting, url: str) -> Headers:
        """The key and the config's own headers. Raises ConfigError where a key is missing."""
        needed = not self.keyless and setting.spec.config.get("apiKeyRequired") is not False
        key, token = secret(setting, *self.keys), None
        if not key and self.federation:
            token = self.federation.token(setting, url, self.keys, needed=needed)
        elif needed:
            key = need_key(setting, *self.keys)
        return Headers(own_headers(setting.spec.config), bearer(key), token)

    def config(self, written: JsonObject) -> JsonObject:
        """The options as OpenAI's API names them."""
        return {self.renamed.get(name, name): value for name, value in written.items()}


class CompatibleChat(ChatModel):
    """A chat model at ``{base}/chat/completions``."""

    def __init__(self, setting: Setting, service: Service) -> None:
        model = need_model(setting, f"{_prefix(setting)}:MODEL")
        url, config = service.url(setting), service.config(setting.spec.config)
        more = options.free(config, service.options) if service.open else ()
        shape = Completions(model, config, (*SENT, *service.extra, *more))
        super().__init__(
            setting, shape, f"{url}/chat/completions", service.headers(setting, url), model
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
        fine = (
            isinstance(cost, int | float)
            and not isinstance(cost, bool)
            and math.isfinite(cost)
            and cost >= 0
        )
        return replace(usage, cost=float(cost), unpriced=0) if fine else usage


class CompatibleEmbeddings(Embeddings):
    """An embedding model at ``{base}/embeddings``."""

    sent = ("dimensions", "encoding_format", "user")

    def __init__(self, setting: Setting, service: Service) -> None:
        prefix = _prefix(setting) + (":embedding" if service.chats else "")
        model = need_model(setting, f"{prefix}:MODEL")
        url = service.url(setting)
        super().__init__(setting, f"{url}/embeddings", service.headers(setting, url), model)


def _prefix(setting: Setting) -> str:
    return (split_id(setting.spec.id) or (setting.spec.id, ""))[0]
