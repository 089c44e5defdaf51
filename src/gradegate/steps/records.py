"""The lines of a part: answers in the shape of results.json, with what it takes to grade them again, and what was asked again.

What is written holds no secret; what is read keeps to the plan.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from gradegate.access.hiding import Hide
from gradegate.errors import GradegateError
from gradegate.grading.conclude import conclude_case
from gradegate.planning.identity import identity
from gradegate.planning.job import Job
from gradegate.replies.parts import Damaged, Index, Line
from gradegate.reporting.redact import conceal
from gradegate.results.jsonable import plain
from gradegate.results.mapping import At, line, value, written
from gradegate.results.shape import CaseLine, GradeLine, TurnLine
from gradegate.running.base_grades import Regrading
from gradegate.running.conclusion import Account
from gradegate.running.reasks import Asking
from gradegate.running.rounds import Asked, Place
from gradegate.values.account import AskedModel, KeyUse
from gradegate.values.conversation import CONVERSATION, NO_USAGE, Transcript, Turn, Usage
from gradegate.values.result import Asserted, Grade, Outcome, Row


class SaidLine(Line):
    """What the graders of an answer saw beside its line. ``conversation`` is what was said before it, by its prompt."""

    prompt: str
    turns: list[TurnLine]
    metadata: dict[str, Any]
    before: Annotated[Any, At("before", plain)] = None
    conversation: Annotated[list[Any] | None, At(None)] = None


class AnswerRecord(Line):
    """An answer with its first grades. ``said`` is there where one of them failed; ``known`` are stored answers that it used.

    ``hidden``: a secret is hidden in what was graded, so that nobody else can grade it again.
    """

    place: Index
    repeat: Index
    answer: CaseLine
    said: SaidLine | None = None
    known: dict[str, str] | None = None
    hidden: bool = False


class AsksRecord(Line):
    """What was asked again of one answer: by the position of each grade its asks after the first.

    ``kind`` "base": of the base's answer, with pass and fail turned round. ``answers`` are new ones, with what they took.
    """

    place: Index
    repeat: Index
    kind: Literal["again", "base"]
    asks: dict[int, list[GradeLine]]
    answers: list[str]
    usages: list[Usage]
    lost: Usage
    lost_answers: Usage


class AccountRecord(Line):
    """The line before the last: how a shard's run went, and what it took beside its answers."""

    account: Account
    models: list[AskedModel]
    keys: list[KeyUse]
    hidden: list[str]


class OpenRecord(Line):
    """An answer with the positions of grades that are asked again; ``other`` is that of the base, asked in the same run."""

    positions: list[Index]
    answer: AnswerRecord
    other: CaseLine | None = None


# --- written --------------------------------------------------------------------------------------------------


def answer_record(place: Place, asked: Asked, planned: Job, hide: Hide) -> str:
    """The line of an answer; what its graders saw is in it where somebody may have to grade it again."""
    row = conceal(asked.row, hide)
    said = None
    if asked.transcript and not planned.of_base and any(grade.outcome is Outcome.FAIL for grade in row.grades):
        talk = None if CONVERSATION in planned.vars else asked.transcript.vars.get(CONVERSATION)
        said = line(SaidLine, asked.transcript, conversation=plain(talk))
    shown, known = conceal((said, asked.known), hide)
    hidden = row.hidden or shown != said or known != asked.known
    answer = {"answer": line(CaseLine, row), "said": shown, "known": known, "hidden": hidden}
    return written({"place": place[0], "repeat": place[1], **answer})


def asks_record(place: Place, asking: Asking, hide: Hide) -> str:
    """The line of what was asked again of one answer."""
    asks = {str(position): [line(GradeLine, conceal(ask, hide)) for ask in asks[1:]] for position, asks in asking.asks.items()}
    taken = {"usages": asking.usages, "lost": asking.lost, "lost_answers": asking.lost_answers}
    kind = "base" if isinstance(asking, Regrading) else "again"
    said = {"kind": kind, "asks": asks, "answers": conceal(asking.answers, hide)}
    return written({"place": place[0], "repeat": place[1], **said, **taken})


# --- read -----------------------------------------------------------------------------------------------------


def asked_of(record: AnswerRecord, planned: Job) -> Asked:
    """An answer as its shard had it. Raises Damaged where it is not one to the planned question."""
    job, said = planned, record.said
    if record.known is not None and planned.recall is not None:
        try:
            job = planned.recall.fill(dict(record.known))
        except GradegateError as e:
            raise Damaged(f"the stored answers that it used do not fit the plan: {e}") from e
    row = row_in(record.answer, planned, record.repeat, job)
    row = replace(row, hidden=record.hidden or row.hidden)
    transcript = None
    if said is not None:
        turns = tuple(value(Turn, turn) for turn in said.turns)
        talk = {} if said.conversation is None else {CONVERSATION: said.conversation}
        tools, target = job.target.tools, job.target.name
        transcript = Transcript(
            said.prompt, turns, {**job.vars, **talk}, NO_USAGE, said.metadata, tools=tools, target=target, before=said.before
        )
    return Asked(row, transcript, None if job is planned else job, record.known)


def row_in(answer: CaseLine, planned: Job, repeat: int, job: Job) -> Row:
    """The answer of a line, with all that decides as the plan has it. Raises Damaged where it answers another question."""
    said = value(Row, answer)
    if (said.key, said.definition, said.repeat) != (identity(planned, repeat), planned.definition, repeat):
        raise Damaged("the answer is to another question than the plan's")
    asserted: list[tuple[Asserted, bool]] = []  # and whether it is of a member of a set
    for binding in job.assertions:
        asserted.append((binding.asserted, False))
        asserted += [(bound.asserted, True) for bound in binding.bounds if bound is not binding]
    if len(said.grades) != len(asserted):
        raise Damaged(f"the answer has {len(said.grades)} grades, and {len(asserted)} are planned")
    grades = tuple(as_planned(grade, *it) for grade, it in zip(said.grades, asserted, strict=True))
    row = replace(
        said, suite=planned.suite, case=planned.number, grades=grades, base=None, base_took=None, threshold=planned.case.threshold
    )
    row = replace(row, needs=planned.needs, run=repeat + 1 if planned.needs else 0, verdict=None, runs=0, base_runs=0)
    if row.error:
        is_sound = row.outcome is Outcome.ERROR and all(grade.outcome is Outcome.ERROR for grade in row.grades)
    else:
        is_sound = bool(job.case.scoring) or conclude_case(row.grades, row.threshold).outcome is row.outcome
    if not is_sound:
        raise Damaged("the answer contradicts itself: its outcome is not what its grades come to")
    return row


def as_planned(grade: Grade, asserted: Asserted, inner: bool = False) -> Grade:
    """The grade, about what the plan asserts; what it shows of that is the shard's. Raises Damaged for another grade."""
    said = grade.assertion
    if (said.key, said.definition) != (asserted.key, asserted.definition):
        raise Damaged("a grade is about something else than the plan's")
    shown = replace(asserted, value=said.value, config=said.config)
    return replace(grade, assertion=shown, inner=inner, status="", base=None, history=None, quarantine="")
