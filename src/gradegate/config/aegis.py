"""The payloads of Aegis's API: the body of a custom run, whose metrics become assertions, and the run object that comes back.

API: https://docs.aegisevals.ai/docs/api/evaluations/runs/create-run/create-custom-run
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from gradegate.assertions.grading.evaluator import EVALUATORS
from gradegate.config.key_mistakes import wrong_value
from gradegate.core.assertion import Assertion
from gradegate.core.provider_spec import Graders, Verbatim
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.documents import origin_of, table
from gradegate.registry import suggest
from gradegate.structs import FrozenStruct, JsonObject, Struct, replace

FULL = 100  # the scale of thresholds and results
Threshold = Annotated[int, Field(strict=True, ge=0, le=FULL)] | None
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
    """One entry of ``metrics``; a bare shortname is read as one without settings."""

    metric: _Text
    metric_args: dict[str, Any] | None = None
    threshold: Threshold = None
    model_slug: _Slug = None


class BlockKeys(_Keys):
    """One entry of ``evaluations``: every metric is applied to every row."""

    metrics: list[
        Annotated[
            MetricKeys, BeforeValidator(lambda it: {"metric": it} if isinstance(it, str) else it)
        ]
    ] = Field(min_length=1)
    threshold: Threshold = None
    model_slug: _Slug = None
    data: list[RowKeys] = Field(min_length=1)


class RunKeys(_Keys):
    """The body; ``graders`` is our own key and says which provider serves a model."""

    threshold: Threshold = None
    model_slug: _Slug = None
    is_blocking: _Flag = False
    data_collection_id: Annotated[int, Field(strict=True)] | None = None
    alias: Annotated[_Text, Field(max_length=255)] | None = None
    evaluations: list[BlockKeys] = Field(min_length=1)
    graders: dict[str, Any] = Field(default_factory=dict)


def dotted(path: Iterable[str | int]) -> str:
    """``evaluations[0].metrics[0].metric_args.n_runs``."""
    return "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" for step in path
    ).removeprefix(".")


def mistakes(
    errors: Iterable[Any], content: Any, file: str, path: Sequence[str | int] = ()
) -> list[Mistake]:
    """What pydantic found, each path once and at its line; ``path`` leads to what was checked."""
    # Pydantic puts the branch of a union into the location: a type, and no key of the file.
    branches = {"str", "constrained-str", "list"}
    first: dict[Path, Any] = {}
    for detail in errors:
        steps = (it for it in detail["loc"] if it not in branches and "[" not in str(it))
        first.setdefault((*path, *steps), detail)
    # A union has an error for each of its branches: the one that got furthest was meant.
    outer = {steps[:length] for steps in first for length in range(len(steps))}
    return [
        _mistake(detail, content, file, steps)
        for steps, detail in first.items()
        if steps not in outer
    ]


def _mistake(detail: Any, content: Any, file: str, steps: Sequence[str | int]) -> Mistake:
    origin, name = origin_of(file, content, *steps), dotted(steps)
    if detail["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        # The keys that are allowed beside the last one.
        lists = [step for step in steps[:-1] if isinstance(step, str)]
        models: dict[str, type[BaseModel]] = {
            "evaluations": BlockKeys,
            "metrics": MetricKeys,
            "data": RowKeys,
        }
        model = models.get(lists[-1]) if lists else RunKeys
        near = suggest(str(steps[-1]), list(model.model_fields) if model else [])
        return Mistake(f"`{name}` is an unknown key", origin, near or "remove it")
    if detail["type"] in ("missing", "missing_argument"):
        return Mistake(f"`{name}` is missing", origin, "add it")
    return wrong_value(name, detail, origin)


# --- what comes back ------------------------------------------------------------------------------------------


class Evaluation(BaseModel):
    """One metric of one row. ``is_success`` says that it could be judged, ``is_gte_threshold`` that it passed."""

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
    """A run with its evaluations."""

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


Path = tuple[str | int, ...]


class MetricAssertion(FrozenStruct):
    """A metric that is judged here: its entry in the table, and its assertion without what a row adds."""

    shortname: str
    entry: Shortname
    assertion: Assertion

    def lacks(self, row: RowKeys) -> list[str]:
        """The fields that it needs and a row does not have; an empty output is an answer all the same."""
        lacking = []
        for name in self.entry.needs:
            value = getattr(row, name)
            texts = value if isinstance(value, list) else [value or ""]
            if value is None or (name != "output" and not any(map(str.strip, texts))):
                lacking.append(name)
        return lacking

    def of(self, row: RowKeys) -> Assertion:
        """The assertion of one row."""
        if not self.entry.value:
            return self.assertion
        return replace(self.assertion, value=Verbatim(getattr(row, self.entry.value)))


class MetricReader(Struct):
    """Reads the metrics of one payload as assertions."""

    content: Any
    file: str
    graders: Mapping[str, Graders]  # by slug; "" for those that the map of graders does not name

    def at(self, path: Sequence[str | int]) -> Origin:
        """The line of a path."""
        return origin_of(self.file, self.content, *path)

    def assertion(
        self, path: Path, keys: MetricKeys, threshold: int | None, slug: str | None
    ) -> MetricAssertion:
        """``threshold`` and ``slug`` are those of the block or run. Raises ConfigError with every mistake."""
        entry, origin, where = SHORTNAMES.get(keys.metric), self.at(path), dotted(path)
        if keys.metric in UNSUPPORTED:
            what = f"`{where}`: `{keys.metric}` is a metric of Aegis that is not supported: {UNSUPPORTED[keys.metric]}"
            raise ConfigError.at(
                what, origin, "remove it here; docs/aegis.md lists what is supported"
            )
        if keys.metric in REMOVED:
            what = f"`{where}`: `{keys.metric}` is a metric of Aegis that is not supported"
            cure = f"write promptfooconfig.yaml, and use {REMOVED[keys.metric]}"
            raise ConfigError.at(what, origin, cure)
        if entry is None:
            cure = suggest(keys.metric, [*SHORTNAMES, *UNSUPPORTED, *REMOVED])
            what = f"`{where}` names an unknown metric `{keys.metric}`"
            raise ConfigError.at(what, origin, cure or "docs/aegis.md lists them")
        options = {**entry.always, **self._options((*path, "metric_args"), keys, entry)}
        model = keys.model_slug or slug or ""
        levels = (keys.threshold, threshold, entry.threshold)
        limit = next(level for level in levels if level is not None)
        assertion = Assertion(
            type=entry.assertion,
            threshold=limit / FULL,
            metric="" if keys.metric == entry.assertion else keys.metric,
            graders=self.graders.get(model, self.graders[""]),
            config=options,
            model_slug=model,
            origin=origin,
        )
        return MetricAssertion(keys.metric, entry, assertion)

    def _options(self, path: Path, keys: MetricKeys, entry: Shortname) -> dict[str, Any]:
        options, mistakes = {}, []
        for name, value in (keys.metric_args or {}).items():
            if name in entry.args:
                if value is not None:
                    options[name] = value
                continue
            what = f"`{dotted((*path, name))}`: `{keys.metric}` has no such argument"
            cure = "remove it"
            if name in entry.lacks:
                what = f"{what} here, where `{entry.assertion}` judges it"
            else:
                listed = ", ".join(entry.args) or "none"
                cure = suggest(name, entry.args) or f"its arguments are {listed}"
            mistakes.append(Mistake(what, self.at((*path, name)), cure))
        if mistakes := [*mistakes, *self._wrong(path, entry, options)]:
            raise ConfigError(*mistakes)
        return options

    def _wrong(self, path: Path, entry: Shortname, options: JsonObject) -> list[Mistake]:
        """What our grader has against the arguments; golden answers are checked row by row, when they are bound."""
        kind: Any = EVALUATORS.find(entry.assertion)
        try:
            kind(**options)
        except ValidationError as e:
            # What no argument sets comes from the row.
            details = e.errors(include_url=False)
            errors = [
                detail for detail in details if not detail["loc"] or detail["loc"][0] in entry.args
            ]
            return mistakes(errors, self.content, self.file, path)
        return []


# --- metrics by their shortnames: https://docs.aegisevals.ai/docs/metrics -----------------------------------------


@dataclass(frozen=True, slots=True)
class Shortname:
    """How a shortname is judged here, by the assertion that means the same.

    ``threshold`` is Aegis's default.
    """

    assertion: str
    needs: tuple[str, ...]  # fields that every row must have
    threshold: int
    args: tuple[str, ...] = ()  # its arguments, which are options of ours
    lacks: tuple[str, ...] = ()  # its arguments that have no counterpart here
    value: str = ""  # the field of a row that becomes the assertion's value
    variables: Mapping[str, str] = field(
        default_factory=dict
    )  # variable that our grader reads -> field of a row
    always: JsonObject = field(
        default_factory=dict
    )  # options that are set whatever the payload says


_TABLE = table("config", "aegis.yaml")
SHORTNAMES = TypeAdapter(dict[str, Shortname]).validate_python(_TABLE["shortnames"])
UNSUPPORTED: Mapping[str, str] = _TABLE["unsupported"]
REMOVED: Mapping[str, str] = table("config", "removed.yaml")["types"]["Aegis"]
