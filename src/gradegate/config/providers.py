"""Providers and graders as config files write them, for every dialect that names any."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from gradegate.config import code as scripts
from gradegate.config import unknown_keys
from gradegate.config.dialect import Source
from gradegate.config.key_mistakes import validation_mistakes
from gradegate.config.keys import ProviderKeys
from gradegate.core.provider_spec import KINDS, NOTHING, Graders, ProviderSpec
from gradegate.core.suite import Idle
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.providers.api.provider import PROVIDERS
from gradegate.security.environment import HEADER, MODEL, STAND_IN, TEXT, Environment, VariableUse
from gradegate.security.secrets import belongs_to_runner, is_model_name
from gradegate.structs import JsonObject, replace
from gradegate.templating.template import TemplateError, env_variables, render_env

_OPTIONS = 6  # that a cure names
_UNFILLED = "the provider's config cannot be filled in"
# Where people look for the name of a model.
_NAMES = "model modelName model_name modelId name provider".split()
# Of `http:`.
TRANSFORMS = "transformResponse responseParser transformRequest requestTransform".split()


def read_providers(
    written: Any, source: Source, origin: Origin, form: str = "%s"
) -> list[ProviderSpec]:
    """A string, a mapping, ``{ID: {...}}``, ``file://providers.yaml``, or a list of these. Raises ConfigError.

    ``form`` is where a cure writes such a mapping.
    """
    file = _file(written)
    if file:
        return read_providers(*_from_file(file, written, source, origin))
    if isinstance(written, str):
        return [with_environment(ProviderSpec(written, origin=origin), source.env)]
    if isinstance(written, list):
        specs = []
        wrong: list[Mistake] = []
        for item in written:
            with gather_mistakes(wrong):
                specs += read_providers(item, source, _origin(item, origin), form)
        if wrong:
            raise ConfigError(*dict.fromkeys(wrong))
        return specs
    if isinstance(written, Mapping):
        return [_mapping(written, source, _origin(written, origin), form)]
    raise ConfigError.at(
        "a provider is a text or a mapping with an `id`", origin, "write e.g. openai:chat:MODEL"
    )


def read_targets(written: Any, source: Source, origin: Origin) -> list[ProviderSpec]:
    """As ``providers``; where no target is asked, whatever a config names is a label alone. Raises ConfigError."""
    return (
        read_providers(written, source, origin)
        if source.asks_targets
        else _labels(written, source, origin)
    )


def read_graders(written: Any, source: Source, origin: Origin) -> Graders:
    """One provider for every kind, or a mapping by kind: text, embedding, classification, moderation."""
    if not written or not source.asks_graders:
        return NOTHING
    if (
        isinstance(written, Mapping)
        and "id" not in written
        and any(kind in written for kind in KINDS)
    ):
        unknown = [key for key in written if key not in KINDS]
        if unknown:
            cure = "the kinds are " + ", ".join(KINDS)
            raise ConfigError.at(
                f"unknown kind of grader `{unknown[0]}`", _origin(written, origin), cure
            )
        of_kinds = (
            (kind, f"provider: {{{kind}: %s}}", spec) for kind, spec in written.items() if spec
        )
        return {
            kind: read_providers(spec, source, _origin(spec, origin), form)[0]
            for kind, form, spec in of_kinds
        }
    if isinstance(written, Mapping) and (
        wrong := _unnamed(_with_id(written), _origin(written, origin), "provider: %s")
    ):
        source.idle.append(
            Idle("provider without an id", wrong.origin or origin)
        )  # shown where nothing is graded by it
        return {"*": ProviderSpec("", wrong=wrong)}
    if isinstance(written, list) and len(written) != 1:
        raise ConfigError.at("a grader is one provider, not several", origin, "name one")
    return {"*": read_providers(written, source, origin, "provider: %s")[0]}


def _origin(written: Any, origin: Origin) -> Origin:
    return Origin(origin.file, getattr(written, "line", 0) or origin.line)


def _mapping(written: JsonObject, source: Source, origin: Origin, form: str) -> ProviderSpec:
    written = _with_id(written)
    if wrong := _unnamed(written, origin, form):
        raise ConfigError(wrong)
    if "transformResponse" in written:
        raise ConfigError.at(
            "`transformResponse` belongs into `config` of the provider", origin, "move it there"
        )
    meant = unknown_keys.without_idle_keys(ProviderKeys, written, origin.file, source.idle)
    try:
        keys = ProviderKeys.model_validate(
            {key: value for key, value in meant.items() if value is not None}
        )
    except ValidationError as e:
        raise ConfigError(*validation_mistakes(e, written, origin.file, (), ProviderKeys)) from e
    prompts = tuple(keys.prompts or ())
    transform = scripts.read_code(keys.transform, source, origin)
    opened = {
        key: scripts.read_code(str(it), source, origin, engine=True)
        for key in TRANSFORMS
        if scripts.is_script(str(it := keys.config.get(key, "")))
    }
    places = {key: document.origin_of(origin.file, written, "config", key) for key in keys.config}
    spec = ProviderSpec(
        keys.id,
        keys.label,
        {**keys.config, **opened},
        prompts,
        transform,
        keys.env,
        origin=origin,
        places=places,
    )
    return with_environment(spec, source.env)


def _unnamed(written: JsonObject, origin: Origin, form: str) -> Mistake | None:
    """What is wrong with a mapping that names no model."""
    if written.get("id") is not None:
        return None
    return Mistake(
        "the provider has no `id`, so it names no model",
        origin,
        f"write `{form % _with_model(written)}`",
    )


def _with_id(written: JsonObject, asked: bool = True) -> JsonObject:
    """``{ID: {...}}`` as a mapping with an ``id``; where it is asked, a vendor alone with options of its model is none."""
    if "id" not in written and len(written) == 1:
        ((provider_id, rest),) = written.items()
        if isinstance(rest, Mapping) and provider_id not in ProviderKeys.model_fields:
            is_id = (
                not asked or ":" in provider_id or ProviderKeys.model_fields.keys() >= rest.keys()
            )
            return (
                document.at_line({"id": provider_id, **rest}, getattr(rest, "line", 0))
                if is_id
                else written
            )
    return written


def _with_model(written: JsonObject) -> str:
    """The mapping as it is meant: what is no key of a provider is an option of its model. Values may be secret."""
    vendor, inner = next(iter(written.items()), ("", None))
    vendors = {name.partition(":")[0] for name in PROVIDERS.names()}
    if (
        len(written) == 1 and isinstance(inner, Mapping) and vendor in vendors
    ):  # as in `{anthropic: {modelName: ...}}`
        return _with_options(f"{vendor}:MODEL", [key for key in inner if key not in _NAMES])
    config = written.get("config")
    options = [key for key in written if key not in (*ProviderKeys.model_fields, *_NAMES)]
    return _with_options(
        "openai:chat:MODEL", [*options, *(config if isinstance(config, Mapping) else ())]
    )


def _with_options(provider_id: str, options: Sequence[str]) -> str:
    if not options:
        return f"{{id: {provider_id}}}"
    named = [f"{key}: ..." for key in options[:_OPTIONS]] + ["..."] * (len(options) > _OPTIONS)
    return f"{{id: {provider_id}, config: {{{', '.join(named)}}}}}"


def with_environment(spec: ProviderSpec, env: Environment) -> ProviderSpec:
    """The provider with what its templates show of the environment; one that was filled in stays as it is. Raises ConfigError."""
    missing = [*spec.missing]
    overlay, drawn = read_env_block(spec.env, env, spec.origin, missing)
    drawn = {**drawn, **spec.drawn}
    inner = env.with_literals(overlay, drawn)
    provider_id = str(_filled(spec.id, inner, spec.origin, missing))
    sent = MODEL if is_model_name(provider_id) else TEXT
    uses = {
        VariableUse(variable, "id", sent)
        for variable in variables_shown(spec.id, inner, spec.origin)
    }
    for place, value in spec.config.items():
        uses |= _uses(place, value, inner, spec)
    return replace(
        spec,
        id=provider_id,
        config=_filled(spec.config, inner, spec.origin, missing),
        env=overlay,
        reads=spec.reads | uses,
        drawn=drawn,
        missing=tuple(missing),
    )


def _uses(place: str, value: Any, env: Environment, spec: ProviderSpec) -> set[VariableUse]:
    """What an option shows of the environment: each header apart. Raises ConfigError."""
    if place != "headers" or not isinstance(value, Mapping):
        return {
            VariableUse(variable, place, TEXT)
            for variable in variables_shown(value, env, spec.origin)
        }
    return {
        VariableUse(variable, f"headers.{name}", HEADER)
        for name, text in value.items()
        for variable in variables_shown(text, env, spec.origin)
    }


def read_env_block(
    written: Mapping[str, str], env: Environment, origin: Origin, missing: list[Mistake]
) -> tuple[Mapping[str, str], Mapping[str, frozenset[str]]]:
    """The values of an ``env`` block, filled in, and the variables that each of them shows; the keys that it lacks are added to ``missing``.

    Raises ConfigError.
    """
    drawn = {
        name: names
        for name, text in written.items()
        if (names := variables_shown(text, env, origin))
    }
    return _filled(written, env, origin, missing), drawn


def variables_shown(value: Any, env: Environment, origin: Origin) -> frozenset[str]:
    """The variables of the environment that the templates in a value give away. Raises ConfigError."""
    names, unset = _names_in(value, env, origin)
    return frozenset(unset).union(*map(env.sources, names))


def _names_in(value: Any, env: Environment, origin: Origin) -> tuple[frozenset[str], list[str]]:
    """The variables that the templates in a value show, and those that they need and nobody set. Raises ConfigError."""
    try:
        names, needed = env_variables(value)
    except TemplateError as e:
        raise ConfigError.at(f"{_UNFILLED}: {e}", origin, "correct the template") from e
    return names, sorted(
        name for name in needed if not env.get(name) and not belongs_to_runner(name)
    )


def _filled(value: Any, env: Environment, origin: Origin, missing: list[Mistake]) -> Any:
    """The value with what it shows of the environment, and the stand-in for what is ``missing``. Raises ConfigError."""
    names, unset = _names_in(value, env, origin)
    for name in sorted(names):
        if belongs_to_runner(name) and name not in env.literals:
            what = f"`{{{{ env.{name} }}}}` is the runner's own, which no config reads"
            raise ConfigError.at(what, origin, "remove it")
    for name in unset:
        cure = (
            f"set {name} in the workflow's `env:`, or write `{{{{ env.{name} | default('...') }}}}`"
        )
        missing.append(Mistake(f"`{{{{ env.{name} }}}}` is not set", origin, cure, name))
    if not names:
        return value
    shown_names = {name: text for name in names if (text := env.get(name))}
    try:
        return render_env(value, {**dict.fromkeys(unset, STAND_IN), **shown_names})
    except TemplateError as e:
        raise ConfigError.at(f"{_UNFILLED}: {e}", origin, "correct the template") from e


def _file(written: Any) -> str:
    """The file that a provider's id names, as ``file://x.yaml`` or ``{id: file://x.yaml}``; empty where it names none."""
    named = str(written.get("id") if isinstance(written, Mapping) else written)
    is_file = named.startswith("file://") and named.endswith((".yaml", ".yml", ".json"))
    return named if is_file else ""


def _from_file(
    file: str, written: Any, source: Source, origin: Origin
) -> tuple[Any, Source, Origin]:
    """What the file says, to be read as if it were written here. Raises ConfigError."""
    beside = {*written} - {"id"} if isinstance(written, Mapping) else ()
    if beside:
        what = f"`{min(map(str, beside))}` beside `id: {file}` has no effect: the file defines the provider"
        raise ConfigError.at(what, _origin(written, origin), "write it into the file")
    name = source.name(file, origin)
    content = document.read(source.read(file, origin), name)
    for item in content if isinstance(content, list) else [content]:
        if _file(item):
            place = Origin(name, getattr(item, "line", 1))
            raise ConfigError.at(
                f"`{file}` names another file of providers", place, "write the providers into it"
            )
    return content, source, Origin(name, 1)


# --- targets that are not asked -------------------------------------------------------------------------------


def _labels(written: Any, source: Source, origin: Origin) -> list[ProviderSpec]:
    """Whatever a config may name as a target, code among it: nothing of it is run, filled in or checked."""
    file = _file(written)
    if file:
        return _labels(*_from_file(file, written, source, origin))
    if isinstance(written, str):
        return [ProviderSpec(written, origin=origin)]
    if isinstance(written, list):
        return [spec for item in written for spec in _labels(item, source, _origin(item, origin))]
    if not isinstance(written, Mapping):
        raise ConfigError.at(
            "a provider is a text or a mapping with an `id`", origin, "write e.g. my-application"
        )
    named, place = _with_id(written, asked=False), _origin(written, origin)
    if named.get("transform"):
        source.idle.append(Idle("transform of a target that is not asked", place))
    config, prompts = named.get("config"), named.get("prompts")
    if isinstance(prompts, str):
        prompts = [prompts]
    elif not isinstance(prompts, list):
        prompts = []
    name = named.get("id") or named.get("label")
    if not isinstance(name, str):
        raise ConfigError.at(
            "the provider has no `id`", place, "give it one, such as my-application"
        )
    label, kept = str(named.get("label") or ""), config if isinstance(config, Mapping) else {}
    return [ProviderSpec(name, label, kept, tuple(map(str, prompts)), origin=place)]
