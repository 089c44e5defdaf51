"""What all reports say about a run as a whole: its budget, its cache, its cost and its derived metrics."""

from __future__ import annotations

from collections.abc import Iterator

from gradegate.reporting.visible import one_line
from gradegate.values.account import BudgetReport, CacheReport, DerivedMetric, Made
from gradegate.values.figures import figure, many, spent
from gradegate.values.result import Row, RunResult

HOUR, DAY = 3600, 86_400


def saved(run: RunResult) -> Iterator[str]:
    """A sentence on the cache and one on the budget, without a full stop, where the run has them."""
    if run.cache:
        yield from_cache(run.cache)
    if run.budget and (limits := _used(run.budget, run.seconds)):
        yield f"budget: {limits}" + (f"; {run.budget.used_up} are used up" if run.budget.used_up else "")


def from_cache(cache: CacheReport) -> str:
    """``8 of 10 answers from the cache, the oldest 3 days old, 0.12 USD saved``."""
    oldest = f", the oldest {age(cache.oldest)} old" if cache.hits else ""
    saved = f", {figure(cache.saved_usd)} USD saved" if cache.saved_usd else ""
    return f"{cache.hits:,} of {many(cache.looked_up, 'answer')} from the cache{oldest}{saved}"


def age(seconds: float) -> str:
    """``3 days``, ``5 hours``, ``less than an hour``; what has begun does not count."""
    if seconds >= DAY:
        return many(int(seconds // DAY), "day")
    return many(int(seconds // HOUR), "hour") if seconds >= HOUR else "less than an hour"


def took(run: RunResult) -> tuple[str, str]:
    """What the target took, and what the graders did."""
    targets = sum(bool(row.error) and not row.undone for row in run.rows)
    graders = sum(not row.error and (grade.unheard or grade.setup) for row in run.rows for grade in row.grades)
    recorded = [{model.replies_from for model in run.models if model.grades is grades} == {"file"} for grades in (False, True)]
    return spent(run.target_usage, targets, recorded[0]), spent(run.grader_usage, graders, recorded[1])


def _used(budget: BudgetReport, seconds: float) -> str:
    limits = budget.limits
    parts = [
        f"{budget.calls:,} of {many(limits.calls, 'call')}" if limits.calls is not None else "",
        f"{figure(budget.usd)} of {figure(limits.usd)} USD" if limits.usd is not None else "",
        f"{seconds:,.1f} of {figure(limits.seconds)} s" if limits.seconds is not None else "",
    ]
    return ", ".join(filter(None, parts))


COMMIT, CONFIG, TOOL, PART = "commit", "config-sha256", "gradegate-version", "part-of-the-gate"


def provenance(made: Made) -> Iterator[tuple[str, str]]:
    """Name and value of each that is known; the values are one visible line."""
    for name, value in ((COMMIT, made.commit), (CONFIG, made.digest), (TOOL, made.tool), (PART, made.only)):
        if value:
            yield name, one_line(value, 100)


# --- derived metrics ----------------------------------------------------------------------------------------------------


def worth(metric: DerivedMetric) -> str:
    """``0.8571``, or why there is no value; and over how many answers, where not all could be told."""
    said = one_line(metric.error, 300)
    value = f"could not be calculated: {said}" if metric.value is None else figure(metric.value)
    return value + (f" ({over(metric)})" if metric.left_out else "")


def over(metric: DerivedMetric) -> str:
    """``over 9 of 10 answers: the grades of the others are not known``."""
    answers = many(metric.answers + metric.left_out, "answer")
    return f"over {metric.answers:,} of {answers}; the others have no grade"


def of(asked: DerivedMetric | Row) -> str:
    """Of whose answers, and to which prompt."""
    return ", ".join(filter(None, (one_line(asked.provider, 80), one_line(asked.prompt_label, 60))))
