"""results.json: everything that the run found, for programs; one line per case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from gradegate.account import AskedModel, BaselineReport, CacheReport, DerivedMetric, Made
from gradegate.changes import GateChange
from gradegate.conversation import Image, Turn, Usage
from gradegate.errors import Origin
from gradegate.reporting.plain import finite, plain
from gradegate.reporting.report import REPORTS, Document, Links, Report, Sink
from gradegate.reporting.results import (
    VERSION,
    AskedLine,
    BaseLine,
    BaselineLine,
    BudgetLine,
    CacheLine,
    CaseLine,
    ChangeLine,
    ConfirmLine,
    Counted,
    DerivedLine,
    GradeLine,
    Head,
    ImageLine,
    KeyLine,
    MadeLine,
    NoteLine,
    RuleLine,
    SourceLine,
    Spent,
    Summary,
    TurnLine,
    VoteLine,
)
from gradegate.reporting.saved import DAY
from gradegate.reporting.visible import encodable
from gradegate.reporting.wording import notes
from gradegate.result import (
    Counts,
    Decision,
    Grade,
    Row,
    RuleResult,
    RunResult,
    Vote,
)
from gradegate.suite import Note


def render(decision: Decision, links: Links) -> Document:
    """The results in parts of one case each."""
    return Document(Sink.FILE, _parts(decision))


def _parts(decision: Decision) -> Iterator[str]:
    # The head is an object that the list of cases is put into before its last brace.
    yield _head(decision).model_dump_json()[:-1] + ',"cases":['
    separator = "\n"
    for place, row in enumerate(decision.run.rows):
        yield separator + _case(row, place in decision.blocking).model_dump_json()
        separator = ",\n"
    yield "\n]}\n"


def _head(decision: Decision) -> Head:
    run = decision.run
    return Head(
        version=VERSION,
        made=_made(run.made),
        commit=run.made.commit,
        outcome=decision.outcome.value,
        reason=encodable(decision.reason),
        summary=_summary(decision),
        rules=[_rule(rule) for rule in decision.rules],
        notes=[_note(note) for note in notes(decision)],
        interrupted=encodable(run.interrupted),
        models=[encodable(str(model)) for model in run.models],
        asked=[_asked(model) for model in run.models],
        keys=[KeyLine(name=encodable(use.name), host=encodable(use.host)) for use in run.keys],
        hidden=[encodable(name) for name in run.hidden],
        setup=decision.setup,
        gate_changes=[_change(change) for change in decision.changes.found],
        gate_approved=encodable(decision.changes.approved),
        budget=_budget(run),
        cache=_cache(run.cache) if run.cache else None,
        confirm=ConfirmLine(**asdict(run.confirm)) if run.confirm else None,
        baseline=_baseline(run.baseline) if run.baseline else None,
        derived_metrics=[_derived(metric) for metric in run.derived],
        about={encodable(file): _object(about) for file, about in run.about.items()},
    )


def _asked(model: AskedModel) -> AskedLine:
    return AskedLine(name=encodable(model.name), host=encodable(model.host), replies_from=model.replies_from)


def _made(made: Made) -> MadeLine:
    configs = {encodable(file): digest for file, digest in made.configs.items()}
    answers = {encodable(file): digest for file, digest in made.answers.items()}
    return MadeLine(
        tool=made.tool,
        commit=made.commit,
        started=made.started,
        configs=configs,
        answers=answers,
        titles={encodable(file): encodable(title) for file, title in made.titles.items()},
        options=[encodable(option) for option in made.options],
        folder=encodable(made.folder),
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


def _budget(run: RunResult) -> BudgetLine | None:
    if run.budget is None:
        return None
    limits, both = run.budget.limits, run.target_usage + run.grader_usage
    return BudgetLine(
        calls=run.budget.calls,
        usd=finite(run.budget.usd) or 0.0,
        seconds=_seconds(run.seconds),
        max_calls=limits.calls,
        max_usd=limits.usd,
        max_seconds=limits.seconds,
        used_up=run.budget.used_up,
        saved_calls=both.cached,
        saved_usd=finite(both.saved) or 0.0,
    )


def _cache(cache: CacheReport) -> CacheLine:
    days = round(cache.oldest / DAY, 2) if cache.hits else None
    return CacheLine(
        answers=cache.looked_up, from_cache=cache.hits, oldest_days=days, saved_usd=finite(cache.saved_usd) or 0.0
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
        known_usd=finite(usage.cost) or 0.0,
        unpriced=usage.unpriced,
        seconds=_seconds(usage.seconds),
        reasks=usage.reasks,
        cached=usage.cached,
        saved_usd=finite(usage.saved) or 0.0,
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
        min_cases=rule.min_cases,
        confidence=finite(rule.confidence),
        low=finite(result.low),
        high=finite(result.high),
        max_new_failures=rule.max_new_failures,
        max_drop=finite(rule.max_drop),
        new_failures=result.new_failures,
        worse=result.worse,
        better=result.better,
        p=finite(result.p),
        select={name: encodable(value) for name, value in asdict(rule.select).items() if value},
        every_case=rule.every_case,
        by_metric=rule.by_metric,
        scale=rule.scale,
        source=_source(rule.origin),
    )


def _case(row: Row, blocks: bool) -> CaseLine:
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
        threshold=finite(row.threshold),
        reason=encodable(row.reason),
        seconds=_seconds(row.usage.seconds),
        cost_usd=finite(row.usage.known_cost),
        tokens=row.usage.tokens,
        usage=_spent(row.usage),
        metadata=_object(row.metadata),
        grades=[_grade(grade) for grade in row.grades],
        turns=[_turn(turn) for turn in row.turns],
        source=_source(row.origin),
        key=row.key.hex(),
        definition=row.definition.hex(),
        base=row.base.value if row.base else None,
        hidden=row.hidden,
        undone=row.undone,
        blocks=blocks,
    )


def _grade(grade: Grade) -> GradeLine:
    assertion = grade.assertion
    return GradeLine(
        assertion=encodable(assertion.type),
        metric=encodable(grade.metric),
        outcome=grade.outcome.value,
        score=finite(grade.score),
        threshold=finite(grade.threshold),
        reason=encodable(grade.reason),
        expected=plain(assertion.value),
        blocking=assertion.blocking,
        inner=grade.inner,
        set=assertion.is_set,
        weight=finite(assertion.weight),
        config=_object(assertion.config),
        model_slug=encodable(assertion.model_slug),
        scale=grade.scale,
        unread=encodable(grade.unread),
        most=grade.most,
        setup=grade.setup,
        evidence=_object(grade.evidence),
        usage=_spent(grade.usage),
        source=_source(assertion.origin),
        votes=[_vote(vote) for vote in grade.votes],
        confirmed=grade.confirmed,
        key=assertion.key.hex(),
        definition=assertion.definition.hex(),
        status=grade.status,
        base=BaseLine(outcome=grade.base.outcome.value, first=grade.base.first.value) if grade.base else None,
        undone=grade.undone,
        unheard=grade.unheard,
        turns=list(grade.turns),
    )


def _vote(vote: Vote) -> VoteLine:
    return VoteLine(
        outcome=vote.outcome.value,
        score=finite(vote.score),
        reason=encodable(vote.reason),
        model=encodable(vote.model),
    )


def _baseline(report: BaselineReport) -> BaselineLine:
    return BaselineLine(**{**asdict(report), "removed": [encodable(name) for name in report.removed]})


def _turn(turn: Turn) -> TurnLine:
    documents: list[str | ImageLine] = [
        ImageLine(image=encodable(text)) if isinstance(text, Image) else encodable(text)
        for text in turn.retrieval_context
    ]
    return TurnLine(
        role=turn.role,
        content=encodable(turn.content),
        retrieval_context=documents,
        images=[encodable(image) for image in turn.images],
        metadata=_object(turn.metadata),
    )


def _derived(metric: DerivedMetric) -> DerivedLine:
    texts = {name: encodable(text) for name, text in asdict(metric).items() if isinstance(text, str)}
    value = finite(metric.value)
    return DerivedLine(**texts, value=value, answers=metric.answers, left_out=metric.left_out)


def _note(note: Note) -> NoteLine:
    return NoteLine(text=encodable(note.text), source=_source(note.origin))


def _change(change: GateChange) -> ChangeLine:
    file, line = (change.origin.file, change.origin.line) if change.origin else ("", 0)
    return ChangeLine(kind=change.kind.value, text=encodable(change.text), file=encodable(file), line=line)


def _source(origin: Origin | None) -> SourceLine | None:
    return SourceLine(file=encodable(origin.file), line=origin.line) if origin and origin.file else None


def _object(values: Mapping[str, Any]) -> dict[str, Any]:
    return {encodable(str(key)): plain(value) for key, value in values.items()}


def _seconds(seconds: float) -> float:
    return finite(seconds) or 0.0


REPORTS.register("json")(
    Report("json", Sink.FILE, ".json", "every case and grade, for programs", render, "results-path")
)
