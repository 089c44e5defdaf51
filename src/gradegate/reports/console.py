"""Text for people on standard output: what did not pass, the rules, and the verdict as the last line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from gradegate.account import DerivedMetric
from gradegate.changes import GateChanges
from gradegate.figures import many, spent
from gradegate.reporting.commands import harmless
from gradegate.reporting.explain import explain
from gradegate.reporting.findings import Finding, sort
from gradegate.reporting.metrics import of, worth
from gradegate.reporting.report import REPORTS, Document, Links, Report, Sink
from gradegate.reporting.saved import saved
from gradegate.reporting.visible import one_line, visible
from gradegate.reporting.wording import (
    changed,
    compared,
    cure,
    headline,
    measured,
    name,
    no_model,
    notes,
    place,
    recorded,
    required,
    tally,
    titled,
    verdict,
    weight,
)
from gradegate.result import Decision, Row

_MOST = 1000  # cases of one kind; a log that nobody can scroll helps nobody
_MOST_CHANGES = 100
_MOST_METRICS = 200
_TEXT = 500  # characters of one text


def render(decision: Decision, links: Links) -> Document:
    """The text, line by line harmless to a runner."""
    return Document(Sink.CONSOLE, (harmless(text) + "\n" for text in _texts(decision)))


def _texts(decision: Decision) -> Iterator[str]:
    run = decision.run
    yield from _steps(run.rows)
    findings = sort(run.rows)
    yield from _cases("FAILED", findings.failed)
    yield from _cases("COULD NOT TELL", findings.unclear)
    yield from _cases("FAILED ON THE BASE, TOO", findings.known)
    yield from _cases("ADVISORY", findings.advisory)
    yield from _rules(decision)
    yield from _derived(run.derived)
    yield from _changes(decision.changes)
    for note in notes(decision):
        yield f"note: {': '.join(filter(None, (place(note.origin), one_line(note.text, _TEXT))))}"
    if run.models:
        yield f"models: {', '.join(one_line(str(model), 120) for model in run.models)}"
    yield from (f"key: {one_line(str(use), 200)}" for use in run.keys)
    unasked = no_model(run.models)
    if unasked:
        yield f"{unasked}."
    if said := recorded(run.made):
        yield f"{said}."
    if run.interrupted:
        yield f"The run stopped early: {one_line(run.interrupted, _TEXT)}"
    yield f"target: {spent(run.target_usage)}; grader: {spent(run.grader_usage)}; {run.seconds:,.1f} s"
    yield from saved(run)
    beside = compared(run.baseline)
    if beside:
        yield f"{beside}."
    yield f"{tally(decision)}."
    yield f"{headline(decision)}: {one_line(decision.reason, _TEXT)}"


def _steps(rows: Iterable[Row]) -> Iterator[str]:
    """What graders in ``verbose_mode`` did, step by step."""
    for row in rows:
        for grade in row.grades:
            if isinstance(steps := grade.evidence.get("steps"), list):
                yield f"STEPS  {name(row)}  {one_line(grade.assertion.type, 80)}"
                yield from (f"  {visible(str(step))}" for step in steps)


def _cases(title: str, findings: list[Finding]) -> Iterator[str]:
    for finding in findings[:_MOST]:
        row = finding.row
        about = ", ".join(filter(None, (one_line(row.provider, 80), one_line(row.prompt_label, 60))))
        yield f"{title}  {name(row)}  [{about}]"
        yield textwrap.indent(explain(row, finding.grades, _TEXT), "  ")
        if finding.alike:
            yield f"  The same happened in {many(len(finding.alike), 'further case')}: {_names(finding)}"
        yield ""
    if len(findings) > _MOST:
        yield f"{title}  {many(len(findings) - _MOST, 'more case')}; results.json has all of them\n"


def _changes(changes: GateChanges) -> Iterator[str]:
    for change in changes.found[:_MOST_CHANGES]:
        place_and_text = ": ".join(filter(None, (place(change.origin), one_line(change.text, _TEXT))))
        yield f"GATE {change.kind.value.upper()}  {place_and_text}"
    if len(changes.found) > _MOST_CHANGES:
        yield f"GATE  {len(changes.found) - _MOST_CHANGES:,} more in results.json"
    if changes.found:
        yield f"{changed(changes)}. {cure(changes)}".strip()


def _derived(metrics: Sequence[DerivedMetric]) -> Iterator[str]:
    for metric in metrics[:_MOST_METRICS]:
        yield f"metric {one_line(metric.name, 100)} [{of(metric)}]: {worth(metric)}"
    if len(metrics) > _MOST_METRICS:
        yield f"{many(len(metrics) - _MOST_METRICS, 'more metric')} in results.json"


def _names(finding: Finding) -> str:
    names = ", ".join(name(row) for row in finding.alike[:10])
    return names + (f" and {len(finding.alike) - 10:,} more" if len(finding.alike) > 10 else "")


def _rules(decision: Decision) -> Iterator[str]:
    several = len({result.rule.suite for result in decision.rules}) > 1
    for result in decision.rules:
        about = f"rule {titled(result.rule, several)} ({weight(result.rule)}): {verdict(result)}"
        yield f"{about}; {measured(result)}; required: {required(result)}"


REPORTS.register("console")(Report("console", Sink.CONSOLE, "", "text for people", render))
