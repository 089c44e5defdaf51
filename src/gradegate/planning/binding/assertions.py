"""Binds the assertions of a case: each gets its evaluator, with options filled in and checked, and its graders."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import ValidationError

from gradegate.assertions.grading.bound import Binding, BoundAssertion, BoundSet
from gradegate.assertions.grading.evaluator import BY_ANSWER, EVALUATORS, MAY_BE_EMPTY, Evaluator
from gradegate.assertions.judge.form import parse_number
from gradegate.assertions.judge.prose import strip_invisible
from gradegate.assertions.judge.rubric import NO_RUBRIC, Rubric, parse_rubric
from gradegate.config import unknown_keys
from gradegate.config.keys import STEERING, OptionKeys, key_names
from gradegate.config.unknown_keys import is_own
from gradegate.core.assertion import ASSERT_SET, Assertion
from gradegate.core.conversation import Turn, Variables
from gradegate.core.provider_spec import ProviderSpec, Verbatim
from gradegate.core.suite import CaseOptions, Idle
from gradegate.core.validation import explain_invalid
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.planning.binding.graders import GraderBinder
from gradegate.planning.binding.providers import ProviderBinder
from gradegate.planning.binding.tool_files import with_assertion_tools
from gradegate.planning.binding.unknown_types import unknown_type_error
from gradegate.planning.checks import scripts
from gradegate.planning.plan import with_members
from gradegate.providers.api.options import TEST_PARAMETERS
from gradegate.providers.api.provider import split_id
from gradegate.registry import suggest
from gradegate.results.grades import GradedAssertion
from gradegate.sandbox.repository_code import USE_OTHER_ASSERTION, check_allowed
from gradegate.structs import FrozenStruct, JsonObject, field_names, replace
from gradegate.templating.script import ScriptError, may_mention, show_code, transform_script
from gradegate.templating.template import TemplateError, is_template, render, render_values

BROUGHT = frozenset({"context", "retrieval_context"})  # variables that recorded answers may bring
# Fields of evaluators that only an assertion sets
_NOT_SHARED = frozenset({"value", "threshold", "config", "test", "context_transform"})
# A number in any notation, also a list of numbers or a percentage: `0.8`, `1,5`, `80 %`
_NUMBERS = re.compile(r"[\d.,%\s]+")
_cached_names = cache(field_names)


class Subject(FrozenStruct):
    """The case that assertions are bound for: its options, variables and conversation."""

    options: CaseOptions
    variables: Variables
    turns: tuple[Turn, ...] = ()
    brought: frozenset[str] = frozenset()  # variables that an answer may bring if the test has none
    about: JsonObject = {}  # the description, metadata and threshold of the test, for code


# --- assertions and sets --------------------------------------------------------------------------------------


def bind_assertion(graders: GraderBinder, spec: Assertion, subject: Subject) -> Binding:
    """Bind an assertion or an assert-set. Raises ConfigError with every mistake of it."""
    if _base_type(spec) == ASSERT_SET:
        return _bind_set(graders, spec, subject)
    return _bind_single(graders, spec, subject)


def _base_type(spec: Assertion) -> str:
    """The type without its ``not-``."""
    return spec.type.removeprefix("not-")


def _bind_set(graders: GraderBinder, spec: Assertion, subject: Subject) -> BoundSet:
    if not spec.members:
        raise ConfigError.at("the assert-set is empty", spec.origin, "give it `assert`")
    has_field = {"value": spec.value is not None, "transform": bool(spec.transform)}
    for name, is_written in has_field.items():
        if is_written:
            what = f"`{spec.type}` takes no `{name}`"
            raise ConfigError.at(what, spec.origin, "give each member its own")
    check_share(f"`{spec.type}`", spec.threshold, spec.origin)
    for member in spec.members:
        kind = EVALUATORS.find(_base_type(member))
        if _base_type(member) == ASSERT_SET or (kind is not None and kind.compares):
            what = f"`{member.type}` cannot be in an assert-set"
            raise ConfigError.at(what, member.origin, "move it out")

    members = []
    for member in spec.members:
        # The set says how a member is re-asked that does not say so itself.
        with_reask = replace(member, reask=member.reask or spec.reask)
        members.append(_bind_single(graders, with_reask, subject))
    asserted = GradedAssertion.from_assertion(
        spec,
        metric=_fill_in_metric(spec, subject.variables),
        # If no member counts, nothing in the set could block.
        blocking=spec.blocking and any(member.assertion.counts for member in members),
        is_set=True,
    )
    return BoundSet(asserted, tuple(members), spec.threshold, spec.other_fields)


def _bind_single(graders: GraderBinder, spec: Assertion, subject: Subject) -> BoundAssertion:
    kind = _find_evaluator(spec)
    spec = _with_resolved_fields(kind, spec, graders.providers)

    # Each step goes on after the mistakes of the step before, so that all of them are reported together.
    mistakes: list[Mistake] = []
    evaluator = None
    models = None
    with gather_mistakes(mistakes):
        options = dict(_evaluator_options(kind, spec, subject))
        evaluator = _make_evaluator(kind, options, spec, subject)
    with gather_mistakes(mistakes):
        models = graders.bind_graders(kind, spec, subject.options)
        rubric = _parse_rubric(kind, spec, subject.options)
    with gather_mistakes(mistakes):
        if kind.scoring.share:
            check_share(f"`{spec.type}`", spec.threshold, spec.origin)
        _check_transform(kind, spec)
    # A step may also fail without mistakes: they are reported already.
    if mistakes or evaluator is None or models is None:
        raise ConfigError(*dict.fromkeys(mistakes))

    value = None
    if spec.value is not None:
        value = show_code(options["value"])  # filled in
    metric = _fill_in_metric(spec, subject.variables)
    return BoundAssertion(
        GradedAssertion.from_assertion(spec, value=value, metric=metric),
        evaluator,
        spec.threshold,
        models,
        rubric,
        graders.reask_policy(kind, spec),
        spec.transform,
        graders.retries,
        spec.other_fields,
    )


def _find_evaluator(spec: Assertion) -> type[Evaluator]:
    """The evaluator of an assertion's type. Raises ConfigError if there is none, or if it may not be used here."""
    kind = EVALUATORS.find(_base_type(spec))
    if kind is None:
        raise unknown_type_error(spec)
    if spec.members:
        what = f"`{spec.type}` takes no members"
        raise ConfigError.at(what, spec.origin, "only assert-set has `assert`")
    if kind.runs_code:
        check_allowed(f"`{spec.type}`", spec.origin, USE_OTHER_ASSERTION)
    return kind


def _with_resolved_fields(
    kind: type[Evaluator], spec: Assertion, providers: ProviderBinder
) -> Assertion:
    """The assertion without DeepEval's keys and without an idle value, and with the tools that its files contain.

    Raises ConfigError.
    """
    names = option_names(kind)
    if "strict_mode" in names:
        spec = _with_deepeval_config(spec)
    if _has_idle_value(spec):
        spec = replace(spec, value=None)
    if "tools" in names:
        config = with_assertion_tools(
            spec.config, providers.workspace, providers.folder, spec.origin
        )
        spec = replace(spec, config=config)
    return spec


def _check_transform(kind: type[Evaluator], spec: Assertion) -> None:
    """Raise ConfigError for a ``transform`` that cannot be used."""
    if spec.transform and kind.compares:
        what = f"`{spec.type}` compares unchanged answers: it takes no `transform`"
        raise ConfigError.at(what, spec.origin, "write it into `options` of the test")
    name = f"`transform` of `{spec.type}`"
    scripts.check_script(transform_script, spec.transform, name, spec.origin)


def check_share(name: str, threshold: object, origin: Origin) -> None:
    """Raise ConfigError for a threshold that is not from 0 to 1, such as a percentage. Messages call its owner ``name``."""
    if isinstance(threshold, int | float) and not 0 <= threshold <= 1:
        what = f"the threshold of {name} must be from 0 to 1, not {threshold:g}"
        cure = "write a share such as 0.5"
        if 10 <= threshold <= 100:
            cure = f"write {threshold / 100:g}"
        raise ConfigError.at(what, origin, cure)


# --- an evaluator and its options -----------------------------------------------------------------------------


def _make_evaluator(
    kind: type[Evaluator], options: JsonObject, spec: Assertion, subject: Subject
) -> Evaluator:
    try:
        evaluator = kind(**options)
    except ValidationError as e:
        # One mistake for each option: of the branches of a union, the last one.
        details = {}
        for detail in e.errors(include_url=False):
            steps = [str(step) for step in detail["loc"] if re.fullmatch(r"\w+", str(step))]
            details[".".join(steps) or "value"] = detail
        mistakes = [_option_mistake(name, detail, spec) for name, detail in details.items()]
        raise ConfigError(*mistakes) from e

    brought = dict.fromkeys(subject.brought, BY_ANSWER)
    problem = evaluator.missing_variables({**brought, **subject.variables})
    if problem:
        raise ConfigError.at(f"`{spec.type}`: {problem}", spec.origin, "add it to `vars`")
    problem = evaluator.missing_in_turns(subject.turns, subject.variables)
    if problem:
        cure = "without it there is nothing to judge by"
        raise ConfigError.at(f"`{spec.type}`: {problem}", spec.origin, cure)
    return evaluator


def _evaluator_options(
    kind: type[Evaluator], spec: Assertion, subject: Subject
) -> Iterator[tuple[str, Any]]:
    """The options of an assertion by name; a later one wins. Raises ConfigError."""
    names = option_names(kind)
    for name, value in subject.options.settings.items():
        if name in names and is_shared(name):
            yield name, value

    # Code gets the whole `config`; any other evaluator an option for each of its keys.
    if "config" in names:
        yield "config", spec.config
        if may_mention(spec.value or "", "test"):
            yield "test", subject.about
    else:
        for name, value in spec.config.items():
            if name not in names or name in ("value", "threshold"):
                what = f"`{spec.type}` has no option `{name}`"
                cure = suggest(name, names) or f"its options are {', '.join(names) or 'none'}"
                raise ConfigError.at(what, spec.origin, cure)
            yield name, value

    if spec.context_transform:
        if "context_transform" not in names:
            what = f"`{spec.type}` has no `contextTransform`"
            raise ConfigError.at(what, spec.origin, "remove it")
        yield "context_transform", spec.context_transform
    if spec.threshold is not None and "threshold" in names:
        yield "threshold", spec.threshold

    if spec.value is not None:
        yield "value", _fill_in_value(kind, names, spec, subject)
        return
    # A grader with one question needs something to ask about.
    asks_one_question = "text" in kind.requires.models and not kind.requires.questions
    has_prompt = spec.rubric_prompt or subject.options.rubric_prompt
    if asks_one_question and "value" in names and not kind.needs_value() and not has_prompt:
        raise ConfigError.at(f"`{spec.type}` has no `value`", spec.origin, "say what to judge by")


def _fill_in_value(
    kind: type[Evaluator], names: Sequence[str], spec: Assertion, subject: Subject
) -> Any:
    if "value" not in names:
        cure = "remove it; a limit is `threshold`"
        if spec.threshold is None:
            threshold = parse_number(str(spec.value))
            if threshold is not None:
                cure = f"write `threshold: {threshold:g}` in its place"
        raise ConfigError.at(f"`{spec.type}` takes no `value`", spec.origin, cure)

    # The text of a file and a schema are no templates.
    value = spec.value
    if type(value) is str or not isinstance(value, Verbatim | Mapping):
        try:
            value = render_values(value, subject.variables)
        except TemplateError as e:
            what = f"the value of `{spec.type}` cannot be filled in: {e}"
            raise ConfigError.at(what, spec.origin, "correct the template") from e

    parts = value if isinstance(value, list) and value else [value]
    if not any(_is_empty(part) for part in parts):
        return value
    field = kind.__pydantic_fields__["value"]  # type: ignore[attr-defined]  # of pydantic
    if spec.value == "" and MAY_BE_EMPTY in field.metadata:
        return value
    what = f"the `value` of `{spec.type}` is empty"
    if value != spec.value:
        what += " once it is filled in"
    raise ConfigError.at(what, spec.origin, "say what to compare or judge with")


def _is_empty(part: Any) -> bool:
    return not strip_invisible(part) if isinstance(part, str) else part in ([], {})


def _parse_rubric(kind: type[Evaluator], spec: Assertion, options: CaseOptions) -> Rubric:
    if "text" not in kind.requires.models:
        return NO_RUBRIC
    prompt = spec.rubric_prompt
    if prompt is None:
        prompt = options.rubric_prompt
        if kind.skips_prompt(prompt):
            return NO_RUBRIC
    try:
        return parse_rubric(prompt, kind.requires.questions)
    except ValueError as e:
        raise ConfigError.at(f"`{spec.type}`: {e}", spec.origin, "correct `rubricPrompt`") from e


def _fill_in_metric(spec: Assertion, variables: Variables) -> str:
    if not is_template(spec.metric):
        return spec.metric
    try:
        return render(spec.metric, variables)
    except TemplateError as e:
        what = f"the metric's name cannot be filled in: {e}"
        raise ConfigError.at(what, spec.origin, "correct it") from e


def _with_deepeval_config(spec: Assertion) -> Assertion:
    """The assertion with the meaning of DeepEval's ``threshold``, ``model`` and ``strict_mode`` in its ``config``."""
    config = dict(spec.config)
    model = config.pop("model", None)
    threshold = spec.threshold
    if "threshold" in config:
        written = _parse_threshold(spec, config.pop("threshold"))
        threshold = written if threshold is None else threshold
    if not isinstance(model, str | None):
        what = f"`{spec.type}`: `model` is not text"
        raise ConfigError.at(what, spec.origin, "name a model, or give `provider`")
    graders = spec.graders
    if model and not graders:
        model_id = model if split_id(model) else f"openai:chat:{model}"
        graders = {"*": ProviderSpec(model_id, origin=spec.origin)}
    if config.get("strict_mode") is True:
        threshold = 1.0
    return replace(spec, config=config, threshold=threshold, graders=graders)


def _parse_threshold(spec: Assertion, written: Any) -> float:
    """A threshold in ``config``. Raises ConfigError if it is not a number."""
    if written is None:
        problem = "is empty"
        cure = "write a number, or remove it"
    else:
        threshold = None if isinstance(written, bool) else parse_number(written)
        if threshold is not None:
            return threshold
        problem = "is not a number"
        cure = unknown_keys.cure_for_removed_value("assertion", "threshold", written)
        cure = cure or "write one, such as 0.5"
    raise ConfigError.at(f"`{spec.type}`: `threshold` {problem}", spec.origin, cure)


def _option_mistake(option: str, detail: Any, spec: Assertion) -> Mistake:
    """The mistake of one option. ``detail`` is pydantic's error: a mapping with ``type``, ``msg`` and ``ctx``."""
    # A script that cannot be used: `value`, or code beside it
    error = detail.get("ctx", {}).get("error")
    if isinstance(error, ScriptError):
        if option == "context_transform":
            name = f"`contextTransform` of `{spec.type}`"
            return scripts.script_mistake(error, spec.context_transform, name, spec.origin)
        name = f"`{spec.type}`" if option == "value" else f"`{option}` of `{spec.type}`"
        return scripts.script_mistake(error, spec.value, name, spec.origin)

    key = "contextTransform" if option == "context_transform" else option
    match detail["type"]:
        case "missing" | "missing_argument":
            return Mistake(f"`{spec.type}` has no `{key}`", spec.origin, "add it")
        case "unexpected_keyword_argument" | "extra_forbidden":
            problem = "is not an option"
            cure = "remove it"
        case _:
            problem, cure = explain_invalid(detail)
    return Mistake(f"`{spec.type}`: `{key}` {problem}", spec.origin, cure)


# --- keys of a test that mean nothing -------------------------------------------------------------------------


def option_names(kind: type[Evaluator]) -> tuple[str, ...]:
    """The options of an evaluator."""
    return _cached_names(kind)  # type: ignore[arg-type]  # a class can be hashed


def check_case_options(options: CaseOptions, origin: Origin, idle: list[Idle]) -> list[Mistake]:
    """The unknown keys in a test's ``options``; keys that only document the test are added to ``idle``."""
    candidates = [
        name
        for name in options.settings
        if name not in STEERING and name not in TEST_PARAMETERS and not is_own(name)
    ]
    if not candidates:
        return []  # importing every evaluator takes as long as a small run

    evaluator_options = _shared_options()
    known = STEERING | TEST_PARAMETERS | evaluator_options | key_names(OptionKeys)
    mistakes = []
    for name in candidates:
        if name in evaluator_options:
            continue
        if unknown_keys.is_documentation(name):
            idle.append(Idle(name, origin))
            continue
        what, cure = unknown_keys.explain_unknown_key(name, "options", known)
        mistakes.append(Mistake(what.replace("unknown key", "unknown option"), origin, cure))
    return mistakes


@cache
def _shared_options() -> frozenset[str]:
    """The options of all evaluators that a test's ``options`` may set."""
    shared = set[str]()
    for _, kind in EVALUATORS:
        shared.update(filter(is_shared, option_names(kind)))
    return frozenset(shared)


def is_shared(name: str) -> bool:
    """Whether a test's ``options`` may set this option for its evaluators. Parameters of models are for the target."""
    return name not in TEST_PARAMETERS and name not in _NOT_SHARED


def idle_values(assertions: Iterable[Assertion]) -> Iterator[Idle]:
    """The ``value`` of each assertion whose type takes none."""
    for spec in with_members(assertions):
        if _has_idle_value(spec):
            yield Idle(f"value of {spec.type}", spec.origin)


def _has_idle_value(spec: Assertion) -> bool:
    """Whether the ``value`` means nothing. A number may be meant for the threshold, so it is a mistake instead."""
    value = spec.value
    if value is None or isinstance(value, int | float):
        return False
    kind = EVALUATORS.find(_base_type(spec))
    if kind is None or "value" in option_names(kind):
        return False
    return not (isinstance(value, str) and _NUMBERS.fullmatch(value))
