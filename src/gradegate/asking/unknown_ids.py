"""Provider ids that gradegate does not serve: what they are in promptfoo, and the nearest id that is served.

`unknown_ids.yaml` has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from gradegate.asking.provider import PROVIDERS, split_id
from gradegate.errors import ConfigError
from gradegate.files.document import table
from gradegate.registry import near
from gradegate.values.suite import ProviderSpec

ELSEWHERE = (
    "run it in a job of its own and have its answers graded: `gradegate cases` writes what to ask, "
    "`gradegate run --answers FILE` grades what came of it"
)
COMPATIBLE = "openai:chat:MODEL with `apiBaseUrl` and `apiKeyEnvar`"
_TABLE = table("asking", "unknown_ids.yaml")
# The first parts of ids: what is behind them, and what to do.
_FAMILIES = {name: (entry["is"], entry["do"]) for entry in _TABLE["families"] for name in entry["ids"].split()}
# The second parts of ids of vendors that are served, as patterns.
_KINDS = [(pattern, (entry["is"], entry["do"])) for entry in _TABLE["kinds"] for pattern in entry["patterns"].split()]
_RED, _MEDIA, _VECTORS = (tuple(_TABLE["special"][name]) for name in ("red", "media", "vectors"))
ADALINE: Mapping[str, str] = _TABLE["adaline"]  # options of its gateway, as most vendors name them
_VENDORS: Mapping[str, str] = _TABLE["vendors"]  # names under which people look for a vendor
_CLOUDS = frozenset({"bedrock", "vertex"})
_MEDIA_VENDORS = frozenset({"openai", "azure", "google", "vertex"})

_WITH_COMMAS = frozenset({"exec", "file", "python", "javascript", "http", "https", "scripted"})
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|(localhost|(\d{1,3}\.){3}\d{1,3}|[\w-]+(\.[\w-]+)+)(:\d+)?/", re.IGNORECASE)
_HOST = re.compile(r"(localhost|(\d{1,3}\.){3}\d{1,3}|[\w-]+(\.[\w-]+)*):\d{2,5}$", re.IGNORECASE)
_SCHEME = re.compile(r"(https?)(?:/+|:/)(?=\w)", re.IGNORECASE)  # of an address with a sign too few
_TAG = re.compile(r"\d+(\.\d+)?b\b.*|latest", re.IGNORECASE)
PLACEHOLDER = "MODEL"  # where no model is named yet: whichever it was would be retired one day
ANY = (
    f"write VENDOR:MODEL, such as openai:chat:MODEL; any server with OpenAI's API is {COMPATIBLE}, "
    "any application is `http` with `url`; `gradegate list` has them all"
)


def check(spec: ProviderSpec) -> None:
    """Raises ConfigError for an id that is nothing gradegate asks: an agent, a voice, a cloud, two in one, a slip of the pen."""
    if spec.id.rpartition(":")[2] == PLACEHOLDER:
        cure = f"write in place of {PLACEHOLDER} the name of a model, as its vendor lists it"
        raise ConfigError.at(f"`{spec.id}` has no model name yet", spec.origin, cure)
    # Ids with commas between them; a command or an address may have commas of its own.
    ids = [part.strip() for part in spec.id.split(",")]
    served = [split_id(part) for part in ids if ":" in part]
    if len(served) > 1 and all(parts and parts[0] not in _WITH_COMMAS for parts in served):
        cure = "name each model separately: in a list of the config, by <--provider ID> each, graders as <--grader KIND=ID>"
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
    meant = near(kind, filter(None, forms)) if kind not in forms else ""
    return (f"has no form `{vendor}:{kind}`", f'did you mean "{vendor}:{meant}:{model}"?') if meant else None


def _known(provider_id: str) -> tuple[str, str] | None:
    first, _, rest = provider_id.partition(":")
    kind, served = rest.partition(":")[0], split_id(provider_id)
    if served is None and first in _FAMILIES:
        return _RED if provider_id.startswith("promptfoo:redteam") else _FAMILIES[first]
    if served[0] != first if served else not _forms(first):  # it is served, or nobody knows the vendor
        return None
    if first in _MEDIA_VENDORS and any(fnmatchcase(kind, pattern) for pattern in _TABLE["media_models"]):
        return _MEDIA
    if served and kind in getattr(PROVIDERS.find(served[0]), "kinds", ()):
        return None
    if first in _CLOUDS and kind in ("embedding", "embeddings"):
        return _VECTORS
    return next((found for pattern, found in _KINDS if fnmatchcase(kind, pattern)), None)


def _forms(vendor: str) -> list[str]:
    """The prefixes of a vendor that are served."""
    return [name for name in PROVIDERS.names() if name.partition(":")[0] == vendor]


def nearest(provider_id: str) -> str:
    """What to write in place of an id that nobody knows."""
    if _ADDRESS.match(provider_id) or _HOST.match(provider_id):
        url = provider_id if provider_id.lower().startswith(("http://", "https://")) else ""
        if not url and "://" in provider_id:
            return f"gradegate asks over HTTP: serve it, and write the id `http` with `url`; or {ELSEWHERE}"
        local = re.match(r"localhost|127\.|\d", provider_id)
        url = url or f"{'http' if local else 'https'}://{provider_id}"
        return f"an application: write {url} and a `body`; a server with OpenAI's API: openai:chat:MODEL with `apiBaseUrl: {url}`"
    first, colon, rest = provider_id.partition(":")
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
    tagged = _TAG.fullmatch(rest) is not None  # `llama3.2:3b` is a model of Ollama's, and no vendor's
    name = _model(provider_id) or _model(rest)
    vendors = {known.split(":")[0] for known in PROVIDERS.names()} if (colon or not name) and not tagged else ()
    meant = near(first, vendors)
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
    return next((f"{it['served']}:{name}" for it in _TABLE["models"] if re.match(it["begins"], lower)), "")
