"""Reads results.json back into the values that it was written from, so that a run can be compared with an earlier one."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

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
from gradegate.bounded.bounds import MAX_BASELINE, MIB
from gradegate.changes import ChangeKind, GateChange, GateChanges
from gradegate.conversation import Image, Turn, Usage
from gradegate.errors import ConfigError, Origin
from gradegate.reporting.report import Links
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

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_SERVER = re.compile(r"https?://[A-Za-z0-9.:-]+")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
_COMMIT = re.compile(r"[0-9A-Fa-f]{7,64}")
_SELECTS = frozenset(field.name for field in fields(Select))


def reread_file(path: Path) -> tuple[Decision, Links]:
    """The decision that a results.json holds, and where its run was. Raises ConfigError when it is not one."""
    results = _results(_content(path), str(path))
    return _decision(results), _links(results.links)


def reread(content: bytes, name: str) -> Decision:
    """The decision that the bytes of a results.json hold; ``name`` is for messages. Raises ConfigError."""
    return _decision(_results(content, name))


def _content(path: Path) -> bytes:
    """The bytes of a plain file: a reader of a pipe or a device may wait for ever. Raises ConfigError."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            about = os.fstat(file.fileno())
            if stat.S_ISDIR(about.st_mode):
                raise _unread(path, "it is a folder")
            if not stat.S_ISREG(about.st_mode):
                raise _unread(path, "it is not a plain file")
            if about.st_size > MAX_BASELINE:
                raise _unread(path, f"it has more than {MAX_BASELINE // MIB} MiB")
            return file.read(MAX_BASELINE)
    except (OSError, ValueError) as e:  # a name may hold a NUL character
        raise _unread(path, getattr(e, "strerror", None) or str(e)) from e


def _unread(path: Path, why: str) -> ConfigError:
    cure = "name the results.json of a run: `gradegate run -o results.json` writes one"
    return ConfigError.at(f"`{path}` cannot be read: {why}", None, cure)


def _results(content: bytes, name: str) -> Results:
    try:
        return Results.model_validate_json(content)
    except ValidationError as e:
        first = e.errors(include_url=False, include_input=False)[0]
        what = f"not a results.json of this version: {_wrong(first)}"
        cure = "write it with `gradegate run -o results.json`"
        if first["type"] == "literal_error" and first["loc"] == ("version",):
            cure = f"read it with the gradegate that wrote it, or {cure}"
        raise ConfigError.at(what, Origin(name), cure) from e


def _wrong(first: ErrorDetails) -> str:
    """What is wrong with the content, in words, and where."""
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"`{place}` is required, and is not there"
    if first["type"] == "literal_error":
        return f"`{place}` has to be {first['ctx']['expected']}, and is another"
    return f"{first['msg'].removeprefix('Value error, ')} at {place or 'the top'}"


def _links(said: Mapping[str, str]) -> Links:
    """Where the run was; nothing where that is no address on one server, since anybody may have written the file."""
    known = {name: said.get(name, "") for name in ("server", "repository", "commit", "run")}
    forms = (_SERVER, known["server"]), (_REPOSITORY, known["repository"]), (_COMMIT, known["commit"])
    if not all(form.fullmatch(text) for form, text in forms):
        return Links()
    home = f"{known['server']}/{known['repository']}/"
    run = known["run"] if known["run"].startswith(home) else ""
    return Links(known["server"], known["repository"], known["commit"], run)


def _decision(results: Results) -> Decision:
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
        select=Select(**{name: text for name, text in line.select.items() if name in _SELECTS}),
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
