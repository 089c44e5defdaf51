"""The run object of the API of Aegis, with ``aggregate_results`` and one evaluation per verdict.

API: https://docs.aegisevals.ai/docs/api/evaluations/runs/get-run
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from gradegate.config.aegis import FULL, SHORTNAMES, Evaluation, Run
from gradegate.files.documents import encodable
from gradegate.reports.delivery.report import (
    REPORTS,
    Document,
    Links,
    Report,
    data_file,
    list_parts,
)
from gradegate.results.encoding import finite_or_none, to_plain_data
from gradegate.results.grades import Grade, Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision

_PASSED = {Outcome.PASS: True, Outcome.FAIL: False, Outcome.ERROR: None}


def render(decision: Decision, links: Links) -> Document:
    """Render the run object in parts of one evaluation each."""
    # The API has one run for one config, so facts of a config are left out if several were run together.
    suites = {row.suite for row in decision.run.rows}
    config = decision.run.about.get(suites.pop(), {}) if len(suites) == 1 else {}
    graded = [(row, grade) for row in decision.run.rows for grade in row.grades if not grade.inner]
    means = _mean_results(grade for _, grade in graded)
    times = _times(decision)
    run = Run(
        id=times.run_id,
        user=None,
        run_type="Custom",
        run_source="gradegate",
        dataset=None,
        data_collection=config.get("data_collection_id"),
        number_of_metrics=len({_shortname(grade) for _, grade in graded}),
        result=_float(sum(means.values(), Fraction(0)) / len(means)) if means else None,
        threshold=config.get("threshold"),
        model_slug=config.get("model_slug"),
        alias=config.get("alias"),
        aggregate_results={
            name: result for name, mean in means.items() if (result := _float(mean)) is not None
        },
        started_at=times.started_at,
        finished_at=times.finished_at,
        is_gte_threshold=_reaches_thresholds(decision),
        evaluations=[],
    )
    evaluations = (
        _evaluation(number, row, grade, times).model_dump_json()
        for number, (row, grade) in enumerate(graded, 1)
    )
    return data_file(list_parts(run.model_dump_json().removesuffix("]}"), evaluations))


def _mean_results(grades: Iterable[Grade]) -> dict[str, Fraction]:
    """The mean score of each metric, out of 100."""
    results = defaultdict(list)
    for grade in grades:
        score = finite_or_none(grade.score)
        if score is not None:
            results[_shortname(grade)].append(_out_of_hundred(score))
    return {name: sum(scores, Fraction(0)) / len(scores) for name, scores in results.items()}


def _reaches_thresholds(decision: Decision) -> bool | None:
    """Whether the metrics meet their rules. None if there is no such rule, or if one is inconclusive."""
    results = [result for result in decision.rules if result.rule.by_metric and result.outcome]
    if any(result.has_failed for result in results):
        return False
    return None if not results or any(result.has_error for result in results) else True


class _Times(NamedTuple):
    """The number of a run, and when it started and finished."""

    run_id: int | None
    started_at: str | None
    finished_at: str | None


def _times(decision: Decision) -> _Times:
    """The times of a run. Its number is made from time and configs, as Aegis counts its runs. None without a time."""
    made = decision.run.made
    try:
        started = datetime.fromisoformat(made.started)
    except ValueError:
        return _Times(None, None, None)
    finished = started + timedelta(seconds=decision.run.seconds)
    digest = hashlib.sha256(f"{made.started} {made.digest}".encode()).digest()
    run_id = int.from_bytes(digest[:6], "big")  # exact in JSON's numbers
    return _Times(run_id, started.isoformat(), finished.isoformat())


def _evaluation(number: int, row: Row, grade: Grade, times: _Times) -> Evaluation:
    variables: Any = to_plain_data(row.vars)
    shortname = _shortname(grade)
    config = grade.assertion.config
    # Only arguments of the payload, without those that gradegate adds.
    entry = SHORTNAMES.get(shortname)
    arguments = entry.args if entry else config
    return Evaluation(
        id=number,
        run_id=times.run_id,
        metric_shortname=shortname,
        model_slug=grade.assertion.model_slug or None,
        metric_args={
            name: to_plain_data(config[name]) for name in arguments if config.get(name) is not None
        },
        threshold=_percent(grade.threshold),
        prompt=variables.get("prompt"),
        input=variables.get("input"),
        context=variables.get("context"),
        output=None if row.output is None else encodable(row.output),
        golden_answer=variables.get("golden_answer"),
        result=_percent(grade.score),
        is_success=not grade.has_error,
        is_gte_threshold=_PASSED[grade.outcome],
        explanation=encodable(grade.reason),
        eval_metadata=to_plain_data(grade.evidence) or None,
        evaluation_cost=finite_or_none(grade.usage.known_cost),
        started_at=times.started_at,
        finished_at=times.finished_at,
    )


def _shortname(grade: Grade) -> str:
    return encodable(grade.metric or grade.assertion.type)


def _percent(share: float | None) -> float | None:
    """A share out of 100. None for one that is not finite_or_none."""
    share = finite_or_none(share)
    return None if share is None else _float(_out_of_hundred(share))


def _float(number: Fraction) -> float | None:
    try:
        return float(number)
    except OverflowError:
        return None  # readers of JSON know no such number


def _out_of_hundred(share: float) -> Fraction:
    # The shortest text of a float is the number that was meant: 0.57 * 100 is 56.99999999999999.
    return Fraction(Decimal(repr(share))) * FULL


REPORTS.register("aegis")(Report("aegis", ".aegis.json", render))
