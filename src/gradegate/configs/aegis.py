"""The payloads of Aegis's API: the body of a custom run as it is sent, and the run object that comes back.

API: https://docs.aegisevals.ai/docs/api/evaluations/runs/create-run/create-custom-run
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gradegate.configs.keys import wrong_value
from gradegate.errors import Mistake, Origin
from gradegate.files.document import line_of
from gradegate.registry import suggest

FULL = 100  # the scale of thresholds and results
Threshold = Annotated[int, Field(strict=True, ge=0, le=FULL)] | None
_Flag = Annotated[bool, Field(strict=True)]
_Text = Annotated[str, Field(strict=True)]
_Slug = Annotated[_Text, Field(min_length=1)] | None


class _Keys(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, protected_namespaces=())


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

    metrics: list[Annotated[MetricKeys, BeforeValidator(lambda it: {"metric": it} if isinstance(it, str) else it)]] = Field(min_length=1)
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
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def mistakes(errors: Iterable[Any], content: Any, file: str, path: Sequence[str | int] = ()) -> list[Mistake]:
    """What pydantic found, each path once and at its line; ``path`` leads to what was checked."""
    # Pydantic puts the branch of a union into the location: a type, and no key of the file.
    branches = {"str", "constrained-str", "list"}
    located = [([*path, *(step for step in detail["loc"] if step not in branches and "[" not in str(step))], detail) for detail in errors]
    first = {tuple(steps): detail for steps, detail in reversed(located)}
    # A union has an error for each of its branches: the one that got furthest was meant.
    outer = {steps[:length] for steps in first for length in range(len(steps))}
    return [_mistake(detail, content, file, steps) for steps, detail in reversed(first.items()) if steps not in outer]


def _mistake(detail: Any, content: Any, file: str, steps: Sequence[str | int]) -> Mistake:
    origin, name = Origin(file, line_of(content, steps)), dotted(steps)
    if detail["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        # The keys that are allowed beside the last one.
        lists = [step for step in steps[:-1] if isinstance(step, str)]
        models: dict[str, type[BaseModel]] = {"evaluations": BlockKeys, "metrics": MetricKeys, "data": RowKeys}
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
    result: float | None = Field(description="The mean of aggregate_results; null when there is none.")
    threshold: float | None
    model_slug: str | None
    alias: str | None
    aggregate_results: dict[str, float]
    started_at: str | None
    finished_at: str | None
    is_gte_threshold: bool | None
    evaluations: list[Evaluation]
