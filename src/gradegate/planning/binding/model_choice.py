"""Finds the plug-in and the model that an id means, and says what to write if a kind of model is missing."""

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
_GRADER_VARIABLES = {"prompt", "messages", "env"}  # what the templates of a grader may use
_AS_CODE = f"{USE_ANSWERS}; or name it as `file://x.py` or `exec: COMMAND`, and {ALLOW_CODE}"


def resolve_gateway(spec: ProviderSpec) -> ProviderSpec:
    """The vendor's model that ``adaline:VENDOR:KIND:MODEL`` names; any other spec stays as it is.

    Adaline's gateway is a library that asks the vendor, and no server.
    """
    gateway, *parts = spec.id.split(":", 3)
    if gateway != "adaline" or len(parts) < 3:
        return spec
    vendor, kind, model = parts
    model_id = ":".join(parts)
    if kind == "chat" and PROVIDERS.find(vendor):
        model_id = f"{vendor}:{model}"
    # Google's own options already have the names that Adaline uses.
    renamed = NOTHING if vendor in ("google", "vertex") else options.ADALINE
    config = {renamed.get(name, name): value for name, value in spec.config.items()}
    return replace(spec, id=model_id, label=spec.name, config=config)


def find_plugin(spec: ProviderSpec) -> tuple[Callable[..., Provider], str]:
    """The plug-in that makes a provider of this id, and the model's name in the id. Raises ConfigError if there is none."""
    options.check_id(spec)
    parts = split_id(spec.id)
    if parts is not None:
        prefix, model = parts
        build = PROVIDERS.find(prefix)
        if build is not None:
            return build, model
    if runs_code(spec.id):
        raise ConfigError.at(f"`{spec.id}` is code of the repository", spec.origin, _AS_CODE)
    raise ConfigError.at(f"no such provider `{spec.id}`", spec.origin, options.suggest_id(spec.id))


def self_contained(provider: Provider) -> Provider:
    """The grader itself. Raises ConfigError if its request asks for a variable that only targets get."""
    names = set[str]()
    for template in provider.templates:
        names |= variables_used(template)
    names -= _GRADER_VARIABLES
    if names:
        what = f"the grader `{provider.name}` asks for `{{{{{min(names)}}}}}`, but a grader gets no variables of a test"
        cure = "write {{prompt}}: it contains everything that the grader needs"
        raise ConfigError.at(what, provider.origin, cure)
    return provider


# Vendors that the beginning of a model's name tells.
_VENDORS = (
    (re.compile(r"(?:chat)?gpt-|o\d"), "openai:chat"),
    (re.compile(r"claude-"), "anthropic:messages"),
)


def model_of_slug(slug: str) -> str:
    """The id of a model that Aegis knows by a bare name, such as ``o4-mini``; empty if the name tells no vendor."""
    for names, vendor in _VENDORS:
        if names.match(slug):
            return f"{vendor}:{slug}"
    return ""


def how_to_serve(need: str, assertion: Assertion) -> str:
    """A cure: what to write if no level names a model of the kind."""
    slug = assertion.model_slug
    if slug:
        entry = f"{need}: PROVIDER:MODEL"
        option = f"{need}=PROVIDER:MODEL"
        if need == "text":
            entry = f"{slug}: openai:chat:{slug}"
            option = f"openai:chat:{slug}"
        return f"name its vendor: `graders: {{{entry}}}` in the file, or <--grader {option}>"
    example = _EXAMPLES[need]
    key = f"`defaultTest.options.provider: {{{need}: {example}}}`"
    return f"name a model with <--grader {need}={example}>, with {key}, or with `provider` of the assertion"


def how_to_add_kind(need: str, model: ProviderSpec) -> str:
    """A cure: what to write if the named model is of another kind; an example of the same vendor if that has the kind."""
    example = _EXAMPLES[need]
    vendor = model.id.partition(":")[0]
    if need == "embedding" and _has_embeddings(vendor):
        example = f"{vendor}:embedding:MODEL"
    same_config = ""
    if model.config.get("apiBaseUrl") or model.config.get("apiHost"):
        same_config = ", with the same `config`"
    option = f"<--grader text={model.id},{need}={example}>"
    return f"name one for it: `provider: {{text: ..., {need}: ...}}`{same_config}, or {option}"


def _has_embeddings(vendor: str) -> bool:
    if PROVIDERS.find(f"{vendor}:embedding"):
        return True
    return bool(getattr(PROVIDERS.find(vendor), "embeds", False))
