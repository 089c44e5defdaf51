"""Builds the providers that a suite names: each id with its options becomes something that can be asked."""

from hashlib import sha256
from pathlib import Path
from typing import Any

from gradegate.config.providers import with_environment
from gradegate.core.provider_spec import NOTHING, UNREAD, ProviderSpec
from gradegate.core.suite import Suite
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.paths import runs_code
from gradegate.files.workspace import Workspace
from gradegate.http.client import Client
from gradegate.planning.binding.tool_files import with_tool_files
from gradegate.planning.checks import scripts
from gradegate.planning.identity import digest
from gradegate.providers.api import options as provider_options
from gradegate.providers.api.content import DECLARING, function_schemas
from gradegate.providers.api.provider import (
    PROVIDERS,
    Build,
    NamedTarget,
    Provider,
    ProviderSetup,
    split_id,
)
from gradegate.sandbox.repository_code import ALLOW_CODE, USE_ANSWERS
from gradegate.security.environment import Environment, VariableUse
from gradegate.structs import FrozenStruct, JsonObject, replace
from gradegate.templating.script import transform_script

_AS_CODE = f"{USE_ANSWERS}; or name it as `file://x.py` or `exec: COMMAND`, and {ALLOW_CODE}"


class ProviderBinder(FrozenStruct):
    """Builds the providers of one suite, and records them with the keys that they lack.

    A provider that is configured twice is built once. All suites of a run share ``pool``, so this is true for the whole run.
    """

    suite: Suite
    workspace: Workspace
    folder: Path  # what paths are relative to
    client: Client
    pool: dict[bytes, Provider]  # by a digest of everything that a provider is built from
    asks_targets: bool = True  # false if recorded answers are graded: then targets are only names
    # Results: the providers that were built so far, and a mistake for each key that one of them lacks. A spec is found by its
    # identity. The value contains the spec, so no other spec can get the same identity.
    bound: dict[int, tuple[ProviderSpec, Provider]] = {}
    missing: list[Mistake] = []
    tool_files: dict[str, Any] = {}  # contents of files that configs of providers name, read once

    def bind_provider(self, spec: ProviderSpec) -> Provider:
        """The provider of a spec. A stand-in replaces each key that is not set, and ``missing`` gets a mistake.

        Raises ConfigError for an unknown id or a wrong option. The error is empty if the mistake is reported already.
        """
        if spec.wrong:
            raise ConfigError(spec.wrong)
        if spec is UNREAD:
            raise ConfigError
        if id(spec) not in self.bound:
            provider = self.bind_in_environment(spec, self.suite.env)
            self.missing.extend(missing_keys(provider, spec))
        return self.bound[id(spec)][1]

    def bind_in_environment(self, spec: ProviderSpec, env: Environment) -> Provider:
        """The provider of a spec that reads its keys from ``env``. Missing keys are not recorded. Raises ConfigError."""
        # Specs of the command line and of an assertion's `config` are not filled in yet.
        filled = self._with_tool_files(resolve_gateway(with_environment(spec, env)))
        key = digest(
            [
                filled.id,
                filled.label,
                filled.config,
                filled.transform,
                # Another environment may mean another host and key.
                {**env.literals, **filled.env},
                sorted(filled.reads),
                # The same path is another file in another folder.
                str(self.folder) if runs_code(filled.id) else "",
            ]
        )
        if key not in self.pool:
            self.pool[key] = self._build_provider(filled, env)
        provider = self.pool[key]
        self.bound[id(spec)] = spec, provider
        return provider

    def _build_provider(self, spec: ProviderSpec, env: Environment) -> Provider:
        missing = list(spec.missing)
        try:
            return self._build_with_stand_ins(spec, env, missing)
        except ConfigError:
            # Other mistakes may be about the stand-in, which is no address and no number.
            if missing:
                raise ConfigError(*missing) from None
            raise

    def _build_with_stand_ins(
        self, spec: ProviderSpec, env: Environment, missing: list[Mistake]
    ) -> Provider:
        """Build a provider with its plug-in. The keys that it lacks are added to ``missing``. Raises ConfigError."""
        build, model = find_plugin(spec)
        scripts.check_script(
            transform_script, spec.transform, f"`transform` of `{spec.name}`", spec.origin
        )
        provider_options.check_options(spec, build)

        contents = []  # of the files that the provider reads
        uses: set[VariableUse] = set()

        def open_file(reference: str, origin: Origin) -> bytes:
            content = self.workspace.read(reference, self.folder, origin)
            contents.append(content)
            return content

        # Build again for each key that turns out to be missing, with a stand-in for it.
        env = replace(env.with_literals(spec.env, spec.drawn), uses=uses)
        provider = None
        while provider is None:
            contents.clear()
            setup = ProviderSetup(
                spec, model, self.client, env, open_file, uses, self.workspace, self.folder
            )
            try:
                provider = build(setup)
            except ConfigError as e:
                if not e.missing - env.missing:
                    raise
                missing += e.mistakes
                env = replace(env, missing=env.missing | e.missing)

        # What the plug-in does not know of its provider
        provider.id = spec.id
        provider.spec = spec
        provider.origin = spec.origin
        provider.files_digest = sha256(b"\0".join(contents)).hexdigest() if contents else ""
        provider.notes = provider_options.unused_option_notes(spec, build)
        provider.budget = self.client.budget
        provider.tools = function_schemas(spec.config)
        provider.uses = spec.reads | uses if provider.url else frozenset()
        provider.missing = tuple(missing)
        return provider

    # --- targets ----------------------------------------------------------------------------------------------

    def bind_target(self, spec: ProviderSpec) -> Provider:
        """The target that answers prompts, or only its name if no target is asked. Raises ConfigError."""
        if self.asks_targets:
            return self.bind_provider(spec)

        # Only its tools are read: calls in answers made elsewhere are checked against them.
        tool_mistakes: tuple[Mistake, ...] = ()
        tools = {key: spec.config[key] for key in DECLARING if key in spec.config}
        try:
            with_files = self._with_tool_files(replace(spec, config=tools))
            spec = replace(spec, config={**spec.config, **with_files.config})
        except ConfigError as e:  # a mistake only if an assertion needs the tools
            tool_mistakes = e.mistakes

        key = digest(["label", spec.id, spec.label, spec.config])
        if key not in self.pool:
            target = NamedTarget(spec)
            target.tool_mistakes = tool_mistakes
            target.tools = None if tool_mistakes else function_schemas(spec.config)
            self.pool[key] = target
        return self.pool[key]

    def with_options(self, target: Provider, options: JsonObject, origin: Origin) -> Provider:
        """The target with the options that a prompt or a test sets at ``origin``. Raises ConfigError."""
        spec = target.spec
        if not options or spec is None:
            return target
        changed = replace(
            spec,
            config={**spec.config, **options},
            written=spec.config,
            places={**spec.places, **dict.fromkeys(options, origin)},
        )
        return self.bind_target(changed)

    def _with_tool_files(self, spec: ProviderSpec) -> ProviderSpec:
        return with_tool_files(spec, self.workspace, self.folder, self.tool_files)


def missing_keys(provider: Provider, spec: ProviderSpec) -> list[Mistake]:
    """A mistake for each key that a provider lacks, at the place where a config names it as ``spec``."""
    return [replace(mistake, origin=spec.origin) for mistake in provider.missing]


# --- ids ----------------------------------------------------------------------------------------------------------


def find_plugin(spec: ProviderSpec) -> tuple[Build, str]:
    """The plug-in that builds a provider of this id, and the model's name in the id.

    For ``openai:chat:gpt-5`` these are the plug-in of ``openai:chat``, and ``gpt-5``. Raises ConfigError if there is none.
    """
    provider_options.check_id(spec)
    parts = split_id(spec.id)
    if parts is not None:
        prefix, model = parts
        build = PROVIDERS.find(prefix)
        if build is not None:
            return build, model

    if runs_code(spec.id):
        raise ConfigError.at(f"`{spec.id}` is code of the repository", spec.origin, _AS_CODE)
    raise ConfigError.at(
        f"no such provider `{spec.id}`", spec.origin, provider_options.suggest_id(spec.id)
    )


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
    own_names = NOTHING if vendor in ("google", "vertex") else provider_options.ADALINE
    config = {}
    for name, value in spec.config.items():
        config[own_names.get(name, name)] = value
    return replace(spec, id=model_id, label=spec.name, config=config)
