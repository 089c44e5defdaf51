"""Binds names to models: provider ids to providers, and assertions to the models that grade them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

from gradegate.access.egress import PRIVATE, Egress
from gradegate.asking import options as provider_options
from gradegate.asking.http import Client
from gradegate.asking.provider import PROVIDERS, Provider, Setting, check_id, serving, split_id
from gradegate.asking.toolcalls import declared
from gradegate.configs.specs import shown
from gradegate.errors import ConfigError, Origin
from gradegate.files.document import to_json
from gradegate.files.workspace import Workspace
from gradegate.grading.conclude import NEVER_AGAIN, Again
from gradegate.grading.grader import Grader
from gradegate.planning import toolfiles
from gradegate.registry import suggest
from gradegate.suite import Assertion, CaseOptions, Graders, Idle, ProviderSpec, Suite

NO_GRADER = (
    "name a model with --grader openai:chat:MODEL (input `grader`), with `defaultTest.options.provider`, or with "
    "`provider` of the assertion"
)


@dataclass(frozen=True)
class Binder:
    """Binds what one suite names. Providers are shared between all suites of a run through ``pool``."""

    suite: Suite
    workspace: Workspace
    folder: Any
    client: Client
    grader: ProviderSpec | None  # of --grader
    pool: dict[str, Provider]
    egress: Egress = Egress()
    idle: list[Idle] = field(default_factory=list)  # what assertions and options have that means nothing
    documents: dict[str, Any] = field(default_factory=dict)  # files that configs of providers name, read once
    shared: dict[Again, Again] = field(default_factory=dict)  # one for all assertions that are asked again alike

    def provider(self, spec: ProviderSpec) -> Provider:
        """Raises ConfigError for an unknown id, a missing key, a wrong option."""
        spec = shown(spec, self.suite.env)  # of the command line, and of an assertion's `config`
        spec = toolfiles.read_in(spec, self.workspace, self.folder, self.documents)
        key = to_json([spec.id, spec.label, spec.config, dict(spec.env), sorted(spec.reads)])
        if key not in self.pool:
            parts = split_id(spec.id)
            build = PROVIDERS.find(parts[0]) if parts else None
            if parts is None or build is None:
                near = suggest(spec.id.split(":")[0], (name.split(":")[0] for name in PROVIDERS.names()))
                cure = near or "one of " + ", ".join(PROVIDERS.names())
                raise ConfigError.at(f"no such provider `{spec.id}`", spec.origin, cure)
            check_id(spec, build)
            self.idle.extend(Idle(name, spec.origin) for name in provider_options.check(spec, build))
            opened: list[bytes] = []
            env = self.suite.env.over(spec.env, spec.drawn)
            setting = Setting(spec, parts[1], self.client, env, partial(self._open, opened))
            provider = build(setting)
            provider.id, provider.spec, provider.origin = spec.id, spec, spec.origin
            provider.opened = sha256(b"\0".join(opened)).hexdigest() if opened else ""
            provider.budget, provider.tools = self.client.budget, declared(spec.config)
            provider.keys = tuple(sorted({*spec.reads, *setting.read})) if provider.url else ()
            self._check_egress(provider)
            self.pool[key] = provider
        return self.pool[key]

    def _check_egress(self, provider: Provider) -> None:
        """Raises ConfigError for a host that is not asked, and for a key that has no business there."""
        if not provider.url:
            return
        cure = f"allow it in the workflow: `allowed-hosts: {provider.host}` (--allowed-hosts {provider.host})"
        objection = self.egress.reaches(provider.url)
        if objection:
            what = f"`{provider.name}` would ask {provider.host}: {objection}"
            raise ConfigError.at(what, provider.origin, cure if objection == PRIVATE else "name another host")
        for name in provider.keys:
            if not self.egress.carries(name, provider.url):
                what = f"`{provider.name}` would send {name} to {provider.host}, which is not a host of that key"
                harmless = f", or, where it is no secret, `allowed-env: {name}`"
                raise ConfigError.at(what, provider.origin, cure + harmless)

    def _open(self, opened: list[bytes], reference: str, origin: Origin) -> bytes:
        content = self.workspace.read(reference, self.folder, origin)
        opened.append(content)
        return content

    def models(self, kind: type[Grader], spec: Assertion, options: CaseOptions) -> Mapping[str, Provider]:
        """The models that an assertion of that kind asks, by what they are for. Raises ConfigError."""
        near, far = (spec.graders, options.graders), (self._command_line(spec), self.suite.graders)
        return {need: self._model(need, spec, self._named(need, near, far)) for need in kind.asks.models}

    def _command_line(self, spec: Assertion) -> Graders:
        """The grader of the command line; an assertion that names a model gets that model of its provider."""
        if self.grader is None:
            return {}
        return {"*": self.grader, **({"text": serving(self.grader, spec.model_slug)} if spec.model_slug else {})}

    def again(self, kind: type[Grader], spec: Assertion) -> Again:
        """How a failure of an assertion of that kind is asked again. Raises ConfigError."""
        policy = self.suite.policy
        mode, asks_text = spec.confirm or policy.confirm, "text" in kind.asks.models
        if kind.compares or (mode == "grader" and not asks_text):
            return NEVER_AGAIN
        named = (spec.second_opinions or policy.second_opinions) if asks_text and mode != "off" else ()
        again = Again(mode, self.opinions(named), bool(spec.confirm), bool(spec.second_opinions))
        return self.shared.setdefault(again, again)

    def opinions(self, specs: Iterable[ProviderSpec]) -> tuple[Provider, ...]:
        """The models that grade re-asks. Raises ConfigError."""
        return tuple(self._opinion(self._configured(spec)) for spec in specs)

    def _opinion(self, spec: ProviderSpec) -> Provider:
        provider = self.provider(spec)
        if "text" not in provider.kinds:
            raise ConfigError.at(f"`{spec.id}` in `second-opinions` is no chat model", spec.origin, "name a chat model")
        return provider

    def _model(self, need: str, spec: Assertion, model: ProviderSpec | None) -> Provider:
        if model is None:
            what = "no grading model" if need == "text" else f"no {need} model for `{spec.type}`"
            raise ConfigError.at(f"{what} is configured", spec.origin, _how_to_serve(need, spec))
        provider = self.provider(self._configured(model))
        if need not in provider.kinds:
            what = f"`{spec.type}` needs a model of the kind {need}, and `{model.id}` is not one"
            cure = f"give `provider: {{text: ..., {need}: ...}}`" if need != "text" else "name a chat model"
            raise ConfigError.at(what, model.origin if model.origin.line else spec.origin, cure)
        return provider

    def _named(self, need: str, near: Iterable[Graders], far: Iterable[Graders]) -> ProviderSpec | None:
        """The nearest model for the kind.

        What the assertion or its test names is meant; of the command line and of ``defaultTest``, a model of another
        kind leaves this one to the next.
        """
        meant = next((level.get(need) or level.get("*") for level in near if need in level or "*" in level), None)
        if meant is not None:
            return meant
        specs = [spec for level in far if (spec := level.get(need) or level.get("*"))]
        fits = (spec for spec in specs if need in self.provider(self._configured(spec)).kinds)
        return next(fits, specs[0] if specs else None)

    def _configured(self, spec: ProviderSpec) -> ProviderSpec:
        """A bare name of a configured target means that target with its settings."""
        if spec.config or spec.env:
            return spec
        return next((target for target in self.suite.targets if spec.id in (target.id, target.label)), spec)


def _how_to_serve(need: str, spec: Assertion) -> str:
    slug = spec.model_slug
    if not slug:
        return NO_GRADER
    entry = f"{slug}: openai:chat:{slug}" if need == "text" else f"{need}: PROVIDER:MODEL"
    return f"say who serves it: `graders: {{{entry}}}` in the file" + (
        f", or --grader openai:chat:{slug}" if need == "text" else ""
    )
