"""Checks the options and the id of a provider: a typing mistake must not change a run in silence.

One rule for the options of all providers. An option that the provider knows is used. One that only promptfoo uses has no
effect. Of the rest, an option that is nearly a known one is a mistake. So is one that says where a request goes or with which key:
without effect, the request would go elsewhere than the config means. Anything else the vendor may know. Services with open
parameters are sent it; others are not, and a note says so.
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

_TABLE = table("providers.api", "options.yaml")
_TOOLS = frozenset(_TABLE["tools"].split())
PARAMETERS = frozenset(_TABLE["parameters"].split())
PROMPTFOOS = frozenset(_TABLE["promptfoos"].split()) | _TOOLS
# Of the parameters, what `options` of a test may contain: its own metadata are no option.
TEST_PARAMETERS = PARAMETERS - {"metadata"}
# Options that contain options
_GROUPS = (
    "generationConfig",
    "inferenceConfig",
    "interfaceConfig",
    "textGenerationConfig",
    "options",
)
_MAPPINGS = ("headers", "queryParams", "passthrough")  # what is written below them is read by name
_KIND_NAMES = {
    "number": "a number",
    "integer": "a whole number",
    "texts": "a text or a list of texts",
}
# In names of options that say where a request goes, or with which key
_ACCESS_NAME = re.compile(
    r"url|host|endpoint|proxy|api_?key|token$|secret|password|credential|authorization",
    re.IGNORECASE,
)


def _value_forms(key: str) -> dict[str, str]:
    """The form of each option in a part of the table, such as ``number 0 2``."""
    return {name: form for form, names in _TABLE[key].items() for name in names.split()}


_VALUES = _value_forms("values")
_SERVERS = _value_forms("servers")


# --- options ----------------------------------------------------------------------------------------------------


def check_options(spec: ProviderSpec, build: Build) -> None:
    """Raises ConfigError for what is nearly a known option, for a wrong value, and for what would lead a request elsewhere."""
    known_options = getattr(build, "options", None)
    if known_options is None:  # a provider that says nothing about its options
        return
    mistakes = [
        *_mapping_mistakes(spec, known_options),
        *_name_mistakes(spec, known_options, build),
        *_value_mistakes(spec, known_options, build),
    ]
    if mistakes:
        raise ConfigError(*mistakes)


def unused_option_notes(spec: ProviderSpec, build: Build) -> tuple[Note, ...]:
    """Notes on options that are not sent, though they might change something."""
    known_options = getattr(build, "options", None)
    if known_options is None or getattr(build, "takes_any_option", False):
        return ()
    cure = (
        "; `passthrough` sends further options to the vendor"
        if "passthrough" in known_options
        else ""
    )
    return tuple(
        Note(f"`{spec.id}` knows no option `{name}`, so it has no effect{cure}", _line(spec, name))
        for name in unknown_options(spec.config, known_options)
        if name not in PARAMETERS
    )


def unknown_options(config: Mapping[str, object], known_options: Sequence[str]) -> tuple[str, ...]:
    """The options that neither the provider nor promptfoo uses, in the order of the config."""
    return tuple(name for name in config if name not in known_options and name not in PROMPTFOOS)


def model_parameters(options: Mapping[str, object]) -> Mapping[str, object]:
    """What a test's ``options`` set for the model that answers it: as in promptfoo, they win over its ``config``."""
    if options:
        return {name: value for name, value in options.items() if name in TEST_PARAMETERS}
    return {}


def is_option_name(name: str) -> bool:
    """Whether a key beside `config` should stand in it: it names an option, or says where a request goes."""
    return name in PROMPTFOOS or name in PARAMETERS or bool(_ACCESS_NAME.search(name))


def _line(spec: ProviderSpec, option: str) -> Origin:
    """The line of an option, else that of its provider."""
    place = spec.places.get(option, spec.origin)
    return place if place.line else spec.origin


def _mapping_mistakes(spec: ProviderSpec, known_options: Sequence[str]) -> Iterator[Mistake]:
    """Options that have to be mappings, and are something else."""
    for name in _MAPPINGS:
        if name in known_options and not isinstance(spec.config.get(name) or {}, dict):
            yield Mistake(
                f"`{name}` of `{spec.id}` is not a mapping",
                _line(spec, name),
                "write `name: text` below it, a line each",
            )


def _name_mistakes(
    spec: ProviderSpec, known_options: Sequence[str], build: Build
) -> Iterator[Mistake]:
    """Options that are not supported, give the model a tool, have nearly a known name, or say where a request goes."""
    unsupported = getattr(build, "unsupported", {})
    model = (split_id(spec.id) or ("", ""))[1]
    for name, value in spec.config.items():
        if name in unsupported:
            problem = f"`{name}` of `{spec.id}` is not supported"
            yield Mistake(problem, _line(spec, name), unsupported[name])
        elif name in known_options:
            continue
        elif name in _TOOLS:
            is_enabled = value.get("enabled", value) if isinstance(value, dict) else value
            if is_enabled:
                yield Mistake(
                    f"`{name}` of `{spec.id}` gives the model something that gradegate lacks, so a different answer would be graded",
                    _line(spec, name),
                    "remove it; or grade answers made elsewhere (`gradegate cases`, `gradegate run --answers`)",
                )
        elif name not in PROMPTFOOS and name not in PARAMETERS:
            likely = near_miss(name, known_options)
            if likely and model and likely in getattr(build, "in_id", ()):
                continue  # the id says it, so neither option is read
            if likely:
                cure = f'did you mean "{likely}"?'
            elif not _ACCESS_NAME.search(name):
                continue
            elif known_options:
                cure = "its options are " + ", ".join(sorted(set(known_options)))
            else:
                cure = "it takes no options"
            yield Mistake(f"`{spec.id}` has no option `{name}`", _line(spec, name), cure)


def _value_mistakes(
    spec: ProviderSpec, known_options: Sequence[str], build: Build
) -> Iterator[Mistake]:
    """Values that the vendor's API does not take; a server of one's own may take more, but nothing of another kind."""
    forms = dict(_VALUES)
    if not getattr(build, "bounded", True):
        forms |= _SERVERS
    forms |= getattr(build, "values", {})

    written = [*spec.config.items()]
    for group in _GROUPS:
        inner = spec.config.get(group)
        if isinstance(inner, dict):
            written += [(f"{group}.{name}", value) for name, value in inner.items()]

    for path, value in written:
        option = path.partition(".")[0]
        name = path.rpartition(".")[2]
        if option not in known_options or name not in forms or value is None:
            continue
        kind, *limits = forms[name].split()
        if _has_form(value, kind, *map(float, limits)):
            continue
        form = _KIND_NAMES[kind]
        for word, limit in zip(("from", "to"), limits, strict=False):
            form += f" {word} {limit}"
        problem = f"`{path}` of `{spec.id}` is not {form}"
        yield Mistake(problem, _line(spec, option), "write one, or leave it out")


def _has_form(value: object, kind: str, least: float = -math.inf, most: float = math.inf) -> bool:
    """Whether a value has a kind and a range. A template can only give the text of a number."""
    if kind == "texts":
        if isinstance(value, str):
            return True
        return isinstance(value, Sequence) and all(isinstance(text, str) for text in value)

    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return False
    is_in_range = least <= number <= most and math.isfinite(number)
    return is_in_range and (kind == "number" or number.is_integer())


# --- ids --------------------------------------------------------------------------------------------------------


ELSEWHERE = (
    "run it in a job of its own and have its answers graded: `gradegate cases` writes what to ask, "
    "`gradegate run --answers FILE` grades what came of it"
)
COMPATIBLE = "openai:chat:MODEL with `apiBaseUrl` and `apiKeyEnvar`"
PLACEHOLDER = "MODEL"  # where no model is named yet: whichever it was would be retired one day
ANY = (
    f"write VENDOR:MODEL, such as openai:chat:MODEL; any server with OpenAI's API is {COMPATIBLE}, "
    "any application is `http` with `url`; docs/providers.md has them all"
)
_UNKNOWN = table("providers.api", "unknown_ids.yaml")
_Advice = tuple[str, str]  # what is behind an id, and what to do
# Advice by the first part of an id
_FAMILIES: dict[str, _Advice] = {
    family: (entry["is"], entry["do"])
    for entry in _UNKNOWN["families"]
    for family in entry["ids"].split()
}
# Advice by patterns for the second part of an id, for vendors that are served
_KINDS: list[tuple[str, _Advice]] = [
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
# The beginning of an address with a sign too few, such as `https//`
_BROKEN_SCHEME = re.compile(r"(https?)(?:/+|:/)(?=\w)", re.IGNORECASE)
_TAG = re.compile(r"\d+(\.\d+)?b\b.*|latest", re.IGNORECASE)


def check_id(spec: ProviderSpec) -> None:
    """Raises ConfigError for an id that gradegate cannot ask: an agent, a voice, a cloud, two ids in one, a typing mistake."""
    if spec.id.rpartition(":")[2] == PLACEHOLDER:
        cure = f"write in place of {PLACEHOLDER} the name of a model, as its vendor lists it"
        raise ConfigError.at(f"`{spec.id}` has no model name yet", spec.origin, cure)

    # Several ids with commas between them. A command or an address may have commas of its own.
    ids = [part.strip() for part in spec.id.split(",")]
    prefixes = [split_id(part) for part in ids if ":" in part]
    if len(prefixes) > 1 and all(parts and parts[0] not in _WITH_COMMAS for parts in prefixes):
        cure = "name each model separately: in a list of the config, graders as <--grader KIND=ID>"
        raise ConfigError.at(f"`{spec.id}` names {len(ids)} models in one id", spec.origin, cure)

    advice = _advise_on_form(spec.id) or _advise_on_unserved(spec.id)
    if advice:
        raise ConfigError.at(f"`{spec.id}` {advice[0]}", spec.origin, advice[1])


def _advise_on_form(provider_id: str) -> _Advice | None:
    """Advice on an address such as ``https//host``, and on a near miss of a form, such as ``openai:chatt:MODEL``.

    Without it, the near miss would count as a model's name.
    """
    broken_scheme = _BROKEN_SCHEME.match(provider_id)
    if broken_scheme:
        address = provider_id[broken_scheme.end() :]
        return "is no address", f"write {broken_scheme[1].lower()}://{address}"

    vendor, _, rest = provider_id.partition(":")
    kind, colon, model = rest.partition(":")
    parts = split_id(provider_id)
    if not colon or parts is None or parts[0] != vendor or vendor in _WITH_COMMAS:
        return None
    kinds = [prefix.partition(":")[2] for prefix in _prefixes_of(vendor)]
    likely = near_miss(kind, filter(None, kinds)) if kind not in kinds else ""
    if likely:
        return f"has no form `{vendor}:{kind}`", f'did you mean "{vendor}:{likely}:{model}"?'
    return None


def _advise_on_unserved(provider_id: str) -> _Advice | None:
    """Advice on an id of promptfoo's that gradegate knows and does not serve; None for any other id."""
    vendor, _, rest = provider_id.partition(":")
    kind = rest.partition(":")[0]
    parts = split_id(provider_id)
    if parts is None:
        if vendor in _FAMILIES:
            return _RED if provider_id.startswith("promptfoo:redteam") else _FAMILIES[vendor]
        if not _prefixes_of(vendor):
            return None  # nobody knows the vendor
    elif parts[0] != vendor:
        return None  # a longer prefix serves it

    if vendor in _MEDIA_VENDORS:
        for pattern in _UNKNOWN["media_models"]:
            if fnmatchcase(kind, pattern):
                return _MEDIA
    if parts and kind in getattr(PROVIDERS.find(parts[0]), "kinds", ()):
        return None
    if vendor in _CLOUDS and kind in ("embedding", "embeddings"):
        return _VECTORS
    return next((advice for pattern, advice in _KINDS if fnmatchcase(kind, pattern)), None)


def _prefixes_of(vendor: str) -> list[str]:
    """The prefixes of a vendor that are served."""
    return [name for name in PROVIDERS.names() if name.partition(":")[0] == vendor]


def suggest_id(provider_id: str) -> str:
    """What to write in place of an id that nobody knows."""
    if _ADDRESS.match(provider_id) or _HOST.match(provider_id):
        return _suggest_for_address(provider_id)

    vendor, colon, rest = provider_id.partition(":")
    removed = table("config", "removed.yaml")["providers"].get(vendor.lower())
    if removed:
        return str(removed)

    # People look for some vendors under other names.
    known_vendor = _VENDORS.get(vendor.lower())
    if known_vendor in _FAMILIES:
        problem, cure = _FAMILIES[known_vendor]
        return f"{known_vendor} {problem}: {cure}"
    if known_vendor and rest:
        return f"write {known_vendor}:{rest}"
    prefixes = _prefixes_of(vendor)
    if prefixes:
        return _suggest_prefixes(prefixes)
    respelled = _respell_id(provider_id)
    if respelled:
        return f"write {respelled}"
    owner, slash, model = provider_id.partition("/")
    if slash and model and not colon and PROVIDERS.find(owner.lower()):
        return f"write {owner.lower()}:{model}, or openrouter:{provider_id}"

    model_id = _id_of_model(provider_id) or _id_of_model(rest)
    likely = ""
    # `llama3.2:3b` is a model of Ollama's, and no vendor's
    if (colon or not model_id) and not _TAG.fullmatch(rest):
        likely = near_miss(vendor, {name.split(":")[0] for name in PROVIDERS.names()})
    if likely:
        if rest and split_id(f"{likely}:{rest}") is None:
            return _suggest_prefixes(_prefixes_of(likely))
        return f'did you mean "{likely}{colon}{rest}"?'
    if model_id:
        return f"write {model_id}"
    return f"write openrouter:{provider_id}, or {COMPATIBLE}" if slash and not colon else ANY


def _suggest_prefixes(prefixes: Sequence[str]) -> str:
    return "write one of " + ", ".join(f"{prefix}:MODEL" for prefix in prefixes)


def _suggest_for_address(address: str) -> str:
    """What to write for an application, or a server, at an address."""
    url = address
    if not address.lower().startswith(("http://", "https://")):
        if "://" in address:
            return f"gradegate asks over HTTP: serve it, and write the id `http` with `url`; or {ELSEWHERE}"
        is_local = re.match(r"localhost|127\.|\d", address)
        url = f"http://{address}" if is_local else f"https://{address}"
    return f"an application: write {url} and a `body`; a server with OpenAI's API: openai:chat:MODEL with `apiBaseUrl: {url}`"


def _respell_id(provider_id: str) -> str:
    """An id for one with other signs than colons or in other case (``openai.chat.m``, ``gemini/m``, ``models/gemini-m``); else empty."""
    parts = re.split(r"[.:/-]", provider_id, maxsplit=2)
    prefix = ":".join(parts[:2]).lower()
    if len(parts) == 3 and parts[2] and prefix in PROVIDERS.names():
        return f"{prefix}:{parts[2]}"
    owner, slash, model = provider_id.partition("/")
    vendor = _VENDORS.get(owner.lower()) if slash else ""
    if vendor and vendor not in _FAMILIES:
        return f"{vendor}:{model}"
    return _id_of_model(model) if owner == "models" else ""


def _id_of_model(name: str) -> str:
    """The id of a model by its bare name; empty if the name says nothing."""
    for entry in _UNKNOWN["models"]:
        if re.match(entry["begins"], name.lower()):
            return f"{entry['served']}:{name}"
    return ""
