"""Providers and graders as config files write them, for every dialect that names any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from gradegate.access.environment import Environment, is_runners
from gradegate.configs import idle
from gradegate.configs.dialect import Source
from gradegate.configs.keys import ProviderKeys, mistakes
from gradegate.errors import ConfigError, Origin
from gradegate.files import document
from gradegate.files.code import is_code
from gradegate.suite import Graders, ProviderSpec
from gradegate.texts.envnames import env_names, env_needs
from gradegate.texts.template import TemplateError, render_env

KINDS = ("text", "embedding", "classification", "moderation")


def providers(written: Any, source: Source, origin: Origin) -> list[ProviderSpec]:
    """A string, a mapping, ``{ID: {...}}``, ``file://providers.yaml``, or a list of these. Raises ConfigError."""
    if isinstance(written, str):
        if written.startswith("file://") and written.endswith((".yaml", ".yml", ".json")):
            return _from_file(written, source, origin)
        return [_checked(shown(ProviderSpec(written, origin=origin), source.env))]
    if isinstance(written, list):
        specs, errors = [], []
        for item in written:
            try:
                specs += providers(item, source, _origin(item, origin))
            except ConfigError as e:
                errors.append(e)
        if errors:
            raise ConfigError.join(errors)
        return specs
    if isinstance(written, Mapping):
        return [_mapping(written, source, _origin(written, origin))]
    raise ConfigError.at("a provider is a text or a mapping with an `id`", origin, "write e.g. openai:chat:MODEL")


def graders(written: Any, source: Source, origin: Origin) -> Graders:
    """One provider for every kind, or a mapping by kind: text, embedding, classification, moderation."""
    if not written:
        return {}
    if isinstance(written, Mapping) and "id" not in written and any(kind in written for kind in KINDS):
        unknown = [key for key in written if key not in KINDS]
        if unknown:
            cure = "the kinds are " + ", ".join(KINDS)
            raise ConfigError.at(f"unknown kind of grader `{unknown[0]}`", _origin(written, origin), cure)
        return {kind: providers(spec, source, _origin(spec, origin))[0] for kind, spec in written.items() if spec}
    if isinstance(written, list) and len(written) != 1:
        raise ConfigError.at("a grader is one provider, not several", origin, "name one")
    return {"*": providers(written, source, origin)[0]}


def _origin(written: Any, origin: Origin) -> Origin:
    return Origin(origin.file, getattr(written, "line", 0) or origin.line)


def _mapping(written: Mapping[str, Any], source: Source, origin: Origin) -> ProviderSpec:
    if "id" not in written and len(written) == 1:
        ((provider_id, rest),) = written.items()
        if isinstance(rest, Mapping) and provider_id not in ProviderKeys.model_fields:
            written = {"id": provider_id, **rest}
    for key in ("transform", "transformResponse"):
        if key in written:
            raise ConfigError.at(f"`{key}` of a provider runs code", origin, "let the target give the final text")
    meant = idle.kept(ProviderKeys, written, origin.file, source.idle)
    try:
        keys = ProviderKeys.model_validate(dict(meant))
    except ValidationError as e:
        raise ConfigError(*mistakes(e, written, origin.file, (), ProviderKeys)) from e
    prompts = tuple(keys.prompts or ())
    return _checked(
        shown(ProviderSpec(str(keys.id), keys.label, keys.config, prompts, keys.env, origin=origin), source.env)
    )


def shown(spec: ProviderSpec, env: Environment) -> ProviderSpec:
    """The provider with what its templates show of the environment; one that was filled in stays as it is. Raises ConfigError."""
    overlay, drawn = literals(spec.env, env, spec.origin)
    inner = env.over(overlay, {**drawn, **spec.drawn})
    reads = spec.reads | sources([spec.id, spec.config], inner, spec.origin)
    provider_id, config = _filled(spec.id, inner, spec.origin), _filled(spec.config, inner, spec.origin)
    return replace(spec, id=str(provider_id), config=config, env=overlay, reads=reads, drawn={**drawn, **spec.drawn})


def literals(
    written: Mapping[str, str], env: Environment, origin: Origin
) -> tuple[Mapping[str, str], Mapping[str, frozenset[str]]]:
    """The values of an ``env`` block, filled in, and the variables that each of them shows. Raises ConfigError."""
    drawn = {name: names for name, text in written.items() if (names := sources(text, env, origin))}
    return _filled(written, env, origin), drawn


def sources(value: Any, env: Environment, origin: Origin) -> frozenset[str]:
    """The variables of the environment that the templates in a value give away. Raises ConfigError."""
    try:
        return frozenset().union(*map(env.sources, env_names(value)))
    except TemplateError as e:
        raise _unfilled(e, origin) from e


def _unfilled(error: TemplateError, origin: Origin) -> ConfigError:
    return ConfigError.at(f"the provider's config cannot be filled in: {error}", origin, "correct the template")


def _filled(value: Any, env: Environment, origin: Origin) -> Any:
    """The value with what it shows of the environment. Raises ConfigError for what is not set or is the runner's own."""
    try:
        names, needed = env_names(value), env_needs(value)
        for name in sorted(names):
            if is_runners(name) and name not in env.literals:
                what = f"`{{{{ env.{name} }}}}` is the runner's own, which no config reads"
                raise ConfigError.at(what, origin, "remove it")
        for name in sorted(needed):
            if not env.get(name):
                cure = f"set {name} in the workflow's `env:`, or write `{{{{ env.{name} | default('...') }}}}`"
                raise ConfigError.at(f"`{{{{ env.{name} }}}}` is not set", origin, cure)
        return render_env(value, {name: env.get(name) for name in names if env.get(name)}) if names else value
    except TemplateError as e:
        raise _unfilled(e, origin) from e


def _checked(spec: ProviderSpec) -> ProviderSpec:
    if spec.id.startswith(("exec:", "python:", "package:")) or is_code(spec.id):
        cure = "serve it over HTTP and name it as an openai:chat: or http: provider"
        raise ConfigError.at(f"`{spec.id}` runs code of the repository, with its secrets at hand", spec.origin, cure)
    return spec


def _from_file(written: str, source: Source, origin: Origin) -> list[ProviderSpec]:
    path = source.workspace.locate(written, source.folder, origin)
    name = source.workspace.name(path)
    content = document.read(source.workspace.read(written, source.folder, origin), name)
    return providers(content, source, Origin(name, 1))
