"""Derived metrics: worked out of the sums of others for each target and prompt, once every answer has its last grades."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gradegate.grading.conclude import is_known, named_scores, tells_scores
from gradegate.texts.formulas import CONSTANTS, COUNT, Working, working
from gradegate.texts.script import ScriptError
from gradegate.values.account import DerivedMetric
from gradegate.values.result import Row
from gradegate.values.suite import DerivedSpec


def derived(specs: Mapping[str, Sequence[DerivedSpec]], rows: Iterable[Row]) -> tuple[DerivedMetric, ...]:
    """Those of every config, by its file; nothing where none has any."""
    if not specs:
        return ()
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.suite in specs:
            groups.setdefault((row.suite, row.provider, row.prompt_label), []).append(row)
    return tuple(metric for key, group in groups.items() for metric in _worked_out(specs[key[0]], group))


def _worked_out(specs: Sequence[DerivedSpec], rows: Sequence[Row]) -> list[DerivedMetric]:
    """The metrics in order: each sees those before it, and what one cannot be over is left out for all of them."""
    ways = {spec.name: working(spec.value) for spec in specs}
    known = _known(rows, ways)
    of, scores = rows[0], _sums(known)
    step = {"provider": {"id": of.provider, "label": of.provider}, "prompt": {"label": of.prompt_label}}
    blank = DerivedMetric("", of.suite, of.provider, of.prompt_label, None, "", len(known), len(rows) - len(known))
    metrics = []
    for name, way in ways.items():
        metric = _metric(replace(blank, name=name), way, scores, step)
        metrics.append(metric)
        scores.pop(name, None)
        if metric.value is not None:
            scores[name] = metric.value
    return metrics


def _metric(blank: DerivedMetric, way: Working, scores: Mapping[str, float], step: Mapping[str, object]) -> DerivedMetric:
    if not blank.answers:
        return replace(blank, error="no answer has a grade for it")
    try:
        return replace(blank, value=way.value(scores, step))
    except ScriptError as e:
        return replace(blank, error=str(e))


def _known(rows: Sequence[Row], ways: Mapping[str, Working]) -> list[Row]:
    """The answers whose grades are known, as far as any of the metrics reads them."""
    reads, above = set[str](), {COUNT}  # the names that answers have to give: all but those of metrics further up
    for name, way in ways.items():
        reads |= (way.names or frozenset()) - above
        above.add(name)
    reads_any = any(way.names is None for way in ways.values())
    metrics = {grade.metric for row in rows for grade in row.grades}
    told = reads_any or bool(reads - metrics - CONSTANTS.keys())  # some names are told by code alone

    def lacks(row: Row) -> bool:
        unknown = [grade for grade in row.grades if not is_known(grade)]
        return any((grade.metric and (reads_any or grade.metric in reads)) or (told and tells_scores(grade)) for grade in unknown)

    return [row for row in rows if not row.error and not lacks(row)]


def _sums(rows: Sequence[Row]) -> dict[str, float]:
    """Of each name the sum of its scores by their weights, as promptfoo has it, and the number of answers.

    A score of weight 0 counts once: such an assertion is there to be counted, and not to decide.
    """
    sums: dict[str, float] = {}
    for row in rows:
        for name, score, weight in named_scores(row.grades):
            sums[name] = sums.get(name, 0.0) + score * (weight or 1.0)
    return {**sums, COUNT: len(rows)}
