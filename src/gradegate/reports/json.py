"""results.json: everything that the run found, for programs; one line per case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from gradegate.account import AskedModel, BaselineReport, CacheReport, DerivedMetric, Made
from gradegate.changes import GateChange
from gradegate.reporting.lines import as_object, case_line, seconds, source, spent
from gradegate.reporting.plain import finite
from gradegate.reporting.report import REPORTS, Document, Links, Report, Sink
from gradegate.reporting.results import (
    VERSION,
    AskedLine,
    BaselineLine,
    BudgetLine,
    CacheLine,
    ChangeLine,
    ConfirmLine,
    Counted,
    DerivedLine,
    Head,
    KeyLine,
    MadeLine,
    NoteLine,
    RuleLine,
    Summary,
)
from gradegate.reporting.saved import DAY
from gradegate.reporting.visible import encodable
from gradegate.reporting.wording import notes
from gradegate.result import (
    Counts,
    Decision,
    RuleResult,
    RunResult,
)
from gradegate.suite import Note


def render(decision: Decision, links: Links) -> Document:
    """The results in parts of one case each."""
    return Document(Sink.FILE, _parts(decision, links))


def _parts(decision: Decision, links: Links) -> Iterator[str]:
    # The head is an object that the list of cases is put into before its last brace.
    yield _head(decision, links).model_dump_json()[:-1] + ',"cases":['
    separator = "\n"
    for place, row in enumerate(decision.run.rows):
        yield separator + case_line(row, place in decision.blocking).model_dump_json()
        separator = ",\n"
    yield "\n]}\n"


def _head(decision: Decision, links: Links) -> Head:
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
        incomplete=encodable(run.incomplete),
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
        links=_links(links),
        about={encodable(file): as_object(about) for file, about in run.about.items()},
    )


def _links(links: Links) -> dict[str, str]:
    """Where the run was, so that a page made of the file later can lead there."""
    known = {"server": links.server, "repository": links.repository, "commit": links.commit, "run": links.run}
    return {name: encodable(value) for name, value in known.items() if value} if links.repository else {}


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
        digest=encodable(made.digest),
    )


def _summary(decision: Decision) -> Summary:
    run = decision.run
    both = run.target_usage + run.grader_usage
    return Summary(
        **_counts(decision.grades),
        cost_usd=finite(both.known_cost),
        tokens=both.tokens,
        seconds=seconds(run.seconds),
        cases=Counted(**_counts(decision.cases)),
        target=spent(run.target_usage),
        grader=spent(run.grader_usage),
    )


def _budget(run: RunResult) -> BudgetLine | None:
    if run.budget is None:
        return None
    limits, both = run.budget.limits, run.target_usage + run.grader_usage
    return BudgetLine(
        calls=run.budget.calls,
        usd=finite(run.budget.usd) or 0.0,
        seconds=seconds(run.seconds),
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
        source=source(rule.origin),
    )


def _baseline(report: BaselineReport) -> BaselineLine:
    return BaselineLine(**{**asdict(report), "removed": [encodable(name) for name in report.removed]})


def _derived(metric: DerivedMetric) -> DerivedLine:
    texts = {name: encodable(text) for name, text in asdict(metric).items() if isinstance(text, str)}
    value = finite(metric.value)
    return DerivedLine(**texts, value=value, answers=metric.answers, left_out=metric.left_out)


def _note(note: Note) -> NoteLine:
    return NoteLine(text=encodable(note.text), source=source(note.origin))


def _change(change: GateChange) -> ChangeLine:
    file, line = (change.origin.file, change.origin.line) if change.origin else ("", 0)
    return ChangeLine(kind=change.kind.value, text=encodable(change.text), file=encodable(file), line=line)


REPORTS.register("json")(
    Report("json", Sink.FILE, ".json", "every case and grade, for programs", render, "results-path")
)
