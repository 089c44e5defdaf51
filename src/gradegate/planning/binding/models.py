"""Binds names to models: provider ids to providers, and assertions to the models that grade them."""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from gradegate.assertions.grading.bound import NEVER_AGAIN, Again
from gradegate.assertions.grading.evaluator import Evaluator
from gradegate.config.providers import with_environment
from gradegate.core.assertion import Assertion
from gradegate.core.provider_spec import UNREAD, Graders, ProviderSpec
from gradegate.core.suite import CaseOptions, Idle, Suite
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.paths import runs_code
from gradegate.files.workspace import Workspace
from gradegate.http.client import Client
from gradegate.planning.binding import tool_files as toolfiles
from gradegate.planning.binding.default_graders import (
    DEFAULT_KINDS,
    choose_default_graders,
    describe_default,
    without_any_key,
)
from gradegate.planning.binding.model_choice import (
    another,
    behind,
    how_to_serve,
    maker,
    model_of_slug,
    self_contained,
)
from gradegate.planning.checks import credentials, scripts
from gradegate.planning.identity import digest
from gradegate.providers.api import options as provider_options
from gradegate.providers.api.content import DECLARING, declared
from gradegate.providers.api.options import PLACEHOLDER
from gradegate.providers.api.provider import Label, Provider, Setting, beside, serving
from gradegate.security.egress import Egress
from gradegate.security.environment import STAND_IN, Use
from gradegate.structs import FrozenStruct, JsonObject, replace
from gradegate.templating.script import transform_script


class ModelBinder(FrozenStruct):
    """Binds what one suite names. Providers are shared between all suites of a run through ``pool``."""

    suite: Suite
    workspace: Workspace
    folder: Any
    client: Client
    pool: dict[bytes, Provider]
    egress: Egress = Egress()
    asks_targets: bool = True
    default_grader_key: str = ""  # as the settings have it
    grader_retries: int = 1
    idle: list[Idle] = []  # what assertions and options have that means nothing
    documents: dict[str, Any] = {}  # files that configs of providers name, read once
    missing: list[Mistake] = []  # of each key that a provider lacks
    bound: dict[int, tuple[ProviderSpec, Provider]] = {}  # by identity: the same for many cases
    chosen: dict[
        tuple[str, int], tuple[ProviderSpec, Provider | None]
    ] = {}  # by kind, and as ``bound``
    defaults: dict[str, Provider] = {}  # graders by kind, where a config names none

    def provider(self, spec: ProviderSpec) -> Provider:
        """The provider, with the stand-in for a key that is ``missing``.

        Raises ConfigError for an unknown id or a wrong option; an empty one where that was said already.
        """
        if spec is UNREAD or spec.wrong:
            raise ConfigError(*[spec.wrong] if spec.wrong else [])
        if (
            id(spec) not in self.bound
        ):  # beside it is the spec itself, so that no other can have its number
            provider = self._provider(spec)
            self.missing.extend(replace(it, origin=spec.origin) for it in provider.missing)
            self.bound[id(spec)] = spec, provider
        return self.bound[id(spec)][1]

    def _provider(self, spec: ProviderSpec) -> Provider:
        spec = behind(
            with_environment(spec, self.suite.env)
        )  # of the command line, and of an assertion's `config`
        spec = toolfiles.read_in(spec, self.workspace, self.folder, self.documents)
        # The same path is another file elsewhere.
        where = str(self.folder) if runs_code(spec.id) else ""
        # The same id with another environment may be asked elsewhere, with another key.
        around = {**self.suite.env.literals, **spec.env}
        key = digest(
            [spec.id, spec.label, spec.config, spec.transform, around, sorted(spec.reads), where]
        )
        if key not in self.pool:
            missing = list(spec.missing)
            try:
                self.pool[key] = self._build(spec, missing)
            except ConfigError:
                if missing:  # what else is said may be said of the stand-in, which is no address and no number
                    raise ConfigError(*missing) from None
                raise
        return self.pool[key]

    def _build(self, spec: ProviderSpec, missing: list[Mistake]) -> Provider:
        """A provider from its plug-in; the keys that it lacks are added to ``missing``. Raises ConfigError."""
        build, name = maker(spec)
        scripts.check(
            transform_script, spec.transform, f"`transform` of `{spec.name}`", spec.origin
        )
        provider_options.check(spec, build)
        opened: list[bytes] = []
        uses: set[Use] = set()

        def read(reference: str, origin: Origin) -> bytes:
            opened.append(self.workspace.read(reference, self.folder, origin))
            return opened[-1]

        env = replace(self.suite.env.over(spec.env, spec.drawn), uses=uses)
        provider = None
        while provider is None:
            opened.clear()
            setting = Setting(spec, name, self.client, env, read, uses, self.workspace, self.folder)
            try:
                provider = build(setting)
            except ConfigError as e:
                if not e.missing - env.missing:
                    raise
                missing += e.mistakes
                env = replace(env, missing=env.missing | e.missing)
        provider.id, provider.spec, provider.origin = spec.id, spec, spec.origin
        provider.opened = sha256(b"\0".join(opened)).hexdigest() if opened else ""
        provider.notes = provider_options.notes(spec, build)
        provider.budget = self.client.budget
        provider.tools = declared(spec.config)
        provider.uses = spec.reads | uses if provider.url else frozenset()
        provider.missing = tuple(missing)
        stand_ins = {mistake.missing: STAND_IN for mistake in missing}
        variables = {**self.egress.variables, **stand_ins}
        credentials.check(provider, replace(self.egress, variables=variables))
        return provider

    def target(self, spec: ProviderSpec) -> Provider:
        """What answers prompts, or a label where nothing is asked. Raises ConfigError."""
        if self.asks_targets:
            return self.provider(spec)
        # Of a config that is only named the tools are read: calls in answers made elsewhere are held to them.
        lacking: tuple[Mistake, ...] = ()
        tools = {key: spec.config[key] for key in DECLARING if key in spec.config}
        try:
            read = toolfiles.read_in(
                replace(spec, config=tools), self.workspace, self.folder, self.documents
            )
            spec = replace(spec, config={**spec.config, **read.config})
        except ConfigError as e:  # nobody may need them
            lacking = e.mistakes
        key = digest(["label", spec.id, spec.label, spec.config])
        if key not in self.pool:
            label = Label(spec)
            label.tools, label.lacking = (None, lacking) if lacking else (declared(spec.config), ())
            self.pool[key] = label
        return self.pool[key]

    def over(self, provider: Provider, config: JsonObject, origin: Origin) -> Provider:
        """A target with options over its own: those that a prompt sets for it, and those of a test. Raises ConfigError."""
        spec = provider.spec
        if not config or spec is None:
            return provider
        return self.target(
            replace(
                spec,
                config={**spec.config, **config},
                written=spec.config,
                places={**spec.places, **dict.fromkeys(config, origin)},
            )
        )

    def models(
        self, kind: type[Evaluator], spec: Assertion, options: CaseOptions
    ) -> Mapping[str, Provider]:
        """The models that an assertion of that kind asks, by what they are for. Raises ConfigError."""
        given = self.suite.given
        text = given.get("text") or given.get("*")
        if (
            text and spec.model_slug
        ):  # an assertion that names a model gets that model of the command line's provider
            given = {**given, "text": serving(text, spec.model_slug)}
        near, far = (spec.graders, options.graders), (given, self.suite.graders)
        models = {}
        for need in kind.requires.models:
            served = "embedding" if need == "similarity" else need
            model = self._model(served, spec, near, far)
            model.judges = True
            if need == "embedding" and not model.vectors:
                what = f"`{spec.type}` needs vectors, and `{model.id}` only compares two texts"
                raise ConfigError.at(what, spec.origin, "name an embedding model")
            models[served] = model
        return models

    def again(self, kind: type[Evaluator], spec: Assertion) -> Again:
        """How a failure of an assertion of that kind is asked again."""
        mode = spec.reask or self.suite.policy.reask
        if kind.compares or (mode == "grader" and "text" not in kind.requires.models):
            return NEVER_AGAIN
        return Again(mode, bool(spec.reask))

    def _model(
        self, need: str, spec: Assertion, near: Iterable[Graders], far: Iterable[Graders]
    ) -> Provider:
        model, named = self._named(need, near, far)
        provider = self.provider(self._configured(model)) if model else None
        if provider and need in (provider.kinds if named else provider.unasked_kinds):
            return self_contained(provider)
        text = None
        if not any(need in level for level in (*near, *far)):
            text, _ = self._named("text", near, far)
        if text:  # of which the vendor has a model of the other kind, at the same place and with the same key
            grader = self._configured(text)
            if grader is UNREAD:
                raise ConfigError
            if (need, id(grader)) not in self.chosen:
                self.chosen[need, id(grader)] = grader, self._chosen(need, grader)
            if chosen := self.chosen[need, id(grader)][1]:
                return chosen
        if model is None:
            if need == "text" and (known := model_of_slug(spec.model_slug)):
                return self.provider(ProviderSpec(known, origin=spec.origin))
            if text is None and not spec.model_slug and need in DEFAULT_KINDS:
                return self._default(need, spec)
            what = "no grading model" if need == "text" else f"no {need} model for `{spec.type}`"
            raise ConfigError.at(f"{what} is configured", spec.origin, how_to_serve(need, spec))
        what = f"`{spec.type}` needs a model of the kind {need}, and `{model.id}` is not one"
        origin = model.origin if model.origin.line else spec.origin
        raise ConfigError.at(
            what, origin, another(need, model) if need != "text" else "name a chat model"
        )

    def _default(self, need: str, assertion: Assertion) -> Provider:
        """The grader that is used because none is named. Raises ConfigError."""
        if need not in self.defaults:
            self.defaults[need] = self._default_grader(need, assertion)
        return self.defaults[need]

    def _default_grader(self, need: str, assertion: Assertion) -> Provider:
        default = choose_default_graders(self.suite.env.variables, self.default_grader_key)
        if need not in default.models:
            what = f"no {need} model for `{assertion.type}` is configured, and the vendor of {default.key} has none"
            raise ConfigError.at(what, assertion.origin, how_to_serve(need, assertion))
        model = default.models[need]
        # What a config lays over the environment must not choose where the default is asked, nor with which key.
        env = replace(self.suite.env, literals={}, drawn={})
        missing = list[Mistake]()
        binder = replace(self, suite=replace(self.suite, env=env), missing=missing)
        provider = binder.provider(ProviderSpec(model, origin=assertion.origin))
        for mistake in missing:
            self.missing.append(mistake if default.key else without_any_key(mistake, model))
        names = {name for target in self.suite.configured for name in target.names}
        provider.chosen = describe_default(default, need, names)
        return provider

    def _chosen(self, need: str, grader: ProviderSpec) -> Provider | None:
        uses: set[Use] = set()
        env = replace(self.suite.env.over(grader.env, grader.drawn), uses=uses)
        model = re.sub(
            r"\{(\w+)\}",
            lambda it: env.get(it[1]),
            getattr(maker(behind(grader))[0], "siblings", {}).get(need, ""),
        )
        if not model or model.endswith(":"):
            return None
        provider = self.provider(replace(beside(grader, model), reads=grader.reads | uses))
        provider.chosen = f"{'embeddings' if need == 'embedding' else need}: {model}, chosen since no other is named"
        return self_contained(provider)

    def _named(
        self, need: str, near: Iterable[Graders], far: Iterable[Graders]
    ) -> tuple[ProviderSpec | None, bool]:
        """The nearest model for the kind, and whether it was named for just that.

        What the assertion or its test names is meant, and what is named for the kind; of the command line and of
        ``defaultTest``, a model for any kind that is of another leaves this one to the next.
        """
        meant = next(
            (level.get(need) or level.get("*") for level in near if need in level or "*" in level),
            None,
        )
        if meant is not None:
            return meant, True
        specs = [
            (spec, need in level) for level in far if (spec := level.get(need) or level.get("*"))
        ]
        fits = (
            (spec, named)
            for spec, named in specs
            if named or need in self.provider(self._configured(spec)).unasked_kinds
        )
        return next(fits, specs[0] if specs else (None, False))

    def _configured(self, spec: ProviderSpec) -> ProviderSpec:
        """A bare name of a configured target means that target with its settings."""
        if (
            spec.config or spec.env or not spec.id or spec.id.endswith(f":{PLACEHOLDER}")
        ):  # which is told at its own line
            return spec
        return next((it for it in self.suite.configured if spec.id in it.names), spec)
