"""Providers and graders as config files write them, for every dialect that names any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from gradegate.access.environment import Environment, is_runners
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
        return [_checked(ProviderSpec(written, origin=origin))]
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
    try:
        keys = ProviderKeys.model_validate(dict(written))
    except ValidationError as e:
        raise ConfigError(*mistakes(e, written, origin.file, (), ProviderKeys)) from e
    try:
        drawn = {name: _sources(text, source.env) for name, text in keys.env.items()}
        overlay = _filled(keys.env, source.env, origin)
        env = source.env.over(overlay, drawn)
        provider_id, settings = _filled(str(keys.id), env, origin), _filled(keys.config, env, origin)
        reads = _sources([keys.id, keys.config], env)
    except TemplateError as e:
        raise ConfigError.at(f"the provider's config cannot be filled in: {e}", origin, "correct the template") from e
    prompts = tuple(keys.prompts or ())
    return _checked(ProviderSpec(provider_id, keys.label, settings, prompts, overlay, reads, drawn, origin))


def _filled(value: Any, env: Environment, origin: Origin) -> Any:
    """The value with what it shows of the environment. Raises ConfigError for what is not set or is the runner's own."""
    for name in sorted(env_names(value)):
        if is_runners(name) and name not in env.literals:
            raise ConfigError.at(
                f"`{{{{ env.{name} }}}}` is the runner's own, which no config reads", origin, "remove it"
            )
    for name in sorted(env_needs(value)):
        if not env.get(name):
            cure = f"set {name} in the workflow's `env:`, or write `{{{{ env.{name} | default('...') }}}}`"
            raise ConfigError.at(f"`{{{{ env.{name} }}}}` is not set", origin, cure)
    return render_env(value, {name: env.get(name) for name in env_names(value)})


def _sources(value: Any, env: Environment) -> frozenset[str]:
    """The variables of the environment that the templates in a value give away."""
    return frozenset().union(*map(env.sources, env_names(value)))


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
