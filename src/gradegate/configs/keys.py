"""The keys of a config file, checked by pydantic: promptfoo's, and our own ``gate`` and ``blocking``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from gradegate.bounded.bounds import MAX_MISTAKES
from gradegate.configs.limits import as_rule, is_limit
from gradegate.errors import Mistake, Origin
from gradegate.files.document import line_of
from gradegate.grading.numbers import Number, Share, Whole
from gradegate.registry import near, suggest
from gradegate.suite import NOISE

# What promptfoo knows and gradegate does not do: the key, and what to do instead.
UNSUPPORTED = {
    "extensions": "hooks run code, which gradegate does not run; prepare the run in an earlier step",
    "nunjucksFilters": "they are JavaScript; write the value in the form that you need",
    "redteam": "gradegate gates evals; run red teaming as its own job",
}


# Keys that are known, and written at the wrong level.
_TEST, _ASSERTION = "write it into a test or `defaultTest`", "write it into an assertion"
_OPTIONS = "write it into `options` of a test or of `defaultTest`"
MISPLACED = {
    "rubricPrompt": "write it into `options` of the test or of `defaultTest`, or into the assertion",
    "assert": _TEST,
    "vars": _TEST,
    "options": _TEST,
    "providerOutput": _TEST,
    "turns": _TEST,
    "threshold": "write it into a test or an assertion",
    "weight": _ASSERTION,
    "blocking": _ASSERTION,
    "contextTransform": _ASSERTION,
    "second-opinions": "write it into the `gate` block or an assertion",
    "confirm": "write it into the `gate` block or an assertion",
    "repeat": "write it into `evaluateOptions`, or into `options` of a test",
    "disableDefaultAsserts": _OPTIONS,
    "disableVarExpansion": _OPTIONS,
    "provider": "write it into a test or an assertion, or `providers` at the top of the file",
    "providers": "write it at the top of the file, or into a test",
    "prompts": "write it at the top of the file, or into a test",
    "tests": "write it at the top of the file",
    "defaultTest": "write it at the top of the file",
    "gate": "write it at the top of the file",
    "evaluateOptions": "write it at the top of the file",
}
Text = Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, int | float) else value)]
Map = dict[str, Any]


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, protected_namespaces=())


# YAML reads `off` as false.
Confirm = Annotated[
    Literal["off", "grader", "answers"], BeforeValidator(lambda value: "off" if value is False else value)
]
_OPINIONS = "models that grade a failure again, in turn, in place of the first grader"


class AssertionKeys(_Keys):
    """One entry of ``assert``."""

    type: str
    value: Any = None
    threshold: Number | None = None
    weight: Annotated[Number, Field(ge=0)] = 1
    metric: Text = ""
    provider: Any = None
    rubric_prompt: Any = None
    config: Map = Field(default_factory=dict)
    blocking: bool = Field(True, description="false: reported, and never fails the check")
    confirm: Confirm | None = Field(None, description="how a failure is asked again; wins over that of the gate")
    second_opinions: Any = Field(None, alias="second-opinions", description=_OPINIONS)
    transform: Text = ""
    context_transform: Text = ""
    assert_: list[Map] | None = Field(None, alias="assert", description="the members of an assert-set")


class OptionKeys(_Keys):
    """``options`` of a test."""

    model_config = ConfigDict(extra="allow")  # graders find their own settings here, such as `factuality`

    provider: Any = None
    rubric_prompt: Any = None
    prefix: str = ""
    suffix: str = ""
    disable_var_expansion: bool = False
    disable_default_asserts: bool = False
    repeat: Annotated[Whole, Field(ge=1)] | None = None
    transform: Text = ""
    postprocess: Text = Field("", description="promptfoo's older name of `transform`")
    transform_vars: Text = ""


class TestKeys(_Keys):
    """One test, and ``defaultTest``."""

    description: Text = ""
    vars: Map | str | list[str] = Field(default_factory=dict)
    assert_: list[Map] | None = Field(None, alias="assert")
    options: OptionKeys | None = None
    threshold: Number | None = None
    assert_scoring_function: Text = ""
    metadata: Map = Field(default_factory=dict)
    provider: Any = None
    providers: list[str] | None = None
    prompts: list[str] | None = None
    provider_output: Any = None
    turns: list[Map] | str | None = None


class ScenarioKeys(_Keys):
    """One of ``scenarios``: each entry of ``config`` is joined with each of its tests."""

    description: Text = ""
    config: Any = Field(description="tests without assertions of their own, or files that hold them")
    tests: Any = None


class ProviderKeys(_Keys):
    """A target or a grader as a mapping."""

    id: str
    label: Text = ""
    config: Map = Field(default_factory=dict)
    prompts: list[str] | None = None
    transform: Text = ""
    env: dict[str, Text] = Field(default_factory=dict)
    delay: Number | None = None
    inputs: Any = None


class PromptKeys(_Keys):
    """A prompt as a mapping."""

    id: str | None = None
    raw: str | None = None
    label: Text = ""
    display: Text = ""
    config: Map | None = None


class SelectKeys(_Keys):
    """Which grades a rule looks at; each pattern is a glob."""

    assertion: str = ""
    metric: str = ""
    provider: str = ""
    description: str = ""


class RuleKeys(_Keys):
    """One rule of the gate."""

    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "-"))

    name: Text
    select: SelectKeys = Field(default_factory=SelectKeys)
    min_pass_rate: Share | None = None
    min_score: Number | None = None
    min_cases: Annotated[Whole, Field(ge=1)] | None = Field(
        None, description="fewer that passed or failed are too few to tell"
    )
    confidence: Annotated[Number, Field(gt=0.5, lt=1)] | None = Field(
        None, description="the interval of the pass rate decides: the cases are a sample"
    )
    blocking: bool = True
    max_new_failures: Annotated[Whole, Field(ge=0)] | None = Field(
        None, description="cases that fail here and not on the base (--baseline, or compare: base)"
    )
    max_drop: Annotated[Number, Field(ge=0, lt=1)] | None = Field(
        None, description="share of the cases by which fewer may pass than on the base, where noise does not explain it"
    )


_RULES = tuple(field.alias or name for name, field in RuleKeys.model_fields.items())


class IgnoreKeys(_Keys):
    """``errors: {ignore-up-to: SHARE}``."""

    ignore_up_to: Share = Field(alias="ignore-up-to")


class BudgetKeys(_Keys):
    """``budget``: what a run may take at most."""

    calls: Annotated[Whole, Field(ge=1)] | None = Field(None, description="requests to models")
    usd: Annotated[Number, Field(gt=0)] | None = Field(None, description="US dollars; every price must be known")
    seconds: Annotated[Number, Field(gt=0)] | None = Field(None, description="from the start of the run")


class GateKeys(_Keys):
    """The ``gate`` block."""

    confirm: Confirm = Field(
        "grader", description="a failure is asked again: off, grader (the same answer), answers (a new one)"
    )
    noise: Annotated[Number, Field(ge=0, le=0.25)] = Field(
        NOISE, description="the share of good answers that the grader may fail, without a block"
    )
    second_opinions: Any = Field(None, alias="second-opinions", description=_OPINIONS)
    rules: list[RuleKeys] = Field(default_factory=list)
    errors: Literal["inconclusive", "block"] | IgnoreKeys = "inconclusive"
    changes: Literal["report", "block"] = Field(
        "report", description="what it comes to when a pull request weakens or changes its own gate (--base)"
    )
    budget: BudgetKeys | None = None
    compare: Literal["base"] | None = Field(
        None, description="base: its prompts are asked beside those of the pull request, in the same run (--base)"
    )


class DerivedKeys(_Keys):
    """One of ``derivedMetrics``."""

    name: Text
    value: Text = Field(description="an expression of mathjs over metrics, a function of JavaScript, or a file of it")


class EvaluateKeys(_Keys):
    """``evaluateOptions``; what only concerns promptfoo's own display and cache is accepted and has no effect."""

    max_concurrency: Annotated[Whole, Field(ge=1)] | None = None
    repeat: Annotated[Whole, Field(ge=1)] | None = None
    timeout_ms: Annotated[Number, Field(ge=0)] | None = None
    max_eval_time_ms: Any = None
    delay: Any = None
    cache: Any = None
    show_progress_bar: Any = None
    generate_suggestions: Any = None
    interactive_providers: Any = None
    silent: Any = None


class CommandLineKeys(EvaluateKeys):
    """``commandLineOptions``."""

    model_config = ConfigDict(extra="ignore")

    grader: str | None = None


class ConfigKeys(_Keys):
    """A config file: promptfoo's keys and the ``gate`` block."""

    schema_: Any = Field(None, alias="$schema")
    description: Text = ""
    tags: Any = None
    metadata: Any = None
    prompts: Any = None
    providers: Any = None
    targets: Any = None
    default_test: Map | str | None = None
    scenarios: Any = None
    assertion_templates: Any = Field(None, description="what `$ref: '#/assertionTemplates/NAME'` stands for")
    tests: Any = None
    env: dict[str, Text] = Field(default_factory=dict)
    evaluate_options: EvaluateKeys = Field(default_factory=EvaluateKeys)
    command_line_options: CommandLineKeys = Field(default_factory=CommandLineKeys)
    gate: GateKeys | None = None
    derived_metrics: list[Any] | None = None
    output_path: Any = None
    sharing: Any = None
    tracing: Any = None
    write_latest_results: Any = None


def mistakes(
    error: ValidationError, content: Any, file: str, path: Sequence[str | int] = (), keys: type[BaseModel] | None = None
) -> list[Mistake]:
    """What pydantic found, each at its line. ``path`` leads to the checked value within ``content``."""
    details = error.errors(include_url=False)
    said = [_mistake(detail, content, file, path, keys) for detail in details[:MAX_MISTAKES]]
    if len(details) > len(said):
        said.append(
            Mistake(f"{len(details) - len(said):,} more mistakes are here", said[0].origin, "correct these first")
        )
    return said


def _mistake(detail: Any, content: Any, file: str, path: Sequence[str | int], keys: type[BaseModel] | None) -> Mistake:
    location = [*path, *(step for step in detail["loc"] if not _is_branch(step))]
    origin = Origin(file, line_of(content, location))
    name = next((str(step) for step in reversed(location) if isinstance(step, str)), "the file")
    if detail["type"] == "extra_forbidden":
        if name in UNSUPPORTED:
            return Mistake(f"`{name}` is not supported", origin, UNSUPPORTED[name])
        if keys is ConfigKeys and is_limit(name):
            where = detail["loc"][:-1]
            what = f"`{name}` is no key of a rule" if "rules" in where else f"`{name}` decides nothing there"
            return Mistake(what, origin, as_rule(name, detail["input"], where))
        if name in MISPLACED:
            return Mistake(f"`{name}` does not belong here", origin, MISPLACED[name])
        if keys is ConfigKeys and len(detail["loc"]) == 1 and name in (*GateKeys.model_fields, *_RULES):
            return Mistake(f"`{name}` does not belong here", origin, "write it into the `gate` block")
        close = suggest(name, known_keys(keys, detail["loc"])) or _did_you_mean(near(name, MISPLACED))
        other = "write it into `config`" if keys is ProviderKeys else "remove it; keys of your own start with x-"
        return Mistake(f"unknown key `{name}`", origin, close or other)
    if detail["type"] == "missing":
        return Mistake(f"`{name}` is missing", origin, "add it")
    return wrong_value(name, detail, origin)


def _did_you_mean(name: str) -> str:
    return f'did you mean "{name}"? {MISPLACED[name]}' if name else ""


def wrong_value(name: str, detail: Any, origin: Origin) -> Mistake:
    """What pydantic says of a value, and the value where it is short."""
    value = detail.get("input")
    shown = f", not {value!r}" if isinstance(value, str | int | float | bool) and len(repr(value)) < 60 else ""
    text = detail["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return Mistake(f"`{name}` {text[0].lower() + text[1:]}{shown}", origin, "correct the value")


def _is_branch(step: Any) -> bool:
    """Pydantic puts the branch of a union into the location: a type, and no key of the file."""
    return isinstance(step, str) and (step in ("str", "IgnoreKeys") or "[" in step)


def known_keys(model: type[BaseModel] | None, location: Sequence[Any]) -> Iterable[str]:
    """The keys allowed where a location points, by walking the models' fields."""
    for step in location[:-1]:
        if model is None or isinstance(step, int):
            continue
        field = next((f for n, f in model.model_fields.items() if (f.alias or n) == step), None)
        model = _model_in(field.annotation) if field is not None else None
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in getattr(annotation, "__args__", ()) if (model := _model_in(part))), None)
