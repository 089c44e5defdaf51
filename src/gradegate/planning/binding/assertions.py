"""Binds assertions: types to graders with their options, checked and filled in, and sets to their members."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import ValidationError

from gradegate.assertions.grading.bound import Binding, Bound, BoundSet
from gradegate.assertions.grading.evaluator import BY_ANSWER, GRADERS, MAY_BE_EMPTY, Evaluator
from gradegate.assertions.judge import rubric
from gradegate.assertions.judge.form import number
from gradegate.assertions.judge.prose import stripped
from gradegate.config import unknown_keys as wrongkeys
from gradegate.config.keys import STEERING, OptionKeys, key_names
from gradegate.config.unknown_keys import is_own
from gradegate.core.assertion import ASSERT_SET, Assertion
from gradegate.core.conversation import Turn, Variables
from gradegate.core.provider_spec import ProviderSpec, Verbatim
from gradegate.core.suite import CaseOptions, Idle
from gradegate.core.validation import explain_invalid
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.planning.binding import tool_files as toolfiles
from gradegate.planning.binding.models import ModelBinder
from gradegate.planning.binding.unknown_types import unknown_type_error
from gradegate.planning.checks import scripts
from gradegate.providers.api.options import TEST_PARAMETERS
from gradegate.providers.api.provider import split_id
from gradegate.registry import suggest
from gradegate.results.grades import GradedAssertion
from gradegate.sandbox.repository_code import USE_OTHER_ASSERTION, check_allowed
from gradegate.structs import FrozenStruct, JsonObject, names, replace
from gradegate.templating.script import ScriptError, may_mention, show_code, transform_script
from gradegate.templating.template import TemplateError, is_template, render, render_values

BROUGHT = frozenset({"context", "retrieval_context"})
# Fields of graders that an assertion sets alone.
_NO_OPTIONS = frozenset({"value", "threshold", "config", "test", "context_transform"})
_options_of = cache(names)


def option_names(kind: type[Evaluator]) -> tuple[str, ...]:
    """The options of a grader."""
    return _options_of(kind)  # type: ignore[arg-type]  # a class can be hashed


def check_options(options: CaseOptions, origin: Origin, idle: list[Idle]) -> list[Mistake]:
    """Keys of a test's ``options`` that nobody knows; what documents them is added to ``idle``."""
    free = [
        name
        for name in options.settings
        if name not in STEERING and name not in TEST_PARAMETERS and not is_own(name)
    ]
    if not free:
        return []  # without every grader's module, which takes as long to import as all of a small run
    strange = [name for name in free if name not in _grader_options()]
    idle += [Idle(name, origin) for name in strange if wrongkeys.is_documentation(name)]
    known = STEERING | TEST_PARAMETERS | _grader_options() | key_names(OptionKeys)
    mistakes = []
    for name in strange:
        if not wrongkeys.is_documentation(name):
            what, cure = wrongkeys.explain_unknown_key(name, "options", known)
            what = what.replace("unknown key", "unknown option")
            mistakes.append(Mistake(what, origin, cure))
    return mistakes


@cache
def _grader_options() -> frozenset[str]:
    return frozenset(name for _, kind in GRADERS for name in option_names(kind) if is_shared(name))


def is_shared(name: str) -> bool:
    """Whether a test's ``options`` may set it for its graders; parameters of models are those of the model under test."""
    return name not in TEST_PARAMETERS and name not in _NO_OPTIONS


class Subject(FrozenStruct):
    """What assertions are bound for: the options, the variables and the conversation of a case."""

    options: CaseOptions
    variables: Variables
    turns: tuple[Turn, ...] = ()
    # Variables that an answer may bring where the test has none.
    brought: frozenset[str] = frozenset()
    about: JsonObject = {}  # what the test says of itself


def bind(binder: ModelBinder, spec: Assertion, subject: Subject) -> Binding:
    """Raises ConfigError with every mistake of the assertion."""
    if spec.type.removeprefix("not-") == ASSERT_SET:
        return _set(binder, spec, subject)
    return _one(binder, spec, subject)


def _one(binder: ModelBinder, spec: Assertion, subject: Subject) -> Bound:
    kind = GRADERS.find(spec.type.removeprefix("not-"))
    if kind is None:
        raise unknown_type_error(spec)
    if spec.members:
        raise ConfigError.at(
            f"`{spec.type}` takes no members", spec.origin, "only assert-set has `assert`"
        )
    names = option_names(kind)
    if kind.runs_code:
        check_allowed(f"`{spec.type}`", spec.origin, USE_OTHER_ASSERTION)
    if "strict_mode" in names:
        spec = _lifted(spec)
    spec = _valued(spec, kind, binder.idle)
    if "tools" in names:
        config = toolfiles.of_assertion(spec.config, binder.workspace, binder.folder, spec.origin)
        spec = replace(spec, config=config)
    mistakes: list[Mistake] = []
    grader = models = None
    with gather_mistakes(mistakes):
        options = dict(_options(kind, spec, subject))
        grader = _grader(kind, options, spec, subject)
    with gather_mistakes(mistakes):
        models = binder.models(kind, spec, subject.options)
        prompts = _rubric(kind, spec, subject.options)
    with gather_mistakes(mistakes):
        if kind.scoring.share:
            check_share(f"`{spec.type}`", spec.threshold, spec.origin)
        if spec.transform:
            if kind.compares:
                what = f"`{spec.type}` compares unchanged answers: it takes no `transform`"
                raise ConfigError.at(what, spec.origin, "write it into `options` of the test")
            scripts.check(
                transform_script, spec.transform, f"`transform` of `{spec.type}`", spec.origin
            )
    if (
        mistakes or grader is None or models is None
    ):  # what is wrong with a model may be said already
        raise ConfigError(*dict.fromkeys(mistakes))
    asserted = GradedAssertion.of(
        spec,
        value=None if spec.value is None else show_code(options["value"]),
        metric=_metric(spec, subject.variables),
    )
    return Bound(
        asserted,
        grader,
        spec.threshold,
        models,
        prompts,
        binder.again(kind, spec),
        spec.transform,
        binder.grader_retries,
        spec.other_fields,
    )


def _set(binder: ModelBinder, spec: Assertion, subject: Subject) -> BoundSet:
    if not spec.members:
        raise ConfigError.at("the assert-set is empty", spec.origin, "give it `assert`")
    for name, is_empty in (("value", spec.value is None), ("transform", not spec.transform)):
        if not is_empty:
            what = f"`{spec.type}` takes no `{name}`"
            raise ConfigError.at(what, spec.origin, "give each member its own")
    check_share(f"`{spec.type}`", spec.threshold, spec.origin)
    for member in spec.members:
        base = member.type.removeprefix("not-")
        kind = GRADERS.find(base)
        if base == ASSERT_SET or (kind is not None and kind.compares):
            raise ConfigError.at(
                f"`{member.type}` cannot be in an assert-set", member.origin, "move it out"
            )
    members = []
    for member in spec.members:  # asked again as the set says, where it says nothing itself
        own = replace(member, reask=member.reask or spec.reask)
        members.append(_one(binder, own, subject))
    asserted = GradedAssertion.of(
        spec,
        metric=_metric(spec, subject.variables),
        # A set blocks as far as its members do: where none of them counts, nothing in it could block.
        blocking=spec.blocking and any(member.asserted.counts for member in members),
        is_set=True,
    )
    return BoundSet(asserted, tuple(members), spec.threshold, spec.other_fields)


def check_share(name: str, limit: object, origin: Origin) -> None:
    """A share is from 0 to 1, and so is a threshold on it. Raises ConfigError, for a 50 with the 0.5 to write."""
    if isinstance(limit, int | float) and not 0 <= limit <= 1:
        cure = f"write {limit / 100:g}" if 10 <= limit <= 100 else "write a share such as 0.5"
        raise ConfigError.at(
            f"the threshold of {name} must be from 0 to 1, not {limit:g}", origin, cure
        )


# --- a grader and its options ---------------------------------------------------------------------------------


def _grader(
    kind: type[Evaluator], options: JsonObject, spec: Assertion, subject: Subject
) -> Evaluator:
    try:
        grader = kind(**options)
    except ValidationError as e:
        # One for each option: of the branches of a union that were tried, the last is said.
        by_option = {}
        for detail in e.errors(include_url=False):
            steps = [str(step) for step in detail["loc"] if re.fullmatch(r"\w+", str(step))]
            by_option[".".join(steps) or "value"] = detail
        raise ConfigError(
            *(_option_mistake(name, detail, spec) for name, detail in by_option.items())
        ) from e
    brought = dict.fromkeys(subject.brought, BY_ANSWER)
    if lacking := grader.needs({**brought, **subject.variables}):
        raise ConfigError.at(f"`{spec.type}`: {lacking}", spec.origin, "add it to `vars`")
    if lacking := grader.needs_turns(subject.turns, subject.variables):
        cure = "without it there is nothing to judge by"
        raise ConfigError.at(f"`{spec.type}`: {lacking}", spec.origin, cure)
    return grader


def _options(kind: type[Evaluator], spec: Assertion, subject: Subject) -> Iterator[tuple[str, Any]]:
    names = option_names(kind)
    settings = subject.options.settings.items()
    yield from ((name, value) for name, value in settings if name in names and is_shared(name))
    is_given_all = "config" in names
    if is_given_all:
        yield "config", spec.config
        if may_mention(spec.value or "", "test"):
            yield "test", subject.about
    for name, value in spec.config.items() if not is_given_all else ():
        if name not in names or name in ("value", "threshold"):
            near = suggest(name, names) or "its options are " + (", ".join(names) or "none")
            raise ConfigError.at(f"`{spec.type}` has no option `{name}`", spec.origin, near)
        yield name, value
    if spec.context_transform:
        if "context_transform" not in names:
            raise ConfigError.at(
                f"`{spec.type}` has no `contextTransform`", spec.origin, "remove it"
            )
        yield "context_transform", spec.context_transform
    if spec.threshold is not None and "threshold" in names:
        yield "threshold", spec.threshold
    if spec.value is not None:
        yield "value", _value(kind, names, spec, subject)
    elif (
        "text" in kind.requires.models
        and not kind.requires.questions
        and "value" in names
        and not kind.needs_value()
        and not (spec.rubric_prompt or subject.options.rubric_prompt)
    ):  # one question about nothing
        raise ConfigError.at(f"`{spec.type}` has no `value`", spec.origin, "say what to judge by")


def _valued(spec: Assertion, kind: type[Evaluator], idle: list[Idle]) -> Assertion:
    """The assertion without a ``value`` that means nothing; a number or a share may be meant for the threshold."""
    value = spec.value
    if value is None or "value" in option_names(kind):
        return spec
    if isinstance(value, int | float) or (
        isinstance(value, str) and re.fullmatch(r"[\d.,%\s]+", value)
    ):
        return spec
    idle.append(Idle(f"value of {spec.type}", spec.origin))
    return replace(spec, value=None)


def _value(kind: type[Evaluator], names: Sequence[str], spec: Assertion, subject: Subject) -> Any:
    if "value" not in names:
        limit = number(str(spec.value)) if spec.threshold is None else None
        cure = (
            "remove it; a limit is `threshold`"
            if limit is None
            else f"write `threshold: {limit:g}` in its place"
        )
        raise ConfigError.at(f"`{spec.type}` takes no `value`", spec.origin, cure)
    value = spec.value
    if type(value) is str or not isinstance(
        value, Verbatim | Mapping
    ):  # text of a file, or a schema: no template
        try:
            value = render_values(value, subject.variables)
        except TemplateError as e:
            what = f"the value of `{spec.type}` cannot be filled in: {e}"
            raise ConfigError.at(what, spec.origin, "correct the template") from e
    parts = value if isinstance(value, list) and value else [value]
    empty = any(not stripped(part) if isinstance(part, str) else part in ([], {}) for part in parts)
    may_be_empty = MAY_BE_EMPTY in kind.__pydantic_fields__["value"].metadata  # type: ignore[attr-defined]  # of pydantic
    if empty and (spec.value != "" or not may_be_empty):
        what = f"the `value` of `{spec.type}` is empty" + (
            " once it is filled in" if value != spec.value else ""
        )
        raise ConfigError.at(what, spec.origin, "say what to compare or judge with")
    return value


def _rubric(kind: type[Evaluator], spec: Assertion, options: CaseOptions) -> rubric.Rubric:
    written = spec.rubric_prompt if spec.rubric_prompt is not None else options.rubric_prompt
    is_shared_prompt = spec.rubric_prompt is None
    if "text" not in kind.requires.models or (is_shared_prompt and kind.skips_prompt(written)):
        return rubric.NO_RUBRIC
    try:
        return rubric.parse(written, kind.requires.questions)
    except ValueError as e:
        raise ConfigError.at(f"`{spec.type}`: {e}", spec.origin, "correct `rubricPrompt`") from e


def _metric(spec: Assertion, variables: Variables) -> str:
    if not is_template(spec.metric):
        return spec.metric
    try:
        return render(spec.metric, variables)
    except TemplateError as e:
        raise ConfigError.at(
            f"the metric's name cannot be filled in: {e}", spec.origin, "correct it"
        ) from e


def _lifted(spec: Assertion) -> Assertion:
    """DeepEval's ``threshold``, ``model`` and ``strict_mode`` in ``config`` as what they mean for the assertion."""
    config = dict(spec.config)
    model, threshold = config.pop("model", None), spec.threshold
    if "threshold" in config:
        limit = _limit(spec, config.pop("threshold"))
        threshold = limit if threshold is None else threshold
    if not isinstance(model, str | None):
        raise ConfigError.at(
            f"`{spec.type}`: `model` is not text", spec.origin, "name a model, or give `provider`"
        )
    graders = spec.graders
    if model and not graders:
        named = model if split_id(model) else f"openai:chat:{model}"
        graders = {"*": ProviderSpec(named, origin=spec.origin)}
    if config.get("strict_mode") is True:
        threshold = 1.0
    return replace(spec, config=config, threshold=threshold, graders=graders)


def _limit(spec: Assertion, written: Any) -> float:
    """A threshold in ``config``. Raises ConfigError if it is not a number."""
    if written is None:
        what, cure = "is empty", "write a number, or remove it"
    elif isinstance(written, bool) or (limit := number(written)) is None:
        what = "is not a number"
        cure = (
            wrongkeys.cure_for_removed_value("assertion", "threshold", written)
            or "write one, such as 0.5"
        )
    else:
        return limit
    raise ConfigError.at(f"`{spec.type}`: `threshold` {what}", spec.origin, cure)


def _option_mistake(name: str, detail: Any, spec: Assertion) -> Mistake:
    name = "contextTransform" if name == "context_transform" else name
    error = detail.get("ctx", {}).get("error")
    if isinstance(error, ScriptError):
        code = spec.context_transform if name == "contextTransform" else spec.value
        what = f"`{spec.type}`" if name == "value" else f"`{name}` of `{spec.type}`"
        return scripts.mistake(error, code, what, spec.origin)
    if detail["type"] in ("missing", "missing_argument"):
        return Mistake(f"`{spec.type}` has no `{name}`", spec.origin, "add it")
    if detail["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return Mistake(f"`{spec.type}`: `{name}` is not an option", spec.origin, "remove it")
    what, cure = explain_invalid(detail)
    return Mistake(f"`{spec.type}`: `{name}` {what}", spec.origin, cure)
