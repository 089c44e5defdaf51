"""The contract of a provider: it takes a request and returns a reply; whatever goes wrong is a ProviderError."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from gradegate.core.conversation import Message, Reply, Request
from gradegate.core.policy import Note
from gradegate.core.provider_spec import ProviderSpec
from gradegate.core.usage import Usage
from gradegate.errors import ConfigError, Mistake, Origin, ProviderError, Trouble
from gradegate.files.paths import is_code
from gradegate.files.workspace import Workspace
from gradegate.http.budget import Budget
from gradegate.http.client import Client
from gradegate.registry import Registry
from gradegate.sandbox.program import is_javascript
from gradegate.security.environment import MODEL, Environment, VariableUse
from gradegate.security.secrets import belongs_to_runner
from gradegate.security.vendors import Vendor
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts, replace

Vectors = list[list[float]]  # one for each text, in order
LabelScores = Mapping[str, float]  # scores from 0 to 1


class Provider:
    """Base of all providers.

    The attributes below say what a provider is. They stand in three groups: what all providers of a vendor share, what a
    provider sets when it is built, and what whoever binds it to a config sets afterwards.
    """

    # --- of all providers of a vendor ---
    # What it can do: "text", "embedding", "classification", "moderation"
    kinds: tuple[str, ...] = ("text",)
    # Options that are sent as its credential and nowhere else; empty if it has none
    fields: tuple[str, ...] = ("apiKey",)
    vendor: Vendor = Vendor()  # where the keys of this kind of provider may go
    # It speaks OpenAI's API, so it may ask other vendors with their keys: at their own hosts, or where the workflow says.
    takes_keys_of_hosts: bool = False
    # The vendor's model for each kind that promptfoo takes as a grader if a config names none, by kind. A name in braces is a
    # variable of the environment with the rest of the id.
    default_graders: NamedTexts = {}
    vectors: bool = True  # an embedding model returns vectors; else it only compares two texts
    takes_images: bool = False
    limit_option: str = "max_tokens"  # the option with ``reply_tokens``, whatever its API calls it
    names_model: bool = True  # its id ends with the name of a model
    # "model": a model, or whatever is behind an address; "program": code of the repository; "file", "prompt": a stand-in for a model
    replies_from: str = "model"
    # The options that its `config` takes; None if they are not checked
    options: tuple[str, ...] | None = None
    # Options that promptfoo has here, and what to do instead
    unsupported: NamedTexts = {}
    # What its API takes for an option if that is less than other APIs take, as in `options.yaml`
    values: NamedTexts = {}
    bounded: bool = True  # a vendor's API; a server of one's own may take other values
    is_repeatable: bool = True  # equal requests may have the same reply, so a reply may be kept

    # --- of one provider, set when it is built ---
    name: str = ""  # as reports show it: the label, or the id
    url: str = ""  # where requests go; empty if nothing leaves the machine
    method: str = "POST"  # of its requests
    # The most tokens of a grader's first reply; None if it takes no limit
    reply_tokens: int | None = None
    structured: str = "none"  # what it does with the schema of a request: "enforced", "requested", "none" where it is not sent
    # Its texts that are filled in for each answer, with the variables of the test
    templates: tuple[str, ...] = ()
    code: str = ""  # SHA-256 of the code of the repository that it runs; empty for no code

    # --- of one provider, set by whoever binds it ---
    id: str = ""  # as the config writes it, without the label
    origin: Origin = Origin("")  # where the config names it
    spec: ProviderSpec | None = None  # what it was built from
    files_digest: str = ""  # SHA-256 of the files that it read; empty for no files
    # Which variables of the environment requests contain, and as what
    uses: frozenset[VariableUse] = frozenset()
    chosen: str = ""  # what it was chosen for, in words; empty if the config names it
    is_grader: bool = False  # an assertion asks it
    notes: tuple[Note, ...] = ()  # what the user should know of its options
    # The functions that it may call, as `function_schemas` gives them; None if they are not known
    tools: JsonObject | None = None
    missing: tuple[Mistake, ...] = ()  # the keys that it lacks
    # Why the tools of a target that is only named are not known
    tool_mistakes: tuple[Mistake, ...] = ()
    budget: Budget = Budget()  # what replies cost counts against it

    @property
    def unasked_kinds(self) -> tuple[str, ...]:
        """The kinds that it serves if a config names it for no certain kind: an application only answers texts."""
        return self.kinds

    @property
    def rates(self) -> tuple[float, float] | None:
        """US dollars per token read and written; None if they are not known before a call."""
        return None if self.url else (0.0, 0.0)

    @property
    def is_priced(self) -> bool:
        """Whether each call's cost will be known."""
        return self.rates is not None

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables of the environment in requests, without those that only name the model."""
        return tuple(sorted({use.variable for use in self.uses if use.sent != MODEL}))

    @property
    def kind(self) -> str:
        """The form of its id without the model, such as ``openai:chat``."""
        return kind_of(self.id)

    @property
    def host(self) -> str:
        """Host and port of ``url``, without a user name and password."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def expect_reasoning(self) -> None:
        """Note that a reply was cut before its first word: the model reasons, so ``reply_tokens`` may grow."""

    def complete(self, request: Request) -> Reply:
        """Answer a chat. Raises ProviderError."""
        raise self._cannot("text")

    def check_messages(self, messages: Sequence[Message]) -> None:
        """Raises ProviderError for messages that it cannot send whole."""

    def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """One vector for each text, in order. Raises ProviderError."""
        raise self._cannot("embedding")

    def compare(self, expected: str, text: str) -> tuple[float, Usage]:
        """How near two texts are, as a cosine, for a model without ``vectors``. Raises ProviderError."""
        raise self._cannot("embedding")

    def classify(self, text: str) -> tuple[LabelScores, Usage]:
        """Labels with scores from 0 to 1. Raises ProviderError."""
        raise self._cannot("classification")

    def moderate(self, text: str, prompt: str) -> tuple[Sequence[str], Usage]:
        """The categories that the text is flagged for, as the answer to a prompt. Raises ProviderError."""
        raise self._cannot("moderation")

    def _cannot(self, kind: str) -> ProviderError:
        return ProviderError(f"{self.name} is not a provider of the kind {kind}", Trouble.SETUP)


class RecordedTarget(Provider):
    """Names in reports whatever gave a recorded answer; it is never asked."""

    name = "recorded"


class NamedTarget(Provider):
    """A target that is only named, since its answers are made elsewhere."""

    takes_images = True
    names_model = False
    replies_from = "file"

    def __init__(self, spec: ProviderSpec) -> None:
        self.id = spec.id
        self.name = spec.name
        self.spec = spec
        self.origin = spec.origin


class ProviderSetup(FrozenStruct):
    """What a provider is built from. ``env`` includes the config's ``env``; ``uses`` collects which variables it reads."""

    spec: ProviderSpec
    model: str  # the id without its prefix
    client: Client
    env: Environment
    open_file: Callable[[str, Origin], bytes]  # a file of the workspace, by its path in the config
    uses: set[VariableUse] = set()
    workspace: Workspace | None = None  # with the code of the repository
    folder: Path = Path()  # to which paths of code are relative

    @property
    def config(self) -> JsonObject:
        """The options of the provider."""
        return self.spec.config

    def mistake(self, problem: str, cure: str, missing: str = "") -> ConfigError:
        """A mistake at the place of the provider."""
        return ConfigError.at(problem, self.spec.origin, cure, missing)

    def keyless(self, why: str, cure: str, missing: str = "") -> ConfigError:
        """The mistake that it has no key, with a reason if there is more to say."""
        reason = f": {why}" if why else ""
        return self.mistake(f"no key for `{self.spec.id}`{reason}", cure, missing)

    def key(self, name: str) -> str:
        """The value of a variable that fills its credential field; empty when it is not set."""
        value = self.env.read_key(name)
        if "\n" in value or "\r" in value:
            raise self.mistake(f"{name} contains a line break", "set it to the key in one line")
        sources = self.env.variables_behind(name) if value else ()
        self.uses.update(
            VariableUse(source, "" if source == name else f"env.{name}") for source in sources
        )
        return value


# Options that say where a vendor's API is and with whose key to ask
_ACCESS_OPTIONS = (
    "apiKey",
    "apiKeyEnvar",
    "apiKeyRequired",
    "apiHost",
    "apiBaseUrl",
    "apiVersion",
    "organization",
    "headers",
)
# A provider module registers a function for each id prefix: "openai:chat", "echo". It raises ConfigError.
Build = Callable[[ProviderSetup], Provider]
PROVIDERS: Registry[Build] = Registry("provider", "gradegate.providers")


def split_id(provider_id: str) -> tuple[str, str] | None:
    """The longest registered prefix of an id, and the rest: ``openai:chat:gpt-5`` -> ("openai:chat", "gpt-5")."""
    if is_code(provider_id) and is_javascript(provider_id) and not provider_id.startswith("file:"):
        return "file", provider_id  # a path alone, as promptfoo takes it for such files
    parts = provider_id.split(":")
    for length in range(len(parts), 0, -1):
        prefix = ":".join(parts[:length])
        if PROVIDERS.find(prefix) is not None:
            return prefix, ":".join(parts[length:])
    return None


def kind_of(provider_id: str) -> str:
    """The form of an id without the model: ``openai:chat:gpt-5`` -> "openai:chat"."""
    return (split_id(provider_id) or (provider_id, ""))[0]


def with_model(spec: ProviderSpec, model: str) -> ProviderSpec:
    """The provider with another model: ``openai:chat:X`` -> ``openai:chat:MODEL``; unchanged if its id names no model."""
    parts = split_id(spec.id)
    if parts is None:
        return spec
    prefix, rest = parts
    if rest.startswith("//") or not getattr(PROVIDERS.find(prefix), "names_model", True):
        return spec
    return replace(spec, id=f"{prefix}:{model}")


def with_id(spec: ProviderSpec, provider_id: str) -> ProviderSpec:
    """Another model of the same vendor, at the same address and with the same key."""
    config = {name: value for name, value in spec.config.items() if name in _ACCESS_OPTIONS}
    return replace(spec, id=provider_id, label="", transform="", config=config)


def find_key(setup: ProviderSetup, *names: str) -> str | None:
    """``apiKey``, else the variable that ``apiKeyEnvar`` names, else the first of ``names``.

    Raises ConfigError if the variable of ``apiKeyEnvar`` is not set, or is the runner's own.
    """
    config = setup.config
    if config.get("apiKey"):
        return str(config["apiKey"])
    if config.get("apiKeyEnvar"):
        names = (str(config["apiKeyEnvar"]),)
        _check_key_variable(setup, *names)
    return next(filter(None, map(setup.key, names)), None)


def _check_key_variable(setup: ProviderSetup, variable: str) -> None:
    """Raises ConfigError if ``apiKeyEnvar`` names a variable that may not be read or is not set."""
    subject = f"`apiKeyEnvar` of `{setup.spec.id}`"
    if belongs_to_runner(variable) and variable not in setup.env.literals:
        raise setup.mistake(
            f"{subject} names {variable}, which is the runner's own: no config reads it",
            "name a variable with a key of the provider",
        )
    if setup.env.read_key(variable):
        return
    if re.fullmatch(r"[A-Z_][A-Z0-9_]*|[a-z_]+", variable):
        problem = f"{subject} names {variable}, which is not set"
        raise setup.mistake(problem, "set it, or correct the name", variable)
    # It may be the key itself, so it is not repeated.
    raise setup.mistake(
        f"{subject} is not the name of a variable that is set",
        "write a name such as OPENAI_API_KEY, never the key itself",
    )
