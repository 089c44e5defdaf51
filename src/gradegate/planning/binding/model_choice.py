"""Chooses the model behind each target and grader, and says how to serve one that is missing."""

import re
from collections.abc import Callable

from gradegate.core.assertion import Assertion
from gradegate.core.provider_spec import NOTHING, ProviderSpec
from gradegate.errors import ConfigError
from gradegate.files.paths import runs_code
from gradegate.providers.api import options
from gradegate.providers.api.provider import PROVIDERS, Provider, split_id
from gradegate.sandbox.repository_code import ALLOW_CODE, USE_ANSWERS
from gradegate.structs import replace
from gradegate.templating.template import variables_used

# An id for each kind, as messages show it.
_EXAMPLES = {
    "text": "openai:chat:MODEL",
    "embedding": "openai:embedding:MODEL",
    "classification": "huggingface:text-classification:MODEL",
    "moderation": "openai:moderation",
}
_GIVEN = ("prompt", "messages", "env")  # what the templates of a grader are filled in with
_AS_CODE = f"{USE_ANSWERS}; or name it as `file://x.py` or `exec: COMMAND`, and {ALLOW_CODE}"


def behind(spec: ProviderSpec) -> ProviderSpec:
    """The vendor's model that ``adaline:VENDOR:KIND:MODEL`` names: Adaline's gateway is a library that asks it, and no server."""
    first, *rest = spec.id.split(":", 3)
    if first != "adaline" or len(rest) < 3:
        return spec
    vendor, kind, model = rest
    whole = f"{vendor}:{model}" if kind == "chat" and PROVIDERS.find(vendor) else ":".join(rest)
    # Google names them so itself.
    renamed = NOTHING if vendor in ("google", "vertex") else options.ADALINE
    config = {renamed.get(name, name): value for name, value in spec.config.items()}
    return replace(spec, id=whole, label=spec.name, config=config)


def maker(spec: ProviderSpec) -> tuple[Callable[..., Provider], str]:
    """What makes a provider of that id, and the model's name in it. Raises ConfigError where nothing does."""
    options.check_id(spec)
    parts = split_id(spec.id)
    build = PROVIDERS.find(parts[0]) if parts else None
    if parts is not None and build is not None:
        return build, parts[1]
    if runs_code(spec.id):
        raise ConfigError.at(f"`{spec.id}` is code of the repository", spec.origin, _AS_CODE)
    raise ConfigError.at(f"no such provider `{spec.id}`", spec.origin, options.nearest(spec.id))


def self_contained(provider: Provider) -> Provider:
    """The grader itself. Raises ConfigError for one whose request asks for a variable that only a target is given."""
    strange = sorted(frozenset().union(*map(variables_used, provider.templates)).difference(_GIVEN))
    if strange:
        what = f"the grader `{provider.name}` asks for `{{{{{strange[0]}}}}}`, but a grader gets no variables of a test"
        raise ConfigError.at(
            what, provider.origin, "write {{prompt}}: it contains everything that the grader needs"
        )
    return provider


# The vendors whose models are known by how their names begin.
_VENDORS = (
    (re.compile(r"(?:chat)?gpt-|o\d"), "openai:chat"),
    (re.compile(r"claude-"), "anthropic:messages"),
)


def model_of_slug(slug: str) -> str:
    """The id of a model that Aegis knows by a bare name, such as ``o4-mini``; empty where the name tells no vendor."""
    vendor = next((vendor for names, vendor in _VENDORS if names.match(slug)), "")
    return f"{vendor}:{slug}" if vendor else ""


def how_to_serve(need: str, spec: Assertion) -> str:
    """What to do where no level names a model of that kind."""
    slug = spec.model_slug
    if slug:
        entry, option = f"{need}: PROVIDER:MODEL", f"{need}=PROVIDER:MODEL"
        if need == "text":
            entry, option = f"{slug}: openai:chat:{slug}", f"openai:chat:{slug}"
        return f"name its vendor: `graders: {{{entry}}}` in the file, or <--grader {option}>"
    example = _EXAMPLES[need]
    key = f"`defaultTest.options.provider: {{{need}: {example}}}`"
    return f"name a model with <--grader {need}={example}>, with {key}, or with `provider` of the assertion"


def another(need: str, model: ProviderSpec) -> str:
    """What to do about a model that is named and of another kind: an id of the kind, at the same vendor where that has one."""
    vendor = model.id.partition(":")[0]
    embeds = need == "embedding" and (
        PROVIDERS.find(f"{vendor}:embedding") or getattr(PROVIDERS.find(vendor), "embeds", False)
    )
    pair = f"text={model.id},{need}={f'{vendor}:embedding:MODEL' if embeds else _EXAMPLES[need]}"
    same = ""
    if model.config.get("apiBaseUrl") or model.config.get("apiHost"):
        same = ", with the same `config`"
    return f"name one for it: `provider: {{text: ..., {need}: ...}}`{same}, or <--grader {pair}>"
