"""Checks the options of a provider: a slip of the pen must not change a run in silence.

One rule for all providers. An option that the provider knows is used. One that only promptfoo has a use for has no
effect. Of the rest, one that is nearly the name of a known option is a mistake, and so is one that says where a question
goes or with whose key, because else it would go elsewhere than the config means. Anything else is what the vendor may
know: services whose parameters are open are sent it, others are not, and a note says so.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from gradegate.core.policy import Note
from gradegate.core.provider_spec import ProviderSpec
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.documents import table
from gradegate.providers.api.provider import PROVIDERS, Build, split_id
from gradegate.registry import near_miss
from gradegate.structs import NamedTexts

_TABLE = table("providers.api", "options.yaml")
_PASSED, _TOOLS, PARAMETERS = (
    frozenset(_TABLE[key].split()) for key in ("promptfoos", "tools", "parameters")
)
PROMPTFOOS = _PASSED | _TOOLS
_VALUES, _SERVERS = (
    {name: form for form, names in _TABLE[key].items() for name in names.split()}
    for key in ("values", "servers")
)
_GROUPS = (
    "generationConfig",
    "inferenceConfig",
    "interfaceConfig",
    "textGenerationConfig",
    "options",
)  # which hold options, too
# Of the parameters, what `options` of a test may hold: its own metadata are no option.
TEST_PARAMETERS = PARAMETERS - {"metadata"}
_MAPPINGS = ("headers", "queryParams", "passthrough")  # what is written below them is read by name
_NAMES = {"number": "a number", "integer": "a whole number", "texts": "a text or a list of texts"}
_WAY = re.compile(
    r"url|host|endpoint|proxy|api_?key|token$|secret|password|credential|authorization",
    re.IGNORECASE,
)


def check_options(spec: ProviderSpec, build: Build) -> None:
    """Raises ConfigError for what is nearly a known option, and for what would lead a question elsewhere."""
    known = getattr(build, "options", None)
    mistakes = (
        *_mistakes(spec, build, known, getattr(build, "unsupported", {})),
        *_wrong_values(spec, known or (), build),
    )
    if mistakes:
        raise ConfigError(*mistakes)


def unused_option_notes(spec: ProviderSpec, build: Build) -> tuple[Note, ...]:
    """Which options are not sent, though nobody can say that they would change nothing."""
    known = getattr(build, "options", None)
    if known is None or getattr(build, "open", False):
        return ()
    sent = "; `passthrough` sends further options to the vendor" if "passthrough" in known else ""
    return tuple(
        Note(f"`{spec.id}` knows no option `{name}`, so it has no effect{sent}", _place(spec, name))
        for name in spec.config
        if _is_free(name, known) and name not in PARAMETERS
    )


def _place(spec: ProviderSpec, option: str) -> Origin:
    """The line of an option, else that of its provider."""
    found = spec.places.get(option, spec.origin)
    return found if found.line else spec.origin


def _wrong_values(spec: ProviderSpec, known: Sequence[str], build: Build) -> Iterator[Mistake]:
    """Values that the vendor's API does not take; a server of one's own may take more, but nothing of another kind."""
    forms = {
        **_VALUES,
        **({} if getattr(build, "bounded", True) else _SERVERS),
        **getattr(build, "values", {}),
    }
    groups = [
        (name, inner)
        for name in _GROUPS
        if name in known and isinstance(inner := spec.config.get(name), Mapping)
    ]
    written = [
        *spec.config.items(),
        *((f"{group}.{name}", value) for group, inner in groups for name, value in inner.items()),
    ]
    for name, value in written:
        option = name.rpartition(".")[2]
        place = name.partition(".")[0]
        if place not in known or option not in forms or value is None:
            continue
        kind, *limits = forms[option].split()
        form = _NAMES[kind] + "".join(
            f" {word} {limit}" for word, limit in zip(("from", "to"), limits, strict=False)
        )
        if not _fits(value, kind, *map(float, limits)):
            yield Mistake(
                f"`{name}` of `{spec.id}` is not {form}",
                _place(spec, place),
                "write one, or leave it out",
            )


def _fits(value: object, kind: str, least: float = -math.inf, most: float = math.inf) -> bool:
    """Whether a value is of its kind and range. A template may only give the text of a number."""
    if kind == "texts":
        return isinstance(value, str) or (
            isinstance(value, Sequence) and all(isinstance(text, str) for text in value)
        )
    try:
        number = (
            math.nan
            if isinstance(value, bool) or not isinstance(value, int | float | str)
            else float(value)
        )
    except (ValueError, OverflowError):
        return False
    return (
        least <= number <= most
        and math.isfinite(number)
        and (kind == "number" or number.is_integer())
    )


def unknown_options(config: Mapping[str, object], known: Sequence[str]) -> tuple[str, ...]:
    """The options that neither the provider nor promptfoo has a use for, in the order of the config."""
    return tuple(name for name in config if _is_free(name, known))


def model_parameters(options: Mapping[str, object]) -> Mapping[str, object]:
    """What a test's ``options`` set for the model that answers it: as in promptfoo, they win over its ``config``."""
    if options:
        return {name: value for name, value in options.items() if name in TEST_PARAMETERS}
    return {}


def is_option_name(name: str) -> bool:
    """Whether the name is that of an option, or says where a question goes: beside `config`, it stands in the wrong place."""
    return name in PROMPTFOOS or name in PARAMETERS or bool(_WAY.search(name))


def _is_free(name: str, known: Sequence[str]) -> bool:
    return name not in known and name not in PROMPTFOOS


def _mistakes(
    spec: ProviderSpec, build: Build, known: Sequence[str] | None, unsupported: NamedTexts
) -> Iterator[Mistake]:
    if known is None:  # a provider that says nothing about its options
        return
    for name in _MAPPINGS:
        if name in known and not isinstance(spec.config.get(name) or {}, Mapping):
            yield Mistake(
                f"`{name}` of `{spec.id}` is not a mapping",
                _place(spec, name),
                "write `name: text` below it, a line each",
            )
    for name, value in spec.config.items():
        if name in unsupported:
            yield Mistake(
                f"`{name}` of `{spec.id}` is not supported", _place(spec, name), unsupported[name]
            )
        elif (
            name in _TOOLS
            and name not in known
            and (value.get("enabled", value) if isinstance(value, Mapping) else value)
        ):
            what = f"`{name}` of `{spec.id}` gives the model something that gradegate lacks, so a different answer would be graded"
            yield Mistake(
                what,
                _place(spec, name),
                "remove it; or grade answers made elsewhere (`gradegate cases`, `gradegate run --answers`)",
            )
        elif _is_free(name, known) and name not in PARAMETERS:
            likely = near_miss(name, known)
            if (
                likely
                and likely in getattr(build, "in_id", ())
                and (split_id(spec.id) or ("", ""))[1]
            ):
                continue  # the id says it, so that neither is read
            if likely or _WAY.search(name):
                listed = (
                    "its options are " + ", ".join(sorted(set(known)))
                    if known
                    else "it takes no options"
                )
                what = f"`{spec.id}` has no option `{name}`"
                yield Mistake(
                    what, _place(spec, name), f'did you mean "{likely}"?' if likely else listed
                )


ELSEWHERE = (
    "run it in a job of its own and have its answers graded: `gradegate cases` writes what to ask, "
    "`gradegate run --answers FILE` grades what came of it"
)
COMPATIBLE = "openai:chat:MODEL with `apiBaseUrl` and `apiKeyEnvar`"
_UNKNOWN = table("providers.api", "unknown_ids.yaml")
# The first parts of ids: what is behind them, and what to do.
_FAMILIES = {
    family: (entry["is"], entry["do"])
    for entry in _UNKNOWN["families"]
    for family in entry["ids"].split()
}
# The second parts of ids of vendors that are served, as patterns.
_KINDS = [
    (pattern, (entry["is"], entry["do"]))
    for entry in _UNKNOWN["kinds"]
    for pattern in entry["patterns"].split()
]
_RED, _MEDIA, _VECTORS = (tuple(_UNKNOWN["special"][kind]) for kind in ("red", "media", "vectors"))
# Options of its gateway, as most vendors name them
ADALINE = _UNKNOWN["adaline"]
_VENDORS = _UNKNOWN["vendors"]  # names under which people look for a vendor
_CLOUDS = frozenset({"bedrock", "vertex"})
_MEDIA_VENDORS = frozenset({"openai", "azure", "google", "vertex"})

_WITH_COMMAS = frozenset({"exec", "file", "python", "javascript", "http", "https", "scripted"})
_ADDRESS = re.compile(
    r"[a-z][a-z0-9+.-]*://|(localhost|(\d{1,3}\.){3}\d{1,3}|[\w-]+(\.[\w-]+)+)(:\d+)?/",
    re.IGNORECASE,
)
_HOST = re.compile(r"(localhost|(\d{1,3}\.){3}\d{1,3}|[\w-]+(\.[\w-]+)*):\d{2,5}$", re.IGNORECASE)
_SCHEME = re.compile(r"(https?)(?:/+|:/)(?=\w)", re.IGNORECASE)  # of an address with a sign too few
_TAG = re.compile(r"\d+(\.\d+)?b\b.*|latest", re.IGNORECASE)
PLACEHOLDER = "MODEL"  # where no model is named yet: whichever it was would be retired one day
ANY = (
    f"write VENDOR:MODEL, such as openai:chat:MODEL; any server with OpenAI's API is {COMPATIBLE}, "
    "any application is `http` with `url`; docs/providers.md has them all"
)


def check_id(spec: ProviderSpec) -> None:
    """Raises ConfigError for an id that is nothing gradegate asks: an agent, a voice, a cloud, two in one, a slip of the pen."""
    if spec.id.rpartition(":")[2] == PLACEHOLDER:
        cure = f"write in place of {PLACEHOLDER} the name of a model, as its vendor lists it"
        raise ConfigError.at(f"`{spec.id}` has no model name yet", spec.origin, cure)
    # Ids with commas between them; a command or an address may have commas of its own.
    ids = [part.strip() for part in spec.id.split(",")]
    served = [split_id(part) for part in ids if ":" in part]
    if len(served) > 1 and all(parts and parts[0] not in _WITH_COMMAS for parts in served):
        cure = "name each model separately: in a list of the config, graders as <--grader KIND=ID>"
        raise ConfigError.at(f"`{spec.id}` names {len(ids)} models in one id", spec.origin, cure)
    if found := _slip(spec.id) or _known(spec.id):
        raise ConfigError.at(f"`{spec.id}` {found[0]}", spec.origin, found[1])


def _slip(provider_id: str) -> tuple[str, str] | None:
    """A near miss of a form of its vendor, such as ``openai:chatt:MODEL``, which would else be taken for a model's name."""
    if scheme := _SCHEME.match(provider_id):
        return "is no address", f"write {scheme[1].lower()}://{provider_id[scheme.end() :]}"
    vendor, _, rest = provider_id.partition(":")
    kind, colon, model = rest.partition(":")
    served = split_id(provider_id)
    if not colon or served is None or served[0] != vendor or vendor in _WITH_COMMAS:
        return None
    forms = [form.partition(":")[2] for form in _forms(vendor)]
    meant = near_miss(kind, filter(None, forms)) if kind not in forms else ""
    if meant:
        return f"has no form `{vendor}:{kind}`", f'did you mean "{vendor}:{meant}:{model}"?'
    return None


def _known(provider_id: str) -> tuple[str, str] | None:
    first, _, rest = provider_id.partition(":")
    kind = rest.partition(":")[0]
    served = split_id(provider_id)
    if served is None and first in _FAMILIES:
        return _RED if provider_id.startswith("promptfoo:redteam") else _FAMILIES[first]
    # It is served, or nobody knows the vendor
    if served[0] != first if served else not _forms(first):
        return None
    if first in _MEDIA_VENDORS and any(
        fnmatchcase(kind, pattern) for pattern in _UNKNOWN["media_models"]
    ):
        return _MEDIA
    if served and kind in getattr(PROVIDERS.find(served[0]), "kinds", ()):
        return None
    if first in _CLOUDS and kind in ("embedding", "embeddings"):
        return _VECTORS
    return next((found for pattern, found in _KINDS if fnmatchcase(kind, pattern)), None)


def _forms(vendor: str) -> list[str]:
    """The prefixes of a vendor that are served."""
    return [name for name in PROVIDERS.names() if name.partition(":")[0] == vendor]


def suggest_id(provider_id: str) -> str:
    """What to write in place of an id that nobody knows."""
    if _ADDRESS.match(provider_id) or _HOST.match(provider_id):
        url = provider_id if provider_id.lower().startswith(("http://", "https://")) else ""
        if not url and "://" in provider_id:
            return f"gradegate asks over HTTP: serve it, and write the id `http` with `url`; or {ELSEWHERE}"
        local = re.match(r"localhost|127\.|\d", provider_id)
        url = url or f"{'http' if local else 'https'}://{provider_id}"
        return f"an application: write {url} and a `body`; a server with OpenAI's API: openai:chat:MODEL with `apiBaseUrl: {url}`"
    first, colon, rest = provider_id.partition(":")
    removed = table("config", "removed.yaml")["providers"].get(first.lower())
    if removed:
        return str(removed)
    vendor = _VENDORS.get(first.lower())
    if vendor in _FAMILIES:
        return f"{vendor} {_FAMILIES[vendor][0]}: {_FAMILIES[vendor][1]}"
    if vendor and rest:
        return f"write {vendor}:{rest}"
    if forms := _forms(first):
        return "write one of " + ", ".join(f"{form}:MODEL" for form in forms)
    if whole := _respelt(provider_id):
        return f"write {whole}"
    owner, slash, model = provider_id.partition("/")
    if slash and model and not colon and PROVIDERS.find(owner.lower()):
        return f"write {owner.lower()}:{model}, or openrouter:{provider_id}"
    # `llama3.2:3b` is a model of Ollama's, and no vendor's
    tagged = _TAG.fullmatch(rest) is not None
    name = _model(provider_id) or _model(rest)
    vendors = (
        {known.split(":")[0] for known in PROVIDERS.names()}
        if (colon or not name) and not tagged
        else ()
    )
    meant = near_miss(first, vendors)
    if meant and rest and split_id(f"{meant}:{rest}") is None:
        return "write one of " + ", ".join(f"{form}:MODEL" for form in _forms(meant))
    if meant or name:
        return f'did you mean "{meant}{colon}{rest}"?' if meant else f"write {name}"
    return f"write openrouter:{provider_id}, or {COMPATIBLE}" if slash and not colon else ANY


def _respelt(provider_id: str) -> str:
    """An id with other signs than colons or in other case (``openai.chat.m``, ``gemini/m``, ``models/gemini-m``); else empty."""
    parts = re.split(r"[.:/-]", provider_id, maxsplit=2)
    form = ":".join(parts[:2]).lower()
    if len(parts) == 3 and parts[2] and form in PROVIDERS.names():
        return f"{form}:{parts[2]}"
    owner, slash, model = provider_id.partition("/")
    vendor = _VENDORS.get(owner.lower()) if slash else ""
    if vendor and vendor not in _FAMILIES:
        return f"{vendor}:{model}"
    return _model(model) if owner == "models" else ""


def _model(name: str) -> str:
    """The id of a model by its bare name; empty where the name says nothing."""
    lower = name.lower()
    return next(
        (f"{it['served']}:{name}" for it in _UNKNOWN["models"] if re.match(it["begins"], lower)), ""
    )
