"""Replies to a plan's requests: rows that are written without secrets, read as the plan has them, and played back.

A first ask of an answer is a row in the shape of results.json; what was asked of it again is another row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any, Literal

from gradegate.assertions.grading.conclusion import error, unjudged
from gradegate.core.conversation import CONVERSATION, Turn
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.errors import GradegateError
from gradegate.gate.reasks.stopping import Standing
from gradegate.planning.identity import identity
from gradegate.planning.plan import Job, Plan
from gradegate.reports.delivery.redact import conceal
from gradegate.results.accounts import AskedModel, KeyUse
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import Grade, Outcome
from gradegate.results.mapping import At, line, plain, value, written
from gradegate.results.rows import Row
from gradegate.results.shape import CaseLine, GradeLine, TurnLine
from gradegate.runner.conclusion import Account
from gradegate.runner.prepare import Prepared
from gradegate.runner.reasks.base_regrade import Regrading
from gradegate.runner.reasks.reask import Asking
from gradegate.runner.rounds import Asked, Place
from gradegate.runner.shards.part_file import Damaged, Index, Line
from gradegate.security.redaction import Hide
from gradegate.structs import Struct, replace

HIDDEN = "the graded text contained a secret, which is hidden, so no other job can grade it again"


class SaidLine(Line):
    """What the graders of an answer saw beside its row. ``conversation`` is what was said before it, by its prompt."""

    turns: list[TurnLine]
    before: Annotated[Any, At("before", plain)] = None
    conversation: Annotated[list[Any] | None, At(None)] = None


class AnswerRow(Line):
    """An answer with its first grades. ``said`` is there where one of them failed; ``known`` are stored answers that it used.

    What has a secret hidden in it nobody else can grade again. ``open`` are the positions of grades that another round asks again.
    """

    place: Index
    repeat: Index
    answer: CaseLine
    said: SaidLine | None = None
    known: dict[str, str] | None = None
    open: tuple[Index, ...] = ()

    @classmethod
    def line_of(
        cls, place: Place, asked: Asked, planned: Job, hide: Hide, open_: Sequence[int] = ()
    ) -> str:
        """Its line; what its graders saw is in it where somebody may have to grade it again."""
        row = conceal(asked.row, hide)
        said = None
        if (
            asked.transcript
            and not planned.of_base
            and any(grade.outcome is Outcome.FAIL for grade in row.grades)
        ):
            talk = None if CONVERSATION in planned.vars else asked.transcript.vars.get(CONVERSATION)
            said = line(SaidLine, asked.transcript, conversation=plain(talk))
        shown, known = conceal((said, asked.known), hide)
        answer = line(
            CaseLine, replace(row, hidden=row.hidden or shown != said or known != asked.known)
        )
        return written(
            {
                "place": place[0],
                "repeat": place[1],
                "answer": answer,
                "said": shown,
                "known": known,
                "open": open_,
            }
        )

    def asked(self, planned: Job) -> Asked:
        """The answer as its shard had it. Raises Damaged where it is not one to the planned question."""
        job, said = planned, self.said
        if self.known is not None and planned.recall is not None:
            try:
                job = planned.recall.fill(dict(self.known))
            except GradegateError as e:
                raise Damaged(f"the stored answers that it used do not fit the plan: {e}") from e
        row = self._row(planned, job)
        transcript = None
        if said is not None:
            turns = tuple(value(Turn, turn) for turn in said.turns)
            seen = (
                job.vars
                if said.conversation is None
                else {**job.vars, CONVERSATION: said.conversation}
            )
            transcript = replace(
                row.transcript,
                turns=turns,
                vars=seen,
                usage=NO_USAGE,
                tools=job.target.tools,
                before=said.before,
            )
        return Asked(row, transcript, None if job is planned else job, self.known)

    def _row(self, planned: Job, job: Job) -> Row:
        """The row, with all that decides as the plan has it."""
        said = value(Row, self.answer)
        if (said.key, said.definition, said.repeat) != (
            identity(planned, self.repeat),
            planned.definition,
            self.repeat,
        ):
            raise Damaged("the answer belongs to a different question than in the plan")
        own = [grade for binding in job.assertions for grade in unjudged(binding, "")]
        if len(said.grades) != len(own):
            raise Damaged(f"the answer has {len(said.grades)} grades, and {len(own)} are planned")
        grades = tuple(map(_as_planned, said.grades, own))
        limit, run = planned.case.threshold, self.repeat + 1 if planned.needs else 0
        row = replace(
            said, suite=planned.suite, case=planned.number, threshold=limit, grades=grades
        )
        row = replace(
            row,
            needs=planned.needs,
            test_metadata=planned.case.metadata,
            run=run,
            verdict=None,
            runs=0,
            base=None,
            base_took=None,
            base_runs=0,
        )
        if row.error:
            is_sound = row.outcome is Outcome.ERROR and all(
                grade.outcome is Outcome.ERROR for grade in grades
            )
        else:
            is_sound = conclude_case(grades, row.threshold).outcome is row.outcome
        if not is_sound:
            raise Damaged(
                "the answer contradicts itself: its outcome does not follow from its grades"
            )
        return row


class AsksRow(Line):
    """What was asked again of one answer: by the position of each grade its asks after the first.

    ``kind`` "base": of the base's answer, with pass and fail turned round. ``answers`` are new ones, with what they took.
    """

    place: Index
    repeat: Index
    kind: Literal["again", "base"]
    asks: dict[int, list[GradeLine]]
    answers: list[str]
    usages: list[Usage]

    @classmethod
    def line_of(cls, asking: Asking, hide: Hide) -> str:
        """Its line."""
        asks = {
            str(position): [line(GradeLine, conceal(ask, hide)) for ask in asks[1:]]
            for position, asks in asking.asks.items()
        }
        said = {
            "kind": _kind(asking),
            "asks": asks,
            "answers": conceal(asking.answers, hide),
            "usages": asking.usages,
        }
        return written({"place": asking.place[0], "repeat": asking.place[1], **said})


def _kind(asking: Asking) -> str:
    return "base" if isinstance(asking, Regrading) else "again"


def _as_planned(grade: Grade, own: Grade) -> Grade:
    """The grade, about what the plan asserts; what it shows of that is the shard's. Raises Damaged for another grade."""
    said, asserted = grade.assertion, own.assertion
    if (said.key, said.definition) != (asserted.key, asserted.definition):
        raise Damaged("a grade belongs to a different assertion than in the plan")
    shown = replace(asserted, value=said.value, config=said.config)
    return replace(
        grade, assertion=shown, inner=own.inner, status="", base=None, history=None, quarantine=""
    )


class AccountRow(Line):
    """The line before the last: how a shard's run went, and what it took beside its answers."""

    account: Account
    models: list[AskedModel]
    keys: list[KeyUse]
    hidden: list[str]

    @classmethod
    def line_of(cls, account: Account, prepared: Prepared) -> str:
        """Its line, without secrets."""
        plan, shown = (
            prepared.shown_plan,
            replace(account, problems=conceal(account.problems, prepared.hide)),
        )
        return written(
            {
                "account": shown,
                "models": plan.models,
                "keys": plan.keys,
                "hidden": prepared.secrets.names,
            }
        )


class Book(Struct):
    """The answers to a plan's questions, and the asks of failing grades: by answer, kind and position, with the row that they are of."""

    plan: Plan
    asked: dict[Place, Asked] = {}
    rows: list[AsksRow] = []
    again: dict[tuple[Place, str, int], tuple[AsksRow, list[Grade]]] = {}
    is_open: bool = False  # something was not asked again, or not to its end

    def add_answer(self, row: AnswerRow, planned: Collection[Place], whose: str) -> None:
        """Raises Damaged for an answer that is not among those ``planned``, or is there."""
        place = row.place, row.repeat
        if place not in planned or place in self.asked:
            raise Damaged(
                f"the answer is {'there twice' if place in self.asked else f'none of {whose}'}"
            )
        self.asked[place] = row.asked(self.plan.jobs[row.place])

    def add_asks(self, row: AsksRow, others: Book) -> None:
        """Raises Damaged for what nobody could have asked: ``others`` have the answers, and what was asked before."""
        place = row.place, row.repeat
        grades = others.asked[place].row.grades if place in others.asked else ()
        self.rows.append(row)
        for position, asks in row.asks.items():
            if not 0 <= position < len(grades) or grades[position].outcome is not Outcome.FAIL:
                raise Damaged("it re-asks a case that failed in no part")
            name = place, row.kind, position
            if name in self.again or name in others.again:
                raise Damaged("it re-asks a case that another part re-asked")
            if asks:
                self.again[name] = (
                    row,
                    [_as_planned(value(Grade, ask), grades[position]) for ask in asks],
                )

    def play(self, askings: Sequence[Asking], *_: object) -> None:
        """Bring each asking as far as it was brought. What nobody needs stays in the book."""
        for asking in askings:
            kind = _kind(asking)
            for position, asks in asking.asks.items():
                row, said = self.again.pop((asking.place, kind, position), (None, ()))
                for ask in said:
                    if asking.standing(position) is Standing.OPEN:  # nobody asks beyond that
                        asks.append(ask)
                if row is not None:
                    asking.answers = list(row.answers)
                    asking.usages += row.usages
                    row.usages.clear()
                elif self.asked[asking.place].row.hidden and not asking.anew and kind == "again":
                    while asking.standing(position) is Standing.OPEN:  # nobody could ask
                        asks.append(error(asking.bounds[position], HIDDEN, NO_USAGE))
            self.is_open = self.is_open or bool(asking.open)
