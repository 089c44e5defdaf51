"""Binds names to models: provider ids to providers, and assertions to the models that grade them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from gradegate.assertions.grading.bound import NEVER_REASK, ReaskPolicy
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
    find_plugin,
    how_to_add_kind,
    how_to_serve,
    model_of_slug,
    resolve_gateway,
    self_contained,
)
from gradegate.planning.checks import scripts
from gradegate.planning.identity import digest
from gradegate.providers.api import options as provider_options
from gradegate.providers.api.content import DECLARING, function_schemas
from gradegate.providers.api.options import PLACEHOLDER
from gradegate.providers.api.provider import (
    NamedTarget,
    Provider,
    ProviderSetup,
    with_id,
    with_model,
)
from gradegate.security.environment import VariableUse
from gradegate.structs import FrozenStruct, JsonObject, replace
from gradegate.templating.script import transform_script


class ModelBinder(FrozenStruct):
    """Binds the names of one suite. The suites of a run share providers through ``pool``."""

    suite: Suite
    workspace: Workspace
    folder: Path  # what paths are relative to
    client: Client
    pool: dict[bytes, Provider]
    asks_targets: bool = True
    default_grader_key: str = (
        ""  # the variable that chooses the default grader, if the settings name one
    )
    grader_retries: int = 1
    idle: list[Idle] = []  # keys of assertions and options that mean nothing
    documents: dict[str, Any] = {}  # files that configs of providers name, read once
    missing: list[Mistake] = []  # one for each key that a provider lacks
    # By the identity of the spec. The value contains the spec, so no other spec can get its identity.
    bound: dict[int, tuple[ProviderSpec, Provider]] = {}
    # Models of the vendor of a text grader for another kind, by the kind and the identity of the text grader
    siblings: dict[tuple[str, int], tuple[ProviderSpec, Provider | None]] = {}
    default_graders: dict[str, Provider] = {}  # by kind

    # --- providers --------------------------------------------------------------------------------------------

    def bind_provider(self, spec: ProviderSpec) -> Provider:
        """The provider of a spec; a stand-in replaces each key that is ``missing``.

        Raises ConfigError for an unknown id or a wrong option. The error is empty if the mistake is reported already.
        """
        if spec.wrong:
            raise ConfigError(spec.wrong)
        if spec is UNREAD:
            raise ConfigError
        if id(spec) not in self.bound:
            provider = self._pooled_provider(spec)
            self.missing.extend(replace(key, origin=spec.origin) for key in provider.missing)
            self.bound[id(spec)] = spec, provider
        return self.bound[id(spec)][1]

    def _pooled_provider(self, spec: ProviderSpec) -> Provider:
        # Specs of the command line and of an assertion's `config` are not filled in yet.
        spec = resolve_gateway(with_environment(spec, self.suite.env))
        spec = self._with_tool_files(spec)
        # The same path is another file in another folder, and another environment may mean another host and key.
        folder = str(self.folder) if runs_code(spec.id) else ""
        literals = {**self.suite.env.literals, **spec.env}
        reads = sorted(spec.reads)
        key = digest([spec.id, spec.label, spec.config, spec.transform, literals, reads, folder])
        if key not in self.pool:
            missing = list(spec.missing)
            try:
                self.pool[key] = self._build_provider(spec, missing)
            except ConfigError:
                # Other mistakes may be about the stand-in, which is no address and no number.
                if missing:
                    raise ConfigError(*missing) from None
                raise
        return self.pool[key]

    def _build_provider(self, spec: ProviderSpec, missing: list[Mistake]) -> Provider:
        """A provider from its plug-in; the keys that it lacks are added to ``missing``. Raises ConfigError."""
        build, model = find_plugin(spec)
        scripts.check_script(
            transform_script, spec.transform, f"`transform` of `{spec.name}`", spec.origin
        )
        provider_options.check_options(spec, build)
        opened: list[bytes] = []
        uses: set[VariableUse] = set()

        def open_file(reference: str, origin: Origin) -> bytes:
            content = self.workspace.read(reference, self.folder, origin)
            opened.append(content)
            return content

        # Build again for each key that turns out to be missing, with a stand-in for it.
        env = replace(self.suite.env.with_literals(spec.env, spec.drawn), uses=uses)
        provider = None
        while provider is None:
            opened.clear()
            setting = ProviderSetup(
                spec, model, self.client, env, open_file, uses, self.workspace, self.folder
            )
            try:
                provider = build(setting)
            except ConfigError as e:
                if not e.missing - env.missing:
                    raise
                missing += e.mistakes
                env = replace(env, missing=env.missing | e.missing)

        provider.id = spec.id
        provider.spec = spec
        provider.origin = spec.origin
        provider.files_digest = sha256(b"\0".join(opened)).hexdigest() if opened else ""
        provider.notes = provider_options.unused_option_notes(spec, build)
        provider.budget = self.client.budget
        provider.tools = function_schemas(spec.config)
        provider.uses = spec.reads | uses if provider.url else frozenset()
        provider.missing = tuple(missing)
        return provider

    def bind_target(self, spec: ProviderSpec) -> Provider:
        """The target that answers prompts, or a label if no target is asked. Raises ConfigError."""
        if self.asks_targets:
            return self.bind_provider(spec)

        # Only the tools of a label are read: calls in answers made elsewhere are checked against them.
        lacking: tuple[Mistake, ...] = ()
        tools = {key: spec.config[key] for key in DECLARING if key in spec.config}
        try:
            with_files = self._with_tool_files(replace(spec, config=tools))
            spec = replace(spec, config={**spec.config, **with_files.config})
        except ConfigError as e:  # a mistake only if an assertion needs the tools
            lacking = e.mistakes
        key = digest(["label", spec.id, spec.label, spec.config])
        if key not in self.pool:
            label = NamedTarget(spec)
            label.tool_mistakes = lacking
            label.tools = None if lacking else function_schemas(spec.config)
            self.pool[key] = label
        return self.pool[key]

    def with_options(self, provider: Provider, config: JsonObject, origin: Origin) -> Provider:
        """A target with the options that a prompt or a test sets for it. Raises ConfigError."""
        spec = provider.spec
        if not config or spec is None:
            return provider
        return self.bind_target(
            replace(
                spec,
                config={**spec.config, **config},
                written=spec.config,
                places={**spec.places, **dict.fromkeys(config, origin)},
            )
        )

    def _with_tool_files(self, spec: ProviderSpec) -> ProviderSpec:
        return toolfiles.with_tool_files(spec, self.workspace, self.folder, self.documents)

    # --- graders ----------------------------------------------------------------------------------------------

    def bind_graders(
        self, kind: type[Evaluator], spec: Assertion, options: CaseOptions
    ) -> Mapping[str, Provider]:
        """The models that an assertion asks, by the kind of model. Raises ConfigError."""
        option_graders = self.suite.option_graders
        text = option_graders.get("text") or option_graders.get("*")
        if text and spec.model_slug:
            # An assertion that names a model gets that model of the command line's provider.
            option_graders = {**option_graders, "text": with_model(text, spec.model_slug)}
        near = (spec.graders, options.graders)
        far = (option_graders, self.suite.graders)

        models = {}
        for need in kind.requires.models:
            served = "embedding" if need == "similarity" else need
            model = self._find_grader(served, spec, near, far)
            model.is_grader = True
            if need == "embedding" and not model.vectors:
                what = f"`{spec.type}` needs vectors, and `{model.id}` only compares two texts"
                raise ConfigError.at(what, spec.origin, "name an embedding model")
            models[served] = model
        return models

    def _find_grader(
        self, need: str, assertion: Assertion, near: Sequence[Graders], far: Sequence[Graders]
    ) -> Provider:
        """The model of the kind ``need`` for an assertion. Raises ConfigError if there is none.

        The first of: a configured model, a model of the text grader's vendor, the model that the assertion names by a bare name,
        the default. ``near`` and ``far`` are the levels of ``_named_grader``.
        """
        spec, is_named_for_kind = self._named_grader(need, near, far)
        if spec:
            provider = self.bind_provider(self._configured_target(spec))
            kinds = provider.kinds if is_named_for_kind else provider.unasked_kinds
            if need in kinds:
                return self_contained(provider)

        # The vendor of the text grader may have a model of the kind, at the same host with the same key. A model that is
        # named for the kind is not replaced by that.
        text_grader = None
        if not any(need in level for level in (*near, *far)):
            text_grader, _ = self._named_grader("text", near, far)
        if text_grader:
            sibling = self._sibling(need, self._configured_target(text_grader))
            if sibling:
                return sibling

        if spec:
            what = (
                f"`{assertion.type}` needs a model of the kind {need}, and `{spec.id}` is not one"
            )
            origin = spec.origin if spec.origin.line else assertion.origin
            cure = "name a chat model" if need == "text" else how_to_add_kind(need, spec)
            raise ConfigError.at(what, origin, cure)

        # No model is configured for the kind or for all kinds.
        if need == "text":
            model_id = model_of_slug(assertion.model_slug)
            if model_id:
                return self.bind_provider(ProviderSpec(model_id, origin=assertion.origin))
        names_text_grader = text_grader is not None or bool(assertion.model_slug)
        if need in DEFAULT_KINDS and not names_text_grader:
            return self._default_grader(need, assertion)
        missing = "grading model" if need == "text" else f"{need} model for `{assertion.type}`"
        cure = how_to_serve(need, assertion)
        raise ConfigError.at(f"no {missing} is configured", assertion.origin, cure)

    def _named_grader(
        self, need: str, near: Iterable[Graders], far: Iterable[Graders]
    ) -> tuple[ProviderSpec | None, bool]:
        """The nearest model for a kind, and whether it was named for this kind.

        ``near`` are the levels of the assertion and of its test, ``far`` those of the command line and of ``defaultTest``, each
        from the nearest. The first model of a near level is used, even if it cannot serve the kind. In a far level, a model for
        any kind that cannot serve this kind leaves it to the next level. If no model can, the first of them is returned.
        """
        for level in near:
            if need in level or "*" in level:
                return level.get(need) or level.get("*"), True

        first = None
        for level in far:
            spec = level.get(need) or level.get("*")
            if spec is None:
                continue
            if need in level:
                return spec, True
            if need in self.bind_provider(self._configured_target(spec)).unasked_kinds:
                return spec, False
            first = first or spec
        return first, False

    def _configured_target(self, spec: ProviderSpec) -> ProviderSpec:
        """The target that a bare name means, with its settings; otherwise the spec itself."""
        # An id that still has a placeholder is a mistake at its own line.
        if spec.config or spec.env or not spec.id or spec.id.endswith(f":{PLACEHOLDER}"):
            return spec
        for target in self.suite.all_targets:
            if spec.id in target.names:
                return target
        return spec

    def _sibling(self, need: str, grader: ProviderSpec) -> Provider | None:
        """The model of another kind that the vendor of a text grader has. Raises ConfigError."""
        if grader is UNREAD:
            raise ConfigError
        key = need, id(grader)
        if key not in self.siblings:
            self.siblings[key] = grader, self._bind_sibling(need, grader)
        return self.siblings[key][1]

    def _bind_sibling(self, need: str, grader: ProviderSpec) -> Provider | None:
        """The model that the vendor's plug-in names for this kind. None if it names none, or lacks a variable for that."""
        uses: set[VariableUse] = set()
        env = replace(self.suite.env.with_literals(grader.env, grader.drawn), uses=uses)
        build, _ = find_plugin(resolve_gateway(grader))
        template = getattr(build, "default_graders", {}).get(need, "")
        model = re.sub(r"\{(\w+)\}", lambda name: env.get(name[1]), template)
        if not model or model.endswith(":"):
            return None
        spec = replace(with_id(grader, model), reads=grader.reads | uses)
        provider = self.bind_provider(spec)
        label = "embeddings" if need == "embedding" else need
        provider.chosen = f"{label}: {model}, chosen since no other is named"
        return self_contained(provider)

    def _default_grader(self, need: str, assertion: Assertion) -> Provider:
        """The grader that is used because none is named. Raises ConfigError."""
        if need not in self.default_graders:
            self.default_graders[need] = self._bind_default_grader(need, assertion)
        return self.default_graders[need]

    def _bind_default_grader(self, need: str, assertion: Assertion) -> Provider:
        """The grader of the vendor that the environment has a key for. Raises ConfigError."""
        default = choose_default_graders(self.suite.env.variables, self.default_grader_key)
        if need not in default.models:
            what = f"no {need} model for `{assertion.type}` is configured, and the vendor of {default.key} has none"
            raise ConfigError.at(what, assertion.origin, how_to_serve(need, assertion))
        model = default.models[need]

        # The `env` of a config must choose neither the host of the default grader nor its key.
        env = replace(self.suite.env, literals={}, drawn={})
        missing = list[Mistake]()
        binder = replace(self, suite=replace(self.suite, env=env), missing=missing)
        provider = binder.bind_provider(ProviderSpec(model, origin=assertion.origin))
        for mistake in missing:
            self.missing.append(mistake if default.key else without_any_key(mistake, model))
        target_names: set[str] = set()
        for target in self.suite.all_targets:
            target_names.update(target.names)
        provider.chosen = describe_default(default, need, target_names)
        return provider

    def reask_mode(self, kind: type[Evaluator], spec: Assertion) -> ReaskPolicy:
        """How a failure of an assertion is re-asked."""
        mode = spec.reask or self.suite.policy.reask
        if kind.compares or (mode == "grader" and "text" not in kind.requires.models):
            return NEVER_REASK
        return ReaskPolicy(mode, bool(spec.reask))
