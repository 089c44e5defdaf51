"""Reads providers and graders, and fills in what they show of the environment."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import ValidationError

from gradegate.config.code import is_script, read_code
from gradegate.config.dialect import Source
from gradegate.config.key_mistakes import validation_mistakes
from gradegate.config.keys import ProviderKeys
from gradegate.config.unknown_keys import without_idle_keys
from gradegate.core.provider_spec import KINDS, NOTHING, Graders, ProviderSpec
from gradegate.core.suite import Idle
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.providers.api.provider import PROVIDERS
from gradegate.security.environment import HEADER, MODEL, STAND_IN, TEXT, Environment, VariableUse
from gradegate.security.secrets import belongs_to_runner, is_model_name
from gradegate.structs import JsonObject, replace
from gradegate.templating.template import TemplateError, env_variables, render_env

_WRONG_TYPE = "a provider is a text or a mapping with an `id`"
_MAX_OPTIONS = 6  # options that a cure names
# People write the name of a model under these keys.
_MODEL_KEYS = ("model", "modelName", "model_name", "modelId", "name", "provider")
# Options of `http:` that may be scripts.
_SCRIPTS = ("transformResponse", "responseParser", "transformRequest", "requestTransform")


def read_providers(
    written: Any, source: Source, origin: Origin, form: str = "%s"
) -> list[ProviderSpec]:
    """Read a string, a mapping, ``{ID: {...}}``, ``file://providers.yaml``, or a list of these. Raises ConfigError.

    A cure shows a mapping as ``form % mapping``.
    """
    reference = _file_reference(written)
    if reference:
        file = _load_file(reference, written, source, origin)
        return read_providers(file.content, source, file.origin)
    if isinstance(written, str):
        return [with_environment(ProviderSpec(written, origin=origin), source.env)]
    if isinstance(written, list):
        specs = []
        mistakes: list[Mistake] = []
        for item in written:
            with gather_mistakes(mistakes):
                specs += read_providers(item, source, _origin_of(item, origin), form)
        if mistakes:
            raise ConfigError(*dict.fromkeys(mistakes))
        return specs
    if isinstance(written, Mapping):
        return [_read_mapping(written, source, _origin_of(written, origin), form)]
    raise ConfigError.at(_WRONG_TYPE, origin, "write e.g. openai:chat:MODEL")


def read_targets(written: Any, source: Source, origin: Origin) -> list[ProviderSpec]:
    """Read targets. If no target is asked, whatever the config names is only a label. Raises ConfigError."""
    if source.asks_targets:
        return read_providers(written, source, origin)
    return _read_labels(written, source, origin)


def read_graders(written: Any, source: Source, origin: Origin) -> Graders:
    """Read one provider for every kind, or a mapping by kind: text, embedding, classification, moderation.

    Raises ConfigError.
    """
    if not written or not source.asks_graders:
        return NOTHING
    if isinstance(written, list) and len(written) != 1:
        raise ConfigError.at("a grader is one provider, not several", origin, "name one")
    if isinstance(written, Mapping):
        if "id" not in written and any(kind in written for kind in KINDS):
            return _read_graders_by_kind(written, source, origin)
        mistake = _missing_id(_with_id(written), _origin_of(written, origin), "provider: %s")
        if mistake:
            # It counts only if this provider grades something. Otherwise a note says that the provider is ignored.
            source.idle.append(Idle("provider without an id", mistake.origin or origin))
            return {"*": ProviderSpec("", wrong=mistake)}
    return {"*": read_providers(written, source, origin, "provider: %s")[0]}


def _read_graders_by_kind(written: JsonObject, source: Source, origin: Origin) -> Graders:
    for key in written:
        if key not in KINDS:
            what = f"unknown kind of grader `{key}`"
            cure = f"the kinds are {', '.join(KINDS)}"
            raise ConfigError.at(what, _origin_of(written, origin), cure)
    graders = {}
    for kind, item in written.items():
        if item:
            form = f"provider: {{{kind}: %s}}"
            graders[kind] = read_providers(item, source, _origin_of(item, origin), form)[0]
    return graders


def _origin_of(written: Any, origin: Origin) -> Origin:
    """The place of a value; that of the value around it if its own line is unknown."""
    return Origin(origin.file, getattr(written, "line", 0) or origin.line)


# --- a provider as a mapping ------------------------------------------------------------------------------


def _read_mapping(written: JsonObject, source: Source, origin: Origin, form: str) -> ProviderSpec:
    written = _with_id(written)
    mistake = _missing_id(written, origin, form)
    if mistake:
        raise ConfigError(mistake)
    if "transformResponse" in written:
        what = "`transformResponse` belongs into `config` of the provider"
        raise ConfigError.at(what, origin, "move it there")

    relevant = without_idle_keys(ProviderKeys, written, origin.file, source.idle)
    relevant = {key: value for key, value in relevant.items() if value is not None}
    try:
        keys = ProviderKeys.model_validate(relevant)
    except ValidationError as e:
        raise ConfigError(*validation_mistakes(e, written, origin.file, (), ProviderKeys)) from e

    transform = read_code(keys.transform, source, origin)
    config = dict(keys.config)
    for key in _SCRIPTS:
        script = str(config.get(key, ""))
        if is_script(script):
            config[key] = read_code(script, source, origin, only_engine=True)
    spec = ProviderSpec(
        id=keys.id,
        label=keys.label,
        config=config,
        prompts=tuple(keys.prompts or ()),
        transform=transform,
        env=keys.env,
        origin=origin,
        places={
            key: document.origin_of(origin.file, written, "config", key) for key in keys.config
        },
    )
    return with_environment(spec, source.env)


def _with_id(written: JsonObject, is_label: bool = False) -> JsonObject:
    """``{ID: {...}}`` as a mapping with an ``id``.

    The name of a vendor with options of its model is no id, unless the provider is only a label.
    """
    if "id" in written or len(written) != 1:
        return written
    ((provider_id, inner),) = written.items()
    names = ProviderKeys.model_fields.keys()
    if not isinstance(inner, Mapping) or provider_id in names:
        return written
    if is_label or ":" in provider_id or names >= inner.keys():
        written = document.at_line({"id": provider_id, **inner}, getattr(inner, "line", 0))
    return written


def _missing_id(written: JsonObject, origin: Origin, form: str) -> Mistake | None:
    """The mistake of a mapping without an id, with a cure that shows the mapping as it was probably meant."""
    if written.get("id") is not None:
        return None

    # `{anthropic: {modelName: ...}}`, or options of the model next to the keys of a provider.
    provider_id = "openai:chat:MODEL"
    vendor, inner = next(iter(written.items()), ("", None))
    vendors = {name.partition(":")[0] for name in PROVIDERS.names()}
    if len(written) == 1 and isinstance(inner, Mapping) and vendor in vendors:
        provider_id = f"{vendor}:MODEL"
        options = [key for key in inner if key not in _MODEL_KEYS]
    else:
        names = (*ProviderKeys.model_fields, *_MODEL_KEYS)
        options = [key for key in written if key not in names]
        config = written.get("config")
        if isinstance(config, Mapping):
            options += config

    # Values may be secret, so only names are shown.
    mapping = f"{{id: {provider_id}}}"
    if options:
        shown = [f"{key}: ..." for key in options[:_MAX_OPTIONS]]
        if len(options) > _MAX_OPTIONS:
            shown.append("...")
        mapping = f"{{id: {provider_id}, config: {{{', '.join(shown)}}}}}"
    what = "the provider has no `id`, so it names no model"
    return Mistake(what, origin, f"write `{form % mapping}`")


# --- what a provider shows of the environment -------------------------------------------------------------


_CANNOT_FILL = "the provider's config cannot be filled in"


def with_environment(spec: ProviderSpec, env: Environment) -> ProviderSpec:
    """Fill in what the templates of a provider show of the environment. Raises ConfigError.

    A provider that was filled in stays as it is.
    """
    missing = list(spec.missing)
    literals, drawn = read_env_block(spec.env, env, spec.origin, missing)
    drawn = {**drawn, **spec.drawn}
    env = env.with_literals(literals, drawn)

    provider_id = str(_fill_in(spec.id, env, spec.origin, missing))
    reads = set(spec.reads)
    sent = MODEL if is_model_name(provider_id) else TEXT
    reads.update(
        VariableUse(name, "id", sent) for name in variables_shown(spec.id, env, spec.origin)
    )
    for option, value in spec.config.items():
        if option == "headers" and isinstance(value, Mapping):
            for header, text in value.items():
                place = f"headers.{header}"
                names = variables_shown(text, env, spec.origin)
                reads.update(VariableUse(name, place, HEADER) for name in names)
        else:
            names = variables_shown(value, env, spec.origin)
            reads.update(VariableUse(name, option, TEXT) for name in names)
    return replace(
        spec,
        id=provider_id,
        config=_fill_in(spec.config, env, spec.origin, missing),
        env=literals,
        reads=frozenset(reads),
        drawn=drawn,
        missing=tuple(missing),
    )


def read_env_block(
    written: Mapping[str, str], env: Environment, origin: Origin, missing: list[Mistake]
) -> tuple[Mapping[str, str], Mapping[str, frozenset[str]]]:
    """Fill in the values of an ``env`` block. Returns them, and the variables that each of them shows.

    Variables that are not set are added to ``missing``. Raises ConfigError.
    """
    drawn = {}
    for name, text in written.items():
        variables = variables_shown(text, env, origin)
        if variables:
            drawn[name] = variables
    return _fill_in(written, env, origin, missing), drawn


def variables_shown(value: Any, env: Environment, origin: Origin) -> frozenset[str]:
    """The variables of the environment that the templates in a value give away. Raises ConfigError."""
    names = _find_names(value, env, origin)
    return frozenset(names.unset).union(*map(env.variables_behind, names.shown))


class _TemplateVariables(NamedTuple):
    """The variables that templates show, and those of them that are required and not set, sorted."""

    shown: frozenset[str]
    unset: list[str]


def _find_names(value: Any, env: Environment, origin: Origin) -> _TemplateVariables:
    """The variables in the templates of a value. Raises ConfigError."""
    try:
        shown, required = env_variables(value)
    except TemplateError as e:
        raise ConfigError.at(f"{_CANNOT_FILL}: {e}", origin, "correct the template") from e
    unset = [name for name in required if not env.read(name) and not belongs_to_runner(name)]
    return _TemplateVariables(shown, sorted(unset))


def _fill_in(value: Any, env: Environment, origin: Origin, missing: list[Mistake]) -> Any:
    """Fill in the templates of a value. The stand-in takes the place of a ``missing`` variable. Raises ConfigError."""
    names = _find_names(value, env, origin)
    for name in sorted(names.shown):
        if belongs_to_runner(name) and name not in env.literals:
            what = f"`{{{{ env.{name} }}}}` is the runner's own, which no config reads"
            raise ConfigError.at(what, origin, "remove it")
    for name in names.unset:
        cure = (
            f"set {name} in the workflow's `env:`, or write `{{{{ env.{name} | default('...') }}}}`"
        )
        missing.append(Mistake(f"`{{{{ env.{name} }}}}` is not set", origin, cure, name))
    if not names.shown:
        return value

    variables = dict.fromkeys(names.unset, STAND_IN)
    for name in names.shown:
        text = env.read(name)
        if text:
            variables[name] = text
    try:
        return render_env(value, variables)
    except TemplateError as e:
        raise ConfigError.at(f"{_CANNOT_FILL}: {e}", origin, "correct the template") from e


# --- files of providers -----------------------------------------------------------------------------------


class _File(NamedTuple):
    """The content of a file of providers, and its first line."""

    content: Any
    origin: Origin


def _file_reference(written: Any) -> str:
    """The file that a provider's id names: ``file://x.yaml`` or ``{id: file://x.yaml}``. Empty if it names none."""
    provider_id = str(written.get("id") if isinstance(written, Mapping) else written)
    is_file = provider_id.startswith("file://") and provider_id.endswith((".yaml", ".yml", ".json"))
    return provider_id if is_file else ""


def _load_file(reference: str, written: Any, source: Source, origin: Origin) -> _File:
    """Load the file that a provider names. Raises ConfigError."""
    if isinstance(written, Mapping) and len(written) > 1:
        key = min(str(key) for key in written if key != "id")
        what = f"`{key}` beside `id: {reference}` has no effect: the file defines the provider"
        raise ConfigError.at(what, _origin_of(written, origin), "write it into the file")
    name = source.name(reference, origin)
    content = document.read(source.read(reference, origin), name)
    for item in content if isinstance(content, list) else [content]:
        if _file_reference(item):
            what = f"`{reference}` names another file of providers"
            raise ConfigError.at(
                what, _origin_of(item, Origin(name, 1)), "write the providers into it"
            )
    return _File(content, Origin(name, 1))


# --- targets that are not asked ---------------------------------------------------------------------------


def _read_labels(written: Any, source: Source, origin: Origin) -> list[ProviderSpec]:
    """Read whatever a config names as a target, even code. Nothing is run, filled in or checked. Raises ConfigError."""
    reference = _file_reference(written)
    if reference:
        file = _load_file(reference, written, source, origin)
        return _read_labels(file.content, source, file.origin)
    if isinstance(written, str):
        return [ProviderSpec(written, origin=origin)]
    if isinstance(written, list):
        specs = []
        for item in written:
            specs += _read_labels(item, source, _origin_of(item, origin))
        return specs
    if isinstance(written, Mapping):
        return [_read_label(written, source, _origin_of(written, origin))]
    raise ConfigError.at(_WRONG_TYPE, origin, "write e.g. my-application")


def _read_label(written: JsonObject, source: Source, origin: Origin) -> ProviderSpec:
    fields = _with_id(written, is_label=True)
    if fields.get("transform"):
        source.idle.append(Idle("transform of a target that is not asked", origin))
    provider_id = fields.get("id") or fields.get("label")
    if not isinstance(provider_id, str):
        cure = "give it one, such as my-application"
        raise ConfigError.at("the provider has no `id`", origin, cure)

    config = fields.get("config")
    prompts = fields.get("prompts")
    if isinstance(prompts, str):
        prompts = [prompts]
    return ProviderSpec(
        id=provider_id,
        label=str(fields.get("label") or ""),
        config=config if isinstance(config, Mapping) else {},
        prompts=tuple(map(str, prompts)) if isinstance(prompts, list) else (),
        origin=origin,
    )
