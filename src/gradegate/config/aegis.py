"""The payloads of Aegis's API: the body of a custom run, whose metrics become assertions, and the run object that comes back.

API: https://docs.aegisevals.ai/docs/api/evaluations/runs/create-run/create-custom-run
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.config.key_mistakes import distinct_details, wrong_value
from gradegate.core.assertion import Assertion
from gradegate.core.provider_spec import Graders, Verbatim
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.documents import origin_of, table
from gradegate.registry import suggest
from gradegate.structs import FrozenStruct, JsonObject, Struct, replace

FULL = 100  # the scale of thresholds and results
Threshold = Annotated[int, Field(strict=True, ge=0, le=FULL)] | None
Path = tuple[str | int, ...]  # of keys and of positions in lists
_Flag = Annotated[bool, Field(strict=True)]
_Text = Annotated[str, Field(strict=True)]
_Slug = Annotated[_Text, Field(min_length=1)] | None


class _Keys(BaseModel):
    model_config = ConfigDict(
        defer_build=True, extra="forbid", frozen=True, protected_namespaces=()
    )


class RowKeys(_Keys):
    """One entry of ``data``."""

    prompt: _Text | None = None
    input: _Text | None = None
    context: _Text | list[_Text] | None = None
    output: _Text | None = None
    golden_answer: _Text | None = None


class MetricKeys(_Keys):
    """One entry of ``metrics``."""

    metric: _Text
    metric_args: dict[str, Any] | None = None
    threshold: Threshold = None
    model_slug: _Slug = None


def _expand_shortname(written: Any) -> Any:
    """A metric without settings, which is written as its shortname only, as a mapping."""
    return {"metric": written} if isinstance(written, str) else written


class BlockKeys(_Keys):
    """One entry of ``evaluations``: every metric is applied to every row."""

    metrics: list[Annotated[MetricKeys, BeforeValidator(_expand_shortname)]] = Field(min_length=1)
    threshold: Threshold = None
    model_slug: _Slug = None
    data: list[RowKeys] = Field(min_length=1)


class RunKeys(_Keys):
    """The body of a custom run. ``graders`` is gradegate's own key: which provider serves a model."""

    threshold: Threshold = None
    model_slug: _Slug = None
    is_blocking: _Flag = False
    data_collection_id: Annotated[int, Field(strict=True)] | None = None
    alias: Annotated[_Text, Field(max_length=255)] | None = None
    evaluations: list[BlockKeys] = Field(min_length=1)
    graders: dict[str, Any] = Field(default_factory=dict)


def format_path(path: Iterable[str | int]) -> str:
    """A path as messages show it, such as ``evaluations[0].metrics[0].metric_args.n_runs``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


# --- what is wrong with a body --------------------------------------------------------------------------------


# The types that pydantic puts into a location as branches of a union
_BRANCHES = frozenset({"str", "constrained-str", "list"})
_MODELS_BY_LIST: Mapping[str, type[BaseModel]] = {
    "evaluations": BlockKeys,
    "metrics": MetricKeys,
    "data": RowKeys,
}


def explain_errors(
    details: Iterable[Any], content: Any, file: str, path: Path = ()
) -> list[Mistake]:
    """The mistakes behind pydantic's errors, each at its line. ``path`` leads to the checked value within ``content``."""
    mistakes = []
    for keys, detail in distinct_details(details, _BRANCHES).items():
        mistakes.append(_explain_error(detail, content, file, (*path, *keys)))
    return mistakes


def _explain_error(detail: Any, content: Any, file: str, path: Path) -> Mistake:
    origin = origin_of(file, content, *path)
    name = format_path(path)
    if detail["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        cure = suggest(str(path[-1]), _keys_beside(path)) or "remove it"
        return Mistake(f"`{name}` is an unknown key", origin, cure)
    if detail["type"] in ("missing", "missing_argument"):
        return Mistake(f"`{name}` is missing", origin, "add it")
    return wrong_value(name, detail, origin)


def _keys_beside(path: Path) -> list[str]:
    """The keys that are allowed next to the last key of a path."""
    outer_keys = [step for step in path[:-1] if isinstance(step, str)]
    if not outer_keys:
        return list(RunKeys.model_fields)
    model = _MODELS_BY_LIST.get(outer_keys[-1])
    return list(model.model_fields) if model else []


# --- the run object -------------------------------------------------------------------------------------------


class Evaluation(BaseModel):
    """One metric of one row. ``is_success`` says that it could be graded, ``is_gte_threshold`` that it passed."""

    model_config = ConfigDict(defer_build=True, protected_namespaces=())

    id: int
    run_id: int | None
    metric_shortname: str
    model_slug: str | None
    metric_args: dict[str, Any]
    threshold: float | None
    prompt: Any
    input: Any
    context: Any
    output: str | None
    golden_answer: Any
    result: float | None = Field(description="From 0 to 100; null when there is no verdict.")
    is_success: bool
    is_gte_threshold: bool | None
    explanation: str
    eval_metadata: dict[str, Any] | None
    evaluation_cost: float | None
    started_at: str | None
    finished_at: str | None


class Run(BaseModel):
    """The run object: a run with its evaluations."""

    model_config = ConfigDict(defer_build=True, protected_namespaces=())

    id: int | None
    user: str | None
    run_type: str
    run_source: str
    dataset: str | None
    data_collection: int | None
    number_of_metrics: int
    result: float | None = Field(
        description="The mean of aggregate_results; null when there is none."
    )
    threshold: float | None
    model_slug: str | None
    alias: str | None
    aggregate_results: dict[str, float]
    started_at: str | None
    finished_at: str | None
    is_gte_threshold: bool | None
    evaluations: list[Evaluation]


# --- metrics as assertions ------------------------------------------------------------------------------------


class MetricAssertion(FrozenStruct):
    """A metric that is graded here: its entry in the table, and its assertion without what a row adds."""

    shortname: str
    entry: Shortname
    assertion: Assertion

    def missing_fields(self, row: RowKeys) -> list[str]:
        """The fields that the metric needs and that a row does not have. An empty output is an answer too."""
        names = []
        for name in self.entry.needs:
            value = getattr(row, name)
            if value is None or (name != "output" and not _has_text(value)):
                names.append(name)
        return names

    def for_row(self, row: RowKeys) -> Assertion:
        """The assertion with the value of a row."""
        if not self.entry.value:
            return self.assertion
        return replace(self.assertion, value=Verbatim(getattr(row, self.entry.value)))


def _has_text(value: str | list[str]) -> bool:
    texts = [value] if isinstance(value, str) else value
    return any(text.strip() for text in texts)


class MetricReader(Struct):
    """Reads the metrics of one body as assertions."""

    content: Any
    file: str
    graders: Mapping[str, Graders]  # by slug; "" for a slug that the config names no graders for

    def origin_at(self, *path: str | int) -> Origin:
        """The place of the value at a path of the body."""
        return origin_of(self.file, self.content, *path)

    def read_metric(
        self, path: Path, keys: MetricKeys, threshold: int | None, slug: str | None
    ) -> MetricAssertion:
        """Read the metric at a path. ``threshold`` and ``slug`` are those of the block or run.

        Raises ConfigError with every mistake.
        """
        entry = self._find_entry(path, keys.metric)
        options = {**entry.always, **self._read_arguments((*path, "metric_args"), keys, entry)}

        if keys.threshold is not None:
            threshold = keys.threshold
        elif threshold is None:
            threshold = entry.threshold
        model = keys.model_slug or slug or ""
        assertion = Assertion(
            type=entry.assertion,
            threshold=threshold / FULL,
            metric="" if keys.metric == entry.assertion else keys.metric,
            graders=self.graders.get(model, self.graders[""]),
            config=options,
            model_slug=model,
            origin=self.origin_at(*path),
        )
        return MetricAssertion(keys.metric, entry, assertion)

    def _find_entry(self, path: Path, metric: str) -> Shortname:
        """The entry of a metric in the table. Raises ConfigError if the metric is not supported."""
        if metric in SHORTNAMES:
            return SHORTNAMES[metric]

        place = f"`{format_path(path)}`"
        if metric in UNSUPPORTED:
            what = f"{place}: `{metric}` is a metric of Aegis that is not supported: {UNSUPPORTED[metric]}"
            cure = "remove it here; docs/from-others.md lists what is supported"
        elif metric in REMOVED:
            what = f"{place}: `{metric}` is a metric of Aegis that is not supported"
            cure = f"write promptfooconfig.yaml, and use {REMOVED[metric]}"
        else:
            what = f"{place} names an unknown metric `{metric}`"
            cure = suggest(metric, [*SHORTNAMES, *UNSUPPORTED, *REMOVED])
        raise ConfigError.at(what, self.origin_at(*path), cure or "docs/from-others.md lists them")

    def _read_arguments(self, path: Path, keys: MetricKeys, entry: Shortname) -> JsonObject:
        """The arguments of a metric as options of the evaluator. Raises ConfigError with every mistake."""
        options = {}
        mistakes = []
        for name, value in (keys.metric_args or {}).items():
            if name in entry.args:
                if value is not None:
                    options[name] = value
                continue

            what = f"`{format_path((*path, name))}`: `{keys.metric}` has no such argument"
            if name in entry.lacks:
                what = f"{what} here, where `{entry.assertion}` judges it"
                cure = "remove it"
            else:
                arguments = ", ".join(entry.args) or "none"
                cure = suggest(name, entry.args) or f"its arguments are {arguments}"
            mistakes.append(Mistake(what, self.origin_at(*path, name), cure))

        mistakes += self._check_options(path, entry, options)
        if mistakes:
            raise ConfigError(*mistakes)
        return options

    def _check_options(self, path: Path, entry: Shortname, options: JsonObject) -> list[Mistake]:
        """What the evaluator refuses in its options. Fields of rows are checked later, when they are bound."""
        evaluator: Any = EVALUATORS.find(entry.assertion)
        try:
            evaluator(**options)
        except ValidationError as e:
            details = []
            for detail in e.errors(include_url=False):
                location = detail["loc"]
                if not location or location[0] in entry.args:  # else it is about a field of a row
                    details.append(detail)
            return explain_errors(details, self.content, self.file, path)
        return []


# --- metrics by their shortnames: https://docs.aegisevals.ai/docs/metrics -----------------------------------------


@dataclass(frozen=True, slots=True)
class Shortname:
    """How a metric with this shortname is graded here: by the assertion that means the same."""

    assertion: str
    needs: tuple[str, ...]  # fields that every row must have
    threshold: int  # the default of Aegis, from 0 to 100
    args: tuple[str, ...] = ()  # arguments of Aegis that are options of the evaluator
    lacks: tuple[str, ...] = ()  # arguments of Aegis without counterpart here
    value: str = ""  # the field of a row that becomes the value of the assertion
    # Fields of a row, by the variables that the evaluator reads
    variables: Mapping[str, str] = field(default_factory=dict)
    # Options that are set whatever the body says
    always: JsonObject = field(default_factory=dict)


_TABLE = table("config", "aegis.yaml")
SHORTNAMES = TypeAdapter(dict[str, Shortname]).validate_python(_TABLE["shortnames"])
# Metrics of Aegis that are not supported, with the reason
UNSUPPORTED: Mapping[str, str] = _TABLE["unsupported"]
# Metrics of Aegis that gradegate no longer supports, with the assertion to use in promptfooconfig.yaml
REMOVED: Mapping[str, str] = table("config", "removed.yaml")["types"]["Aegis"]
