"""Reads results.json back into the values that it was written from, so that a run can be compared with an earlier one."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from gradegate.account import (
    AskedModel,
    BaselineReport,
    BudgetReport,
    CacheReport,
    ConfirmReport,
    DerivedMetric,
    KeyUse,
    Made,
)
from gradegate.changes import ChangeKind, GateChange, GateChanges
from gradegate.conversation import Image, Turn, Usage
from gradegate.errors import ConfigError, Origin
from gradegate.reporting.results import (
    BaselineLine,
    BudgetLine,
    CacheLine,
    CaseLine,
    ChangeLine,
    Counted,
    GradeLine,
    Results,
    RuleLine,
    SourceLine,
    Spent,
    TurnLine,
)
from gradegate.reporting.saved import DAY
from gradegate.result import (
    Asserted,
    Counterpart,
    Counts,
    Decision,
    GateOutcome,
    Grade,
    Outcome,
    Row,
    RuleResult,
    RunResult,
    Vote,
    cases_of,
)
from gradegate.suite import NOWHERE, Limits, Note, Rule, Select


def reread_file(path: Path) -> Decision:
    """The decision that a results.json holds. Raises ConfigError when it cannot be read or is not a results.json."""
    try:
        content = path.read_bytes()
    except OSError as e:
        raise ConfigError.at(f"`{path}` cannot be read: {e.strerror}", None, "correct the path") from e
    return reread(content, str(path))


def reread(content: bytes, name: str) -> Decision:
    """The decision that the bytes of a results.json hold; ``name`` is for messages. Raises ConfigError."""
    try:
        results = Results.model_validate_json(content)
    except ValidationError as e:
        first = e.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the top"
        what = f"not a results.json of this version: {first['msg']} at {place}"
        raise ConfigError.at(what, Origin(name), "write it with `gradegate run -o results.json`") from e
    return Decision(
        outcome=GateOutcome(results.outcome),
        reason=results.reason,
        rules=tuple(map(_rule, results.rules)),
        run=_run(results),
        grades=_counts(results.summary),
        cases=_counts(results.summary.cases),
        setup=results.setup,
        changes=GateChanges(tuple(map(_change, results.gate_changes)), approved=results.gate_approved),
        blocking=frozenset(place for place, line in enumerate(results.cases) if line.blocks),
    )


def _run(results: Results) -> RunResult:
    made = results.made
    return RunResult(
        cases=cases_of(map(row_of, results.cases)),
        target_usage=usage_of(results.summary.target),
        grader_usage=usage_of(results.summary.grader),
        interrupted=results.interrupted,
        incomplete=results.incomplete,
        notes=tuple(Note(note.text, _origin(note.source) if note.source else None) for note in results.notes),
        seconds=results.summary.seconds,
        models=tuple(AskedModel(line.name, line.host, line.replies_from) for line in results.asked),
        keys=tuple(KeyUse(line.name, line.host) for line in results.keys),
        hidden=tuple(results.hidden),
        about=results.about,
        made=Made(
            made.tool,
            made.commit,
            made.started,
            made.configs,
            made.answers,
            made.titles,
            tuple(made.options),
            made.folder,
        ),
        budget=_budget(results.budget) if results.budget else None,
        cache=_cache(results.cache) if results.cache else None,
        confirm=ConfirmReport(**results.confirm.model_dump()) if results.confirm else None,
        baseline=_baseline(results.baseline) if results.baseline else None,
        derived=tuple(DerivedMetric(**line.model_dump()) for line in results.derived_metrics),
    )


def row_of(line: CaseLine) -> Row:
    """An answer."""
    return Row(
        suite=line.suite,
        description=line.description,
        provider=line.provider,
        prompt_label=line.prompt_label,
        prompt=line.prompt,
        vars=line.vars,
        outcome=Outcome(line.outcome),
        output=line.output,
        error=line.error,
        grades=tuple(map(grade_of, line.grades)),
        score=line.score,
        threshold=line.threshold,
        reason=line.reason,
        usage=usage_of(line.usage),
        case=line.case,
        repeat=line.repeat,
        turns=tuple(map(turn_of, line.turns)),
        metadata=line.metadata,
        key=bytes.fromhex(line.key),
        definition=bytes.fromhex(line.definition),
        base=Outcome(line.base) if line.base else None,
        hidden=line.hidden,
        undone=line.undone,
        origin=_origin(line.source),
    )


def _baseline(line: BaselineLine) -> BaselineReport:
    return BaselineReport(**{**line.model_dump(), "removed": tuple(line.removed)})


def grade_of(line: GradeLine) -> Grade:
    """A grade; what it was asserted of is as plain as the line has it."""
    asserted = Asserted(
        type=line.assertion,
        value=line.expected,
        weight=line.weight or 0.0,
        metric=line.metric,
        blocking=line.blocking,
        config=line.config,
        model_slug=line.model_slug,
        is_set=line.set,
        key=bytes.fromhex(line.key),
        definition=bytes.fromhex(line.definition),
        origin=_origin(line.source),
    )
    return Grade(
        assertion=asserted,
        outcome=Outcome(line.outcome),
        score=line.score,
        threshold=line.threshold,
        reason=line.reason,
        evidence=line.evidence,
        usage=usage_of(line.usage),
        setup=line.setup,
        inner=line.inner,
        scale=line.scale,
        unread=line.unread,
        most=line.most,
        votes=tuple(Vote(Outcome(it.outcome), it.score, it.reason, it.model) for it in line.votes),
        confirmed=line.confirmed,
        status=line.status,
        base=Counterpart(Outcome(line.base.outcome), Outcome(line.base.first)) if line.base else None,
        undone=line.undone,
        unheard=line.unheard,
        turns=tuple(line.turns),
    )


def turn_of(line: TurnLine) -> Turn:
    """A message of a conversation."""
    documents = tuple(text if isinstance(text, str) else Image(text.image) for text in line.retrieval_context)
    return Turn(line.role, line.content, documents, tuple(line.images), line.metadata)


def _rule(line: RuleLine) -> RuleResult:
    rule = Rule(
        name=line.name,
        select=Select(**line.select),
        min_pass_rate=line.min_pass_rate,
        min_score=line.min_score,
        min_cases=line.min_cases,
        confidence=line.confidence,
        blocking=line.blocking,
        every_case=line.every_case,
        by_metric=line.by_metric,
        scale=line.scale,
        suite=line.suite,
        origin=_origin(line.source),
        max_new_failures=line.max_new_failures,
        max_drop=line.max_drop,
    )
    counts = (line.passed, line.failed, line.errored)
    return RuleResult(
        rule,
        Outcome(line.outcome),
        line.reason,
        *counts,
        line.pass_rate,
        line.score,
        line.low,
        line.high,
        new_failures=line.new_failures,
        worse=line.worse,
        better=line.better,
        p=line.p,
    )


def _change(line: ChangeLine) -> GateChange:
    return GateChange(ChangeKind(line.kind), line.text, Origin(line.file, line.line) if line.file else None)


def usage_of(spent: Spent) -> Usage:
    """What calls of one kind took."""
    tokens = (spent.prompt_tokens, spent.completion_tokens)
    return Usage(
        spent.calls,
        *tokens,
        spent.known_usd,
        spent.unpriced,
        spent.seconds,
        spent.reasks,
        spent.cached,
        spent.saved_usd,
    )


def _budget(line: BudgetLine) -> BudgetReport:
    return BudgetReport(Limits(line.max_calls, line.max_usd, line.max_seconds), line.calls, line.usd, line.used_up)


def _cache(line: CacheLine) -> CacheReport:
    return CacheReport(line.answers, line.from_cache, (line.oldest_days or 0.0) * DAY, line.saved_usd)


def _counts(counted: Counted) -> Counts:
    return Counts(counted.passed, counted.failed, counted.errored)


def _origin(source: SourceLine | None) -> Origin:
    return Origin(source.file, source.line) if source else NOWHERE
