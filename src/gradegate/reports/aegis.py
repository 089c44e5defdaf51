"""The run as Aegis gives it back: the run object of its API, with ``aggregate_results`` and one entry per verdict.

API: https://docs.aegisevals.ai/docs/api/evaluations/runs/get-run
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from gradegate.config.aegis import FULL, SHORTNAMES, Evaluation, Run
from gradegate.files.documents import encodable
from gradegate.reports.delivery.report import REPORTS, Document, Links, Report, data_file
from gradegate.results.encoding import finite_or_none, to_plain_data
from gradegate.results.grades import Grade, Outcome
from gradegate.results.rows import Row
from gradegate.results.run_result import Decision

_WORDS = {Outcome.PASS: True, Outcome.FAIL: False, Outcome.ERROR: None}


def render(decision: Decision, links: Links) -> Document:
    """The run object in parts of one evaluation each."""
    return data_file(_parts(decision))


def _parts(decision: Decision) -> Iterator[str]:
    # Nothing is said of the run as a whole where several files were run together.
    suites = {row.suite for row in decision.run.rows}
    about = decision.run.about.get(suites.pop(), {}) if len(suites) == 1 else {}
    graded = [(row, grade) for row in decision.run.rows for grade in row.grades if not grade.inner]
    results = defaultdict(list)
    for _, grade in graded:
        if (score := finite_or_none(grade.score)) is not None:
            results[_shortname(grade)].append(_exact(score))
    means = {name: sum(scores, Fraction(0)) / len(scores) for name, scores in results.items()}
    met = [
        _WORDS[result.outcome]
        for result in decision.rules
        if result.rule.by_metric and result.outcome
    ]
    times = _times(decision)
    run = Run(
        id=times.run_id,
        user=None,
        run_type="Custom",
        run_source="gradegate",
        dataset=None,
        data_collection=about.get("data_collection_id"),
        number_of_metrics=len({_shortname(grade) for _, grade in graded}),
        result=_float(sum(means.values(), Fraction(0)) / len(means)) if means else None,
        threshold=about.get("threshold"),
        model_slug=about.get("model_slug"),
        alias=about.get("alias"),
        aggregate_results={
            name: shown for name, mean in means.items() if (shown := _float(mean)) is not None
        },
        started_at=times.started_at,
        finished_at=times.finished_at,
        is_gte_threshold=False if False in met else None if None in met or not met else True,
        evaluations=[],
    )
    yield run.model_dump_json().removesuffix("]}")
    separator = "\n"
    for number, (row, grade) in enumerate(graded, 1):
        yield separator + _evaluation(number, row, grade, times).model_dump_json()
        separator = ",\n"
    yield "\n]}\n"


class _Times(NamedTuple):
    """Which run it was, and from when to when."""

    run_id: int | None
    started_at: str | None
    finished_at: str | None


def _times(decision: Decision) -> _Times:
    """Of the run. Aegis counts its runs; here a number is made of the time and the configs, and none for a run without a time."""
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
    shortname, config = _shortname(grade), grade.assertion.config
    # The arguments as the payload has them, without what our assertion is given besides.
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
        threshold=_of_hundred(grade.threshold),
        prompt=variables.get("prompt"),
        input=variables.get("input"),
        context=variables.get("context"),
        output=None if row.output is None else encodable(row.output),
        golden_answer=variables.get("golden_answer"),
        result=_of_hundred(grade.score),
        is_success=not grade.has_error,
        is_gte_threshold=_WORDS[grade.outcome],
        explanation=encodable(grade.reason),
        eval_metadata=to_plain_data(grade.evidence) or None,
        evaluation_cost=finite_or_none(grade.usage.known_cost),
        started_at=times.started_at,
        finished_at=times.finished_at,
    )


def _shortname(grade: Grade) -> str:
    return encodable(grade.metric or grade.assertion.type)


def _of_hundred(share: float | None) -> float | None:
    kept = finite_or_none(share)
    return None if kept is None else _float(_exact(kept))


def _float(number: Fraction) -> float | None:
    try:
        return float(number)
    except OverflowError:
        return None  # no number to a reader of JSON


def _exact(share: float) -> Fraction:
    # The shortest text of a float is the number that was meant: 0.57 * 100 is 56.99999999999999.
    return Fraction(Decimal(repr(share))) * FULL


REPORTS.register("aegis")(Report("aegis", ".aegis.json", render))
