"""Binds names to plug-ins: provider ids to providers, assertion types to graders with their options and models."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from gradegate.asking import options
from gradegate.asking.http import Client
from gradegate.asking.provider import PROVIDERS, Provider, Setting, serving, split_id
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.document import to_json
from gradegate.files.workspace import Workspace
from gradegate.grading import rubric
from gradegate.grading.conclude import Binding, Bound, BoundSet
from gradegate.grading.grader import GRADERS, Grader
from gradegate.registry import suggest
from gradegate.result import Asserted
from gradegate.suite import Assertion, CaseOptions, Graders, ProviderSpec, Suite, Verbatim
from gradegate.texts.template import TemplateError, is_template, render, render_values

SET = "assert-set"
# promptfoo's types that run code of the repository, or need what only promptfoo has.
_CODE = frozenset({"javascript", "python", "ruby", "webhook"})
_OTHERS = frozenset(
    "is-xml contains-xml is-html contains-html is-sql contains-sql levenshtein word-count rouge-n bleu gleu meteor "
    "perplexity perplexity-score is-refusal finish-reason guardrails tool-call-f1 is-valid-openai-tools-call "
    "is-valid-function-call is-valid-openai-function-call skill-used trace-span-count trace-span-duration "
    "trace-error-spans trajectory:tool-used trajectory:tool-sequence trajectory:tool-args-match trajectory:step-count "
    "trajectory:goal-success agent-rubric search-rubric pi human".split()
)
# Keys of a test's `options` that steer promptfoo itself.
_IGNORED_OPTIONS = frozenset({"disableConversationVar", "runSerially", "cache"})
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

    # --- providers --------------------------------------------------------------------------------------------

    def provider(self, spec: ProviderSpec) -> Provider:
        """Raises ConfigError for an unknown id, a missing key, a wrong option."""
        key = to_json([spec.id, spec.label, spec.config, dict(spec.env)])
        if key not in self.pool:
            found = split_id(spec.id)
            build = PROVIDERS.find(found[0]) if found else None
            if found is None or build is None:
                near = suggest(spec.id.split(":")[0], (name.split(":")[0] for name in PROVIDERS.names()))
                cure = near or "one of " + ", ".join(PROVIDERS.names())
                raise ConfigError.at(f"no such provider `{spec.id}`", spec.origin, cure)
            options.check(spec, build)
            env = {**self.suite.env, **spec.env}
            setting = Setting(spec, found[1], self.client, env, self._open)
            self.pool[key] = build(setting)
            self.pool[key].id = spec.id
        return self.pool[key]

    def _open(self, reference: str, origin: Origin) -> bytes:
        return self.workspace.read(reference, self.folder, origin)

    def _models(self, kind: type[Grader], spec: Assertion, options: CaseOptions) -> Mapping[str, Provider]:
        near, far = (spec.graders, options.graders), (self._own(spec), self.suite.graders)
        return {need: self._model(need, spec, self._named(need, near, far)) for need in kind.asks.models}

    def _own(self, spec: Assertion) -> Graders:
        """The grader of the command line; an assertion that names a model gets that model of its provider."""
        if self.grader is None:
            return {}
        return {"*": self.grader, **({"text": serving(self.grader, spec.model_slug)} if spec.model_slug else {})}

    def _model(self, need: str, spec: Assertion, found: ProviderSpec | None) -> Provider:
        if found is None:
            what = "no grading model" if need == "text" else f"no {need} model for `{spec.type}`"
            raise ConfigError.at(f"{what} is configured", spec.origin, _how_to_serve(need, spec))
        provider = self.provider(self._configured(found))
        if need not in provider.kinds:
            what = f"`{spec.type}` needs a model of the kind {need}, and `{found.id}` is none"
            cure = f"give `provider: {{text: ..., {need}: ...}}`" if need != "text" else "name a chat model"
            raise ConfigError.at(what, found.origin if found.origin.line else spec.origin, cure)
        return provider

    def _named(self, need: str, near: Iterable[Graders], far: Iterable[Graders]) -> ProviderSpec | None:
        """The nearest model for the kind.

        What the assertion or its test names is meant; of the command line and of ``defaultTest``, a model of another
        kind leaves this one to the next.
        """
        meant = next((level.get(need) or level.get("*") for level in near if need in level or "*" in level), None)
        if meant is not None:
            return meant
        found = [spec for level in far if (spec := level.get(need) or level.get("*"))]
        fits = (spec for spec in found if need in self.provider(self._configured(spec)).kinds)
        return next(fits, found[0] if found else None)

    def _configured(self, spec: ProviderSpec) -> ProviderSpec:
        """A bare name of a configured target means that target with its settings."""
        if spec.config or spec.env:
            return spec
        return next((target for target in self.suite.targets if spec.id in (target.id, target.label)), spec)

    # --- assertions -------------------------------------------------------------------------------------------

    def assertion(self, spec: Assertion, options: CaseOptions, variables: Mapping[str, Any]) -> Binding:
        """Raises ConfigError with every mistake of the assertion."""
        if spec.type.removeprefix("not-") == SET:
            return self._set(spec, options, variables)
        return self._one(spec, options, variables)

    def _one(self, spec: Assertion, options: CaseOptions, variables: Mapping[str, Any]) -> Bound:
        kind = GRADERS.find(spec.type.removeprefix("not-"))
        if kind is None:
            raise _unknown(spec)
        if spec.members:
            raise ConfigError.at(f"`{spec.type}` takes no members", spec.origin, "only assert-set has `assert`")
        spec = _lifted(spec) if kind.written.lifted else spec
        errors: list[ConfigError] = []
        models: Mapping[str, Provider] = {}
        prompts = rubric.Rubric()
        try:
            models = self._models(kind, spec, options)
            prompts = self._rubric(kind, spec, options)
        except ConfigError as e:
            errors.append(e)
        try:
            grader = self._grader(kind, spec, options, variables)
        except ConfigError as e:
            raise ConfigError.join([e, *errors]) from e
        if errors:
            raise ConfigError.join(errors)
        return Bound(self._asserted(spec, grader, variables), grader, spec.threshold, models, prompts)

    def _asserted(self, spec: Assertion, grader: Grader, variables: Mapping[str, Any]) -> Asserted:
        return Asserted(
            type=spec.type,
            value=spec.value if spec.value is None else self._filled(spec, variables),
            weight=spec.weight,
            metric=self._metric(spec, variables),
            blocking=spec.blocking,
            config=spec.config,
            model_slug=spec.model_slug,
            origin=spec.origin,
        )

    def _set(self, spec: Assertion, options: CaseOptions, variables: Mapping[str, Any]) -> BoundSet:
        if not spec.members:
            raise ConfigError.at("the assert-set is empty", spec.origin, "give it `assert`")
        if spec.value is not None:
            raise ConfigError.at(f"`{spec.type}` takes no `value`", spec.origin, "give each member its own")
        for member in spec.members:
            base = member.type.removeprefix("not-")
            kind = GRADERS.find(base)
            if base == SET or (kind is not None and kind.compares):
                raise ConfigError.at(f"`{member.type}` cannot stand in an assert-set", member.origin, "move it out")
        members = tuple(self._one(member, options, variables) for member in spec.members)
        asserted = Asserted(
            type=spec.type,
            weight=spec.weight,
            metric=self._metric(spec, variables),
            # A set blocks as far as its members do: where none of them counts, nothing in it could block.
            blocking=spec.blocking and any(member.asserted.counts for member in members),
            is_set=True,
            origin=spec.origin,
        )
        return BoundSet(asserted, members, spec.threshold)

    def _grader(
        self, kind: type[Grader], spec: Assertion, options: CaseOptions, variables: Mapping[str, Any]
    ) -> Grader:
        names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # every grader is one
        given = dict(self._given(kind, names, spec, options, variables))
        try:
            grader = kind(**given)
        except ValidationError as e:
            raise ConfigError(*_option_mistakes(e, spec)) from e
        lacking = grader.needs(variables)
        if lacking:
            raise ConfigError.at(f"`{spec.type}`: {lacking}", spec.origin, "add it to `vars`")
        return grader

    def _given(
        self, kind: type[Grader], names: list[str], spec: Assertion, options: CaseOptions, variables: Mapping[str, Any]
    ) -> Iterator[tuple[str, Any]]:
        for name in options.settings:
            if name in names:
                yield name, options.settings[name]
        for name, value in spec.config.items():
            if name not in names or name in ("value", "threshold"):
                near = suggest(name, names) or "its options are " + (", ".join(names) or "none")
                raise ConfigError.at(f"`{spec.type}` has no option `{name}`", spec.origin, near)
            yield name, value
        if spec.context_transform:
            if "context_transform" not in names:
                raise ConfigError.at(f"`{spec.type}` has no `contextTransform`", spec.origin, "remove it")
            yield "context_transform", spec.context_transform
        if spec.threshold is not None and "threshold" in names:
            yield "threshold", spec.threshold
        if spec.value is not None:
            if "value" not in names:
                raise ConfigError.at(
                    f"`{spec.type}` takes no `value`", spec.origin, "remove it; a limit is `threshold`"
                )
            yield "value", self._filled(spec, variables)
        elif kind.written.value_or_prompt and not (spec.rubric_prompt or options.rubric_prompt):
            raise ConfigError.at(f"`{spec.type}` has no `value`", spec.origin, "say what to judge by")

    def _filled(self, spec: Assertion, variables: Mapping[str, Any]) -> Any:
        value = spec.value
        if isinstance(value, Verbatim | Mapping):
            return value  # text of a file, or a schema: no template
        try:
            return render_values(value, variables)
        except TemplateError as e:
            what = f"the value of `{spec.type}` cannot be filled in: {e}"
            raise ConfigError.at(what, spec.origin, "mend the template") from e

    def _rubric(self, kind: type[Grader], spec: Assertion, options: CaseOptions) -> rubric.Rubric:
        written = spec.rubric_prompt if spec.rubric_prompt is not None else options.rubric_prompt
        shared = spec.rubric_prompt is None and kind.asks.skips_shared_prompt and not isinstance(written, Mapping)
        if "text" not in kind.asks.models or shared:
            return rubric.Rubric()
        try:
            return rubric.parse(written, kind.asks.steps)
        except ValueError as e:
            raise ConfigError.at(f"`{spec.type}`: {e}", spec.origin, "correct `rubricPrompt`") from e

    def _metric(self, spec: Assertion, variables: Mapping[str, Any]) -> str:
        if not is_template(spec.metric):
            return spec.metric
        try:
            return render(spec.metric, variables)
        except TemplateError as e:
            raise ConfigError.at(f"the metric's name cannot be filled in: {e}", spec.origin, "mend it") from e


def _how_to_serve(need: str, spec: Assertion) -> str:
    slug = spec.model_slug
    if not slug:
        return NO_GRADER
    entry = f"{slug}: openai:chat:{slug}" if need == "text" else f"{need}: PROVIDER:MODEL"
    return f"say who serves it: `graders: {{{entry}}}` in the file" + (
        f", or --grader openai:chat:{slug}" if need == "text" else ""
    )


def check_options(options: CaseOptions, origin: Origin) -> list[Mistake]:
    """Keys of a test's ``options`` that no grader knows."""
    if not options.settings:
        return []
    known = {f.name for _, kind in GRADERS for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    strange = [name for name in options.settings if name not in known and name not in _IGNORED_OPTIONS]
    return [Mistake(f"unknown option `{name}`", origin, suggest(name, known) or "remove it") for name in strange]


def _lifted(spec: Assertion) -> Assertion:
    """DeepEval's ``threshold``, ``model`` and ``strict_mode`` in ``config`` as what they mean for the assertion."""
    config = dict(spec.config)
    threshold, model = config.pop("threshold", None), config.pop("model", None)
    threshold = threshold if spec.threshold is None else spec.threshold
    if not isinstance(model, str | None):
        raise ConfigError.at(f"`{spec.type}`: `model` is no text", spec.origin, "name a model, or give `provider`")
    graders = spec.graders
    if model and not graders:
        named = model if split_id(model) else f"openai:chat:{model}"
        graders = {"*": ProviderSpec(named, origin=spec.origin)}
    if config.get("strict_mode") is True:
        threshold = 1.0
    return dataclasses.replace(spec, config=config, threshold=threshold, graders=graders)


def _unknown(spec: Assertion) -> ConfigError:
    base = spec.type.removeprefix("not-")
    if base in _CODE:
        cure = "use contains, regex, is-json or llm-rubric, or let the target check itself"
        return ConfigError.at(f"`{spec.type}` runs code, which gradegate does not run", spec.origin, cure)
    if base in _OTHERS or base.startswith("promptfoo:"):
        cure = "remove it here, or keep it for promptfoo in a file of its own"
        return ConfigError.at(f"`{spec.type}` is promptfoo's, and gradegate does not have it", spec.origin, cure)
    near = suggest(base, [*GRADERS.names(), SET])
    return ConfigError.at(f"unknown assertion type `{spec.type}`", spec.origin, near or "see `gradegate list`")


def _option_mistakes(error: ValidationError, spec: Assertion) -> Iterator[Mistake]:
    """One for each option: of the branches of a union that were tried, the last is said."""
    by_option = {}
    for found in error.errors(include_url=False):
        steps = [str(step) for step in found["loc"] if re.fullmatch(r"\w+", str(step))]
        by_option[".".join(steps) or "value"] = found
    for name, found in by_option.items():
        yield _option_mistake("contextTransform" if name == "context_transform" else name, found, spec)


def _option_mistake(name: str, found: Any, spec: Assertion) -> Mistake:
    if found["type"] in ("missing", "missing_argument"):
        return Mistake(f"`{spec.type}` has no `{name}`", spec.origin, "add it")
    text = found["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if found["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        text = "is not an option"
    return Mistake(f"`{spec.type}`: `{name}` {text[0].lower() + text[1:]}", spec.origin, "correct it")
