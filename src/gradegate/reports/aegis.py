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
from gradegate.structs import JsonObject

_PASSED = {Outcome.PASS: True, Outcome.FAIL: False, Outcome.ERROR: None}


def render(decision: Decision, links: Links) -> Document:
    """Render the run object in parts of one evaluation each."""
    # The API has one run for one config, so facts of a config are left out if several were run together.
    config: JsonObject = {}
    suites = {row.suite for row in decision.run.rows}
    if len(suites) == 1:
        config = decision.run.about.get(suites.pop(), {})

    graded_rows: list[tuple[Row, Grade]] = []
    for row in decision.run.rows:
        graded_rows += [(row, grade) for grade in row.grades if not grade.inner]

    means = _mean_results(grade for _, grade in graded_rows)
    mean_of_all = _float(sum(means.values(), Fraction(0)) / len(means)) if means else None
    aggregate_results = {}
    for shortname, mean in means.items():
        result = _float(mean)
        if result is not None:
            aggregate_results[shortname] = result

    times = _times(decision)
    run = Run(
        id=times.run_id,
        user=None,
        run_type="Custom",
        run_source="gradegate",
        dataset=None,
        data_collection=config.get("data_collection_id"),
        number_of_metrics=len({_shortname(grade) for _, grade in graded_rows}),
        result=mean_of_all,
        threshold=config.get("threshold"),
        model_slug=config.get("model_slug"),
        alias=config.get("alias"),
        aggregate_results=aggregate_results,
        started_at=times.started_at,
        finished_at=times.finished_at,
        is_gte_threshold=_reaches_thresholds(decision),
        evaluations=[],
    )
    # The evaluations are put into the empty list at the end of the object.
    start = run.model_dump_json().removesuffix("]}")
    evaluations = (
        _evaluation(number, row, grade, times).model_dump_json()
        for number, (row, grade) in enumerate(graded_rows, 1)
    )
    return data_file(list_parts(start, evaluations))


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
    if not results or any(result.has_error for result in results):
        return None
    return True


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
    """One grade of a row, in the form of the API. ``number`` counts from 1."""
    variables: Any = to_plain_data(row.vars)
    shortname = _shortname(grade)
    return Evaluation(
        id=number,
        run_id=times.run_id,
        metric_shortname=shortname,
        model_slug=grade.assertion.model_slug or None,
        metric_args=_arguments(shortname, grade.assertion.config),
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


def _arguments(shortname: str, config: JsonObject) -> dict[str, Any]:
    """The arguments of a metric that the payload of the API has, without those that gradegate adds."""
    entry = SHORTNAMES.get(shortname)
    names = entry.args if entry else config
    return {name: to_plain_data(config[name]) for name in names if config.get(name) is not None}


def _shortname(grade: Grade) -> str:
    return encodable(grade.metric or grade.assertion.type)


def _percent(share: float | None) -> float | None:
    """A share out of 100. None for one that is not finite."""
    share = finite_or_none(share)
    return None if share is None else _float(_out_of_hundred(share))


def _float(number: Fraction) -> float | None:
    """The nearest float. None for a number that is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return None  # readers of JSON know no such number


def _out_of_hundred(share: float) -> Fraction:
    # The shortest text of a float is the number that was meant: 0.57 * 100 is 56.99999999999999.
    return Fraction(Decimal(repr(share))) * FULL


REPORTS.register("aegis")(Report("aegis", ".aegis.json", render))
