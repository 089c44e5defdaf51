"""Declares the keys of a config file: promptfoo's, and our own, such as ``gate`` and ``blocking``.

The docstrings of the classes are descriptions in the JSON Schema.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic.alias_generators import to_camel

from gradegate.core.field_types import Day, Number, PassOf, Share, Threshold, Whole
from gradegate.core.policy import LIMITS, NOISE, Limit, limit_key

Text = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if isinstance(value, int | float) else value),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]
Map = dict[str, Any]


class _Keys(BaseModel):
    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, protected_namespaces=(), defer_build=True
    )


# YAML reads `off` as false.
ReaskMode = Annotated[
    Literal["off", "grader", "answers"],
    BeforeValidator(lambda value: "off" if value is False else value),
]


class AssertionKeys(_Keys):
    """One entry of ``assert``."""

    type: str
    value: Any = None
    threshold: Threshold = None
    weight: Annotated[Number, Field(ge=0)] = 1
    metric: Text = ""
    provider: Any = None
    rubric_prompt: Any = None
    config: Map = Field(default_factory=dict)
    blocking: bool = True
    reask: ReaskMode | None = None
    transform: Text = ""
    context_transform: Text = ""
    assert_: list[Map] | None = Field(None, alias="assert")


class OptionKeys(_Keys):
    """``options`` of a test."""

    # Evaluators find their own settings here, such as `factuality`.
    model_config = ConfigDict(extra="allow")

    provider: Any = None
    rubric_prompt: Any = None
    prefix: str = ""
    suffix: str = ""
    disable_var_expansion: bool = False
    disable_default_asserts: bool = False
    repeat: Annotated[Whole, Field(ge=1)] | None = None
    transform: Text = ""
    transform_vars: Text = ""


class TestKeys(_Keys):
    """One test, and ``defaultTest``."""

    description: Text = ""
    vars: Map | str | list[str] = Field(default_factory=dict)
    assert_: list[Map] | None = Field(None, alias="assert")
    options: OptionKeys | None = None
    rubric_prompt: Any = None
    threshold: Threshold = None
    metadata: Map = Field(default_factory=dict)
    provider: Any = None
    providers: list[str] | None = None
    prompts: list[str] | None = None
    provider_output: Any = None
    turns: list[Map] | str | None = None
    runs: PassOf | None = None
    flaky: Day | None = None


class ScenarioKeys(_Keys):
    """One of ``scenarios``: each entry of ``config`` is joined with each of its tests."""

    description: Text = ""
    config: Any
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
    metadata: dict[str, Text] = Field(default_factory=dict, alias="metadata.")

    @model_validator(mode="before")
    @classmethod
    def _gather_metadata(cls, written: Any) -> Any:
        """``metadata.KEY`` names a key of the test's metadata."""
        if not isinstance(written, Mapping):
            return written
        keys = {}
        patterns = {}
        for key, pattern in written.items():
            if isinstance(key, str) and key.startswith("metadata."):
                patterns[key.removeprefix("metadata.")] = pattern
            else:
                keys[key] = pattern
        if patterns:
            keys["metadata."] = patterns
        return keys


class _KebabKeys(_Keys):
    model_config = ConfigDict(alias_generator=limit_key)


def _limit_field(limit: Limit) -> tuple[Any, Any]:
    """The type and the default of a limit's key."""
    bounds = Field(ge=limit.least, le=limit.most, lt=limit.below)
    amount: Any = Annotated[Whole if limit.counts else Number, bounds]
    return amount | None, Field(None, description=limit.about)


# The limits of a rule; a gate of one rule may have these itself.
_limit_fields: Any = {name: _limit_field(limit) for name, limit in LIMITS.items()}
LimitKeys = create_model("LimitKeys", __base__=_KebabKeys, **_limit_fields)


class RuleKeys(LimitKeys):
    """One rule of the gate."""

    name: Text
    select: SelectKeys = Field(default_factory=SelectKeys)
    blocking: bool = True
    runs: PassOf | None = None


class IgnoreKeys(_Keys):
    """``errors: {ignore-up-to: SHARE}``."""

    ignore_up_to: Share = Field(alias="ignore-up-to")


class BudgetKeys(_Keys):
    """``budget``: what a run may take at most."""

    calls: Annotated[Whole, Field(ge=1)] | None = None
    usd: Annotated[Number, Field(gt=0)] | None = None
    seconds: Annotated[Number, Field(gt=0)] | None = None


class ReaskKeys(_Keys):
    """``reask``: how failures are graded again, and how noisy the grader is."""

    ask: ReaskMode = "grader"
    noise: Annotated[Number, Field(ge=0, le=0.25)] = NOISE


class LabelsKeys(_Keys):
    """``labels``: a file of labelled outputs."""

    file: str
    agreement: Share | None = None


class GateKeys(LimitKeys):
    """The ``gate`` block."""

    reask: ReaskMode | ReaskKeys = "grader"
    rules: list[RuleKeys] = Field(default_factory=list)
    errors: Literal["inconclusive", "block"] | IgnoreKeys = "inconclusive"
    weakening: Literal["report", "block"] = "report"
    labels: str | LabelsKeys | None = None
    budget: BudgetKeys | None = None
    runs: PassOf | None = None


class DerivedKeys(_Keys):
    """One of ``derivedMetrics``."""

    name: Text
    value: Text


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


class CommandLineKeys(_Keys):
    """``commandLineOptions``; what only concerns promptfoo's own display, cache and files is accepted and has no effect."""

    max_concurrency: Annotated[Whole, Field(ge=1)] | None = None
    repeat: Annotated[Whole, Field(ge=1)] | None = None
    grader: str | None = None
    description: Any = None
    tags: Any = None
    delay: Any = None
    verbose: Any = None
    cache: Any = None
    write: Any = None
    share: Any = None
    no_share: Any = None
    watch: Any = None
    table: Any = None
    table_cell_max_length: Any = None
    progress_bar: Any = None
    generate_suggestions: Any = None
    suggestions_count: Any = None
    env_path: Any = None


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
    assertion_templates: Any = None
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


class _Place(NamedTuple):
    """A place in a config: its name in the tables of `unknown_keys`, and where a message tells to write a key of it."""

    name: str
    where: str = ""


_PLACES: dict[type[BaseModel], _Place] = {
    ConfigKeys: _Place("root", "at the top of the file"),
    TestKeys: _Place("test", "into a test or `defaultTest`"),
    AssertionKeys: _Place("assertion", "into an assertion"),
    OptionKeys: _Place("options", "into `options` of a test or of `defaultTest`"),
    EvaluateKeys: _Place("evaluateOptions", "into `evaluateOptions`"),
    GateKeys: _Place("gate", "into the `gate` block"),
    RuleKeys: _Place("rule", "into a rule of the `gate` block"),
    SelectKeys: _Place("select"),
    IgnoreKeys: _Place("errors", "into `errors` of the `gate` block"),
    LabelsKeys: _Place("labels"),
    ReaskKeys: _Place("reask"),
    BudgetKeys: _Place("budget", "into `budget` of the `gate` block"),
    ProviderKeys: _Place("provider", "into a provider"),
    ScenarioKeys: _Place("scenario"),
    PromptKeys: _Place("prompt", "into a prompt"),
    CommandLineKeys: _Place("commandLineOptions"),
}
# Further keys of a test's `options`, by which promptfoo steers the test.
STEERING = frozenset({"disableConversationVar", "runSerially", "cache", "storeOutputAs"})
# Keys that change nothing of what is checked, here and in promptfoo.
INERT = frozenset(
    "tags sharing display outputPath writeLatestResults $schema tracing cache delay showProgressBar silent inputs "
    "generateSuggestions interactiveProviders maxConcurrency maxEvalTimeMs envPath runSerially".split()
)


def place_of(model: type[BaseModel] | None) -> str:
    """The name of the place where keys of a model are written; empty for an unknown model."""
    if model in _PLACES:
        return _PLACES[model].name
    return getattr(model, "place", "")


@cache
def key_names(model: type[BaseModel]) -> frozenset[str]:
    """The keys of a model, as configs write them."""
    return frozenset(field.alias or name for name, field in model.model_fields.items())


@cache
def where_key_belongs(key: str) -> str:
    """Where a known key is to be written, such as "into an assertion"; empty for an unknown key."""
    if key in STEERING - INERT:
        return _PLACES[OptionKeys].where
    for model, place in _PLACES.items():
        if place.where and key in key_names(model):
            return place.where
    return ""
