"""Between the values of a run and the lines of a part. What is written holds no secret; what is read keeps to the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradegate.access.hiding import Hide
from gradegate.errors import GradegateError
from gradegate.grading.conclude import conclude_case
from gradegate.planning.identity import identity
from gradegate.planning.job import Job
from gradegate.reporting.redact import conceal
from gradegate.results.jsonable import plain
from gradegate.results.mapping import entry, value
from gradegate.results.rows import CaseLine, GradeLine, Spent, TurnLine
from gradegate.running.base_grades import Regrading
from gradegate.running.conclusion import Asked, Place
from gradegate.running.reasks import Asking
from gradegate.steps.line_files import Damaged
from gradegate.steps.part_lines import AnswerRecord, AsksRecord, SaidLine
from gradegate.values.conversation import CONVERSATION, NO_USAGE, Transcript, Turn, Usage
from gradegate.values.result import Asserted, Grade, Outcome, Row


def answer_record(place: Place, asked: Asked, planned: Job, hide: Hide) -> AnswerRecord:
    """The line of an answer; what its graders saw is in it where somebody may have to grade it again."""
    row = conceal(asked.row, hide)
    failed = any(grade.outcome is Outcome.FAIL for grade in row.grades)
    said = _said(asked.transcript, planned) if asked.transcript and failed and not planned.of_base else None
    shown = SaidLine.model_validate(conceal(said.model_dump(), hide)) if said else None
    known = None if asked.known is None else dict(conceal(asked.known, hide))
    hidden = row.hidden or shown != said or known != asked.known
    return AnswerRecord(place=place[0], repeat=place[1], answer=entry(CaseLine, row), said=shown, known=known, hidden=hidden)


def _said(transcript: Transcript, job: Job) -> SaidLine:
    talk = transcript.vars.get(CONVERSATION) if CONVERSATION not in job.vars else None
    return SaidLine(
        prompt=transcript.prompt,
        turns=[entry(TurnLine, turn) for turn in transcript.turns],
        metadata=plain(transcript.metadata),
        before=plain(transcript.before),
        conversation=plain(talk),
    )


def asked_of(record: AnswerRecord, planned: Job) -> Asked:
    """An answer as its shard had it. Raises Damaged where it is not one to the planned question."""
    job = planned
    if record.known is not None and planned.recall is not None:
        try:
            job = planned.recall.fill(dict(record.known))
        except GradegateError as e:
            raise Damaged(f"the stored answers that it used do not fit the plan: {e}") from e
    row = row_in(record.answer, planned, record.repeat, job)
    row = replace(row, hidden=record.hidden or row.hidden)
    transcript = _transcript(record.said, job) if record.said else None
    return Asked(row, transcript, None if job is planned else job, record.known)


def _transcript(said: SaidLine, job: Job) -> Transcript:
    told = {} if said.conversation is None else {CONVERSATION: said.conversation}
    return Transcript(
        said.prompt,
        tuple(value(Turn, turn) for turn in said.turns),
        {**job.vars, **told},
        NO_USAGE,
        said.metadata,
        tools=job.target.tools,
        target=job.target.name,
        before=said.before,
    )


def row_in(line: CaseLine, planned: Job, repeat: int, job: Job) -> Row:
    """The answer of a line, with all that decides as the plan has it. Raises Damaged where it answers another question."""
    said = value(Row, line)
    if (said.key, said.definition, said.repeat) != (identity(planned, repeat), planned.definition, repeat):
        raise Damaged("the answer is to another question than the plan's")
    asserted = asserted_by(job)
    if len(said.grades) != len(asserted):
        raise Damaged(f"the answer has {len(said.grades)} grades, and {len(asserted)} are planned")
    grades = tuple(as_planned(grade, *it) for grade, it in zip(said.grades, asserted, strict=True))
    row = replace(said, suite=planned.suite, case=planned.number, grades=grades, base=None)
    row = replace(row, threshold=planned.case.threshold)
    _check(row, job)
    return row


def _check(row: Row, job: Job) -> None:
    """Whether the outcome is what the grades come to. Raises Damaged."""
    if row.error:
        fine = row.outcome is Outcome.ERROR and all(grade.outcome is Outcome.ERROR for grade in row.grades)
    else:
        fine = bool(job.case.scoring) or conclude_case(row.grades, row.threshold).outcome is row.outcome
    if not fine:
        raise Damaged("the answer contradicts itself: its outcome is not what its grades come to")


def asserted_by(job: Job) -> list[tuple[Asserted, bool]]:
    """What each grade of an answer is about, and whether it is of a member of a set."""
    found: list[tuple[Asserted, bool]] = []
    for binding in job.assertions:
        found.append((binding.asserted, False))
        found += [(bound.asserted, True) for bound in binding.bounds if bound is not binding]
    return found


def as_planned(grade: Grade, asserted: Asserted, inner: bool) -> Grade:
    """The grade, about what the plan asserts; what it shows of that is the shard's. Raises Damaged for another grade."""
    said = grade.assertion
    if (said.key, said.definition) != (asserted.key, asserted.definition):
        raise Damaged("a grade is about something else than the plan's")
    shown = replace(asserted, value=said.value, config=said.config)
    return replace(grade, assertion=shown, inner=inner, status="", base=None)


# --- asks -----------------------------------------------------------------------------------------------------


def asks_record(place: Place, asking: Asking, hide: Hide) -> AsksRecord:
    """The line of what was asked again of one answer."""
    further = {position: [_graded(ask, hide) for ask in asks[1:]] for position, asks in asking.asks.items()}
    return AsksRecord(
        place=place[0],
        repeat=place[1],
        kind="base" if isinstance(asking, Regrading) else "again",
        asks=further,
        answers=conceal(asking.answers, hide),
        usages=[entry(Spent, usage) for usage in asking.usages],
        lost=entry(Spent, asking.lost),
        lost_answers=entry(Spent, asking.lost_answers),
    )


def _graded(grade: Grade, hide: Hide) -> GradeLine:
    return entry(GradeLine, conceal(grade, hide))


def asks_in(lines: Sequence[GradeLine], asserted: Asserted) -> list[Grade]:
    """The asks of one grade after the first. Raises Damaged for asks of another one."""
    return [as_planned(value(Grade, line), asserted, False) for line in lines]


def total(usages: Mapping[Any, Usage] | Sequence[Usage]) -> Usage:
    """What several took together."""
    values = usages.values() if isinstance(usages, Mapping) else usages
    return sum(values, NO_USAGE)
