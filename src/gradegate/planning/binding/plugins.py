"""Finds the plug-in and the model that the id of a provider means."""

from gradegate.core.provider_spec import NOTHING, ProviderSpec
from gradegate.errors import ConfigError
from gradegate.files.paths import runs_code
from gradegate.providers.api import options
from gradegate.providers.api.provider import PROVIDERS, Build, split_id
from gradegate.sandbox.repository_code import ALLOW_CODE, USE_ANSWERS
from gradegate.structs import replace

_AS_CODE = f"{USE_ANSWERS}; or name it as `file://x.py` or `exec: COMMAND`, and {ALLOW_CODE}"


def find_plugin(spec: ProviderSpec) -> tuple[Build, str]:
    """The plug-in that builds a provider of this id, and the model's name in the id.

    For ``openai:chat:gpt-5`` these are the plug-in of ``openai:chat``, and ``gpt-5``. Raises ConfigError if there is none.
    """
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


def resolve_gateway(spec: ProviderSpec) -> ProviderSpec:
    """The vendor's own model, if the id is ``adaline:VENDOR:KIND:MODEL``. Any other spec stays as it is.

    Adaline's gateway is a library that asks the vendor, so there is no server to send requests to.
    """
    gateway, *parts = spec.id.split(":", 3)
    if gateway != "adaline" or len(parts) < 3:
        return spec

    vendor, kind, model = parts
    model_id = ":".join(parts)
    if kind == "chat" and PROVIDERS.find(vendor):
        model_id = f"{vendor}:{model}"

    # Google's own options already have the names that Adaline uses.
    own_names = NOTHING if vendor in ("google", "vertex") else options.ADALINE
    config = {}
    for name, value in spec.config.items():
        config[own_names.get(name, name)] = value
    return replace(spec, id=model_id, label=spec.name, config=config)
