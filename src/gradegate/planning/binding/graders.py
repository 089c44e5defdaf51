"""Chooses the models that grade an assertion: those that a config names, or else a vendor's or the default ones."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from gradegate.assertions.grading.bound import NEVER_REASK, ReaskPolicy
from gradegate.assertions.grading.evaluator import Evaluator
from gradegate.core.assertion import Assertion
from gradegate.core.provider_spec import UNREAD, Graders, ProviderSpec
from gradegate.core.suite import CaseOptions
from gradegate.errors import ConfigError
from gradegate.planning.binding.default_graders import (
    DEFAULT_KINDS,
    choose_default_graders,
    describe_default,
    without_any_key,
)
from gradegate.planning.binding.providers import (
    ProviderBinder,
    find_plugin,
    missing_keys,
    resolve_gateway,
)
from gradegate.providers.api.options import PLACEHOLDER
from gradegate.providers.api.provider import PROVIDERS, Provider, with_id, with_model
from gradegate.security.environment import VariableUse
from gradegate.structs import FrozenStruct, replace
from gradegate.templating.template import variables_used

# An id for each kind, as messages show it
_EXAMPLES = {
    "text": "openai:chat:MODEL",
    "embedding": "openai:embedding:MODEL",
    "classification": "huggingface:text-classification:MODEL",
    "moderation": "openai:moderation",
}
_GRADER_VARIABLES = {"prompt", "messages", "env"}  # what the templates of a grader may use
# Vendors that the beginning of a model's name tells: `gpt-5`, `chatgpt-4o-latest` and `o4-mini`, or `claude-sonnet-5`
_VENDORS = (
    (re.compile(r"(?:chat)?gpt-|o\d"), "openai:chat"),
    (re.compile(r"claude-"), "anthropic:messages"),
)
# A variable of the environment in the id of a model: `{DEPLOYMENT}`
_VARIABLE = re.compile(r"\{(\w+)\}")


class _Levels(FrozenStruct):
    """The graders that are configured for an assertion, in two groups of levels, each from the nearest level to the farthest."""

    near: tuple[Graders, Graders]  # of the assertion, and of its test
    far: tuple[Graders, Graders]  # of the command line, and of `defaultTest`


class _ConfiguredGrader(NamedTuple):
    spec: ProviderSpec
    is_for_kind: bool  # configured for this kind of model; otherwise for any kind


class GraderBinder(FrozenStruct):
    """Chooses and binds the models that grade the assertions of one suite."""

    providers: ProviderBinder
    # The variable that chooses the default graders. If it is empty, the first key that is set chooses.
    default_key: str = ""
    retries: int = 1  # how often an unreadable reply is asked for again
    # Models of another kind of the vendors of text graders, by the kind and the identity of the text grader's spec. The value
    # contains that spec, so no other spec can get the same identity.
    siblings: dict[tuple[str, int], tuple[ProviderSpec, Provider | None]] = {}
    defaults: dict[str, Provider] = {}  # by kind

    def bind_graders(
        self, evaluator: type[Evaluator], assertion: Assertion, options: CaseOptions
    ) -> Mapping[str, Provider]:
        """The models that an assertion asks, by their kind. Raises ConfigError."""
        suite = self.providers.suite
        option_graders = suite.option_graders
        text = option_graders.get("text") or option_graders.get("*")
        if text and assertion.model_slug:
            # An assertion that names a model gets that model of the command line's provider.
            option_graders = {**option_graders, "text": with_model(text, assertion.model_slug)}
        levels = _Levels((assertion.graders, options.graders), (option_graders, suite.graders))

        models = {}
        for requirement in evaluator.requires.models:
            # The similarity of two texts is a matter of embedding models, with or without vectors.
            kind = "embedding" if requirement == "similarity" else requirement
            model = self._find_grader(kind, assertion, levels)
            model.is_grader = True
            if requirement == "embedding" and not model.vectors:
                what = f"`{assertion.type}` needs vectors, and `{model.id}` only compares two texts"
                raise ConfigError.at(what, assertion.origin, "name an embedding model")
            models[kind] = model
        return models

    def reask_policy(self, evaluator: type[Evaluator], assertion: Assertion) -> ReaskPolicy:
        """How a failure of an assertion is re-asked."""
        mode = assertion.reask or self.providers.suite.policy.reask
        asks_model = "text" in evaluator.requires.models
        if evaluator.compares or (mode == "grader" and not asks_model):
            return NEVER_REASK
        return ReaskPolicy(mode, bool(assertion.reask))

    def _find_grader(self, kind: str, assertion: Assertion, levels: _Levels) -> Provider:
        """The model of a kind for an assertion. Raises ConfigError if there is none.

        The first of: a configured model, a model of the text grader's vendor, the model that the assertion names by a bare name,
        the default.
        """
        configured = self._configured_grader(kind, levels)
        if configured:
            provider = self._bind_configured(configured.spec)
            kinds = provider.kinds if configured.is_for_kind else provider.unasked_kinds
            if kind in kinds:
                _check_variables(provider)
                return provider

        # The vendor of the text grader may have a model of the kind, at the same host with the same key. Such a model does not
        # replace one that is configured for the kind.
        text_grader = None
        if not any(kind in level for level in (*levels.near, *levels.far)):
            text_grader = self._configured_grader("text", levels)
        if text_grader:
            sibling = self._find_sibling(kind, self._configured_target(text_grader.spec))
            if sibling:
                return sibling

        if configured:
            raise _wrong_kind_error(kind, configured.spec, assertion)
        return self._find_unconfigured_grader(kind, assertion, has_text_grader=bool(text_grader))

    def _configured_grader(self, kind: str, levels: _Levels) -> _ConfiguredGrader | None:
        """The nearest configured model for a kind, even if it turns out to be of another kind. None if there is none.

        A far level with a model for any kind counts only if that model can serve this kind, and the next level is asked
        otherwise. If no level can serve it, the first of these models is the configured one.
        """
        for level in levels.near:
            spec = level.get(kind) or level.get("*")
            if spec:
                return _ConfiguredGrader(spec, is_for_kind=True)

        first = None
        for level in levels.far:
            if kind in level:
                return _ConfiguredGrader(level[kind], is_for_kind=True)
            spec = level.get("*")
            if spec is None:
                continue
            configured = _ConfiguredGrader(spec, is_for_kind=False)
            if kind in self._bind_configured(spec).unasked_kinds:
                return configured
            first = first or configured
        return first

    def _bind_configured(self, spec: ProviderSpec) -> Provider:
        return self.providers.bind_provider(self._configured_target(spec))

    def _configured_target(self, spec: ProviderSpec) -> ProviderSpec:
        """The target of the suite that a bare id or label means, with its options. Otherwise the spec itself."""
        # An id that still has a placeholder is a mistake at its own line.
        if spec.config or spec.env or not spec.id or spec.id.endswith(f":{PLACEHOLDER}"):
            return spec
        for target in self.providers.suite.all_targets:
            if spec.id in target.names:
                return target
        return spec

    # --- other models of a vendor ---------------------------------------------------------------------------------

    def _find_sibling(self, kind: str, text_grader: ProviderSpec) -> Provider | None:
        """The model of another kind that the vendor of a text grader has. Raises ConfigError."""
        if text_grader is UNREAD:
            raise ConfigError  # reported already
        key = kind, id(text_grader)
        if key not in self.siblings:
            self.siblings[key] = text_grader, self._bind_sibling(kind, text_grader)
        return self.siblings[key][1]

    def _bind_sibling(self, kind: str, text_grader: ProviderSpec) -> Provider | None:
        """The model that the vendor's plug-in names for a kind. None if it names none, or if a variable in its id is not set."""
        build, _ = find_plugin(resolve_gateway(text_grader))
        template = getattr(build, "default_graders", {}).get(kind, "")

        uses: set[VariableUse] = set()
        env = self.providers.suite.env.with_literals(text_grader.env, text_grader.drawn)
        env = replace(env, uses=uses)
        model = _VARIABLE.sub(lambda match: env.read(match[1]), template)
        if not model or model.endswith(":"):
            return None

        spec = replace(with_id(text_grader, model), reads=text_grader.reads | uses)
        provider = self.providers.bind_provider(spec)
        label = "embeddings" if kind == "embedding" else kind
        provider.chosen = f"{label}: {model}, chosen since no other is named"
        _check_variables(provider)
        return provider

    # --- models that no config names ------------------------------------------------------------------------------

    def _find_unconfigured_grader(
        self, kind: str, assertion: Assertion, *, has_text_grader: bool
    ) -> Provider:
        """The model that the assertion names by a bare name, or else the default. Raises ConfigError if there is neither."""
        slug = assertion.model_slug
        if kind == "text":
            model_id = _id_of_slug(slug)
            if model_id:
                return self.providers.bind_provider(ProviderSpec(model_id, origin=assertion.origin))

        # Who names a text grader does not want the models of the default's vendor.
        if kind in DEFAULT_KINDS and not (has_text_grader or slug):
            if kind not in self.defaults:
                self.defaults[kind] = self._bind_default(kind, assertion)
            return self.defaults[kind]

        model = "grading model" if kind == "text" else f"{kind} model for `{assertion.type}`"
        what = f"no {model} is configured"
        raise ConfigError.at(what, assertion.origin, _how_to_configure(kind, slug))

    def _bind_default(self, kind: str, assertion: Assertion) -> Provider:
        """The model of the first vendor for which the environment has a key. Raises ConfigError if that vendor has none."""
        suite = self.providers.suite
        default = choose_default_graders(suite.env.variables, self.default_key)
        model = default.models.get(kind)
        if model is None:
            what = f"no {kind} model for `{assertion.type}` is configured, and the vendor of {default.key} has none"
            cure = _how_to_configure(kind, assertion.model_slug)
            raise ConfigError.at(what, assertion.origin, cure)

        # The `env` of a config must choose neither the host of the default grader nor its key.
        spec = ProviderSpec(model, origin=assertion.origin)
        env = replace(suite.env, literals={}, drawn={})
        provider = self.providers.bind_in_environment(spec, env)

        missing = missing_keys(provider, spec)
        if default.key is None:
            missing = [without_any_key(mistake, model) for mistake in missing]
        self.providers.missing.extend(missing)

        target_names: set[str] = set()
        for target in suite.all_targets:
            target_names.update(target.names)
        provider.chosen = describe_default(default, kind, target_names)
        return provider


def _check_variables(grader: Provider) -> None:
    """Raise ConfigError if the request of a grader asks for a variable that only targets get."""
    names = set[str]()
    for template in grader.templates:
        names |= variables_used(template)
    names -= _GRADER_VARIABLES
    if names:
        what = f"the grader `{grader.name}` asks for `{{{{{min(names)}}}}}`, but a grader gets no variables of a test"
        cure = "write {{prompt}}: it contains everything that the grader needs"
        raise ConfigError.at(what, grader.origin, cure)


def _id_of_slug(slug: str) -> str:
    """The id of a model that Aegis knows by a bare name, such as ``o4-mini``. Empty if the name tells no vendor."""
    for names, vendor in _VENDORS:
        if names.match(slug):
            return f"{vendor}:{slug}"
    return ""


def _how_to_configure(kind: str, slug: str) -> str:
    """A cure: what to write if no model of the kind is configured. ``slug`` is the bare name that the assertion has, if any."""
    if slug:
        entry = f"{kind}: PROVIDER:MODEL"
        option = f"{kind}=PROVIDER:MODEL"
        if kind == "text":
            entry = f"{slug}: openai:chat:{slug}"
            option = f"openai:chat:{slug}"
        return f"name its vendor: `graders: {{{entry}}}` in the file, or <--grader {option}>"
    example = _EXAMPLES[kind]
    key = f"`defaultTest.options.provider: {{{kind}: {example}}}`"
    return f"name a model with <--grader {kind}={example}>, with {key}, or with `provider` of the assertion"


def _wrong_kind_error(kind: str, spec: ProviderSpec, assertion: Assertion) -> ConfigError:
    """The mistake that the configured model cannot serve a kind. The cure is an example, of the same vendor if possible."""
    what = f"`{assertion.type}` needs a model of the kind {kind}, and `{spec.id}` is not one"
    origin = spec.origin if spec.origin.line else assertion.origin
    if kind == "text":
        return ConfigError.at(what, origin, "name a chat model")

    example = _EXAMPLES[kind]
    vendor = spec.id.partition(":")[0]
    if kind == "embedding" and _has_embeddings(vendor):
        example = f"{vendor}:embedding:MODEL"
    same_config = ""
    if spec.config.get("apiBaseUrl") or spec.config.get("apiHost"):
        same_config = ", with the same `config`"
    option = f"<--grader text={spec.id},{kind}={example}>"
    cure = f"name one for it: `provider: {{text: ..., {kind}: ...}}`{same_config}, or {option}"
    return ConfigError.at(what, origin, cure)


def _has_embeddings(vendor: str) -> bool:
    if PROVIDERS.find(f"{vendor}:embedding"):
        return True
    return bool(getattr(PROVIDERS.find(vendor), "embeds", False))
