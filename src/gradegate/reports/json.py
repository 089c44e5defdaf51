"""results.json: everything that the run found, for programs; one line per case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gradegate.conversation import Usage
from gradegate.errors import Origin
from gradegate.reporting.plain import finite, plain
from gradegate.reporting.report import REPORTS, Document, Links, Report, Sink
from gradegate.reporting.results import (
    VERSION,
    CaseLine,
    Counted,
    GradeLine,
    Head,
    NoteLine,
    RuleLine,
    SourceLine,
    Spent,
    Summary,
    TurnLine,
)
from gradegate.reporting.visible import encodable
from gradegate.reporting.wording import notes
from gradegate.result import Counts, Decision, Grade, Row, RuleResult
from gradegate.suite import Note


def render(decision: Decision, links: Links) -> Document:
    """The results in parts of one case each."""
    return Document(Sink.FILE, _parts(decision))


def _parts(decision: Decision) -> Iterator[str]:
    # The head is an object that the list of cases is put into before its last brace.
    yield _head(decision).model_dump_json()[:-1] + ',"cases":['
    separator = "\n"
    for row in decision.run.rows:
        yield separator + _case(row).model_dump_json()
        separator = ",\n"
    yield "\n]}\n"


def _head(decision: Decision) -> Head:
    run = decision.run
    return Head(
        version=VERSION,
        outcome=decision.result.value,
        reason=encodable(decision.reason),
        summary=_summary(decision),
        rules=[_rule(rule) for rule in decision.rules],
        notes=[_note(note) for note in notes(decision)],
        interrupted=encodable(run.interrupted),
        models=[encodable(model) for model in run.models],
    )


def _summary(decision: Decision) -> Summary:
    run = decision.run
    both = run.target_usage + run.grader_usage
    return Summary(
        **_counts(decision.grades),
        cost_usd=finite(both.known_cost),
        tokens=both.tokens,
        seconds=_seconds(run.seconds),
        cases=Counted(**_counts(decision.cases)),
        target=_spent(run.target_usage),
        grader=_spent(run.grader_usage),
    )


def _counts(counts: Counts) -> dict[str, Any]:
    return {
        "planned": counts.planned,
        "passed": counts.passed,
        "failed": counts.failed,
        "errored": counts.errored,
        "pass_rate": counts.pass_rate,
    }


def _spent(usage: Usage) -> Spent:
    return Spent(
        calls=usage.calls,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost_usd=finite(usage.known_cost),
        unpriced=usage.unpriced,
        seconds=_seconds(usage.seconds),
        reasks=usage.reasks,
    )


def _rule(result: RuleResult) -> RuleLine:
    rule = result.rule
    return RuleLine(
        name=encodable(rule.name),
        blocking=rule.blocking,
        outcome=result.outcome.value,
        reason=encodable(result.reason),
        suite=encodable(rule.suite),
        passed=result.passed,
        failed=result.failed,
        errored=result.errored,
        pass_rate=finite(result.pass_rate),
        score=finite(result.score),
        min_pass_rate=finite(rule.min_pass_rate),
        min_score=finite(rule.min_score),
        source=_source(rule.origin),
    )


def _case(row: Row) -> CaseLine:
    return CaseLine(
        description=encodable(row.description),
        suite=encodable(row.suite),
        case=row.case,
        repeat=row.repeat,
        provider=encodable(row.provider),
        prompt=encodable(row.prompt),
        prompt_label=encodable(row.prompt_label),
        vars=_object(row.vars),
        output=None if row.output is None else encodable(row.output),
        error=encodable(row.error),
        outcome=row.outcome.value,
        score=finite(row.score),
        seconds=_seconds(row.usage.seconds),
        cost_usd=finite(row.usage.known_cost),
        tokens=row.usage.tokens,
        grades=[_grade(grade) for grade in row.grades],
        turns=[TurnLine(role=turn.role, content=encodable(turn.content)) for turn in row.turns if len(row.turns) > 2],
        source=_source(row.origin),
    )


def _grade(grade: Grade) -> GradeLine:
    assertion = grade.assertion
    return GradeLine(
        assertion=encodable(assertion.type),
        metric=encodable(grade.metric or assertion.metric),
        outcome=grade.outcome.value,
        score=finite(grade.score),
        threshold=finite(grade.threshold),
        reason=encodable(grade.reason),
        expected=plain(assertion.value),
        blocking=assertion.blocking,
        inner=grade.inner,
        weight=finite(assertion.weight),
        evidence=_object(grade.evidence),
        source=_source(assertion.origin),
    )


def _note(note: Note) -> NoteLine:
    return NoteLine(text=encodable(note.text), source=_source(note.origin))


def _source(origin: Origin | None) -> SourceLine | None:
    return SourceLine(file=encodable(origin.file), line=origin.line) if origin and origin.file else None


def _object(values: Mapping[str, Any]) -> dict[str, Any]:
    return {encodable(str(key)): plain(value) for key, value in values.items()}


def _seconds(seconds: float) -> float:
    return round(finite(seconds) or 0.0, 3)


REPORTS.register("json")(Report("json", Sink.FILE, ".json", "every case and grade, for programs", render))
