"""The lines of a part: answers in the shape of results.json, written without secrets, and read as the plan has them."""

from typing import Annotated, Any

from gradegate.assertions.grading.conclusion import unjudged
from gradegate.core.conversation import CONVERSATION, Turn
from gradegate.core.settings import Settings
from gradegate.core.usage import NO_USAGE
from gradegate.errors import GradegateError
from gradegate.planning.binding.default_graders import choose_default_graders
from gradegate.planning.identity import identity, plan_digest
from gradegate.planning.plan import Job, Plan
from gradegate.reports.delivery.redact import conceal
from gradegate.results.accounts import AskedModel, KeyUse
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import Grade
from gradegate.results.mapping import At, line, plain, value, written
from gradegate.results.rows import Row
from gradegate.results.shape import CaseLine, TurnLine
from gradegate.runner.conclusion import Account
from gradegate.runner.prepare import Prepared
from gradegate.runner.rounds import Asked, Place
from gradegate.runner.shards.part_file import Damaged, Header, Index, Line
from gradegate.security.redaction import Hide
from gradegate.structs import replace


def header_of(settings: Settings, plan: Plan, shard: int, of: int, attempt: int) -> Header:
    """The first line of a shard's part."""
    return Header(
        plan=plan_digest(plan),
        commit=settings.commit,
        run=settings.environment.run[0],
        shard=shard,
        of=of,
        attempt=attempt,
        default_grader_key=choose_default_graders(settings.environ).key or "",
    )


class SaidLine(Line):
    """What the graders of an answer saw beside its row. ``conversation`` is what was said before it, by its prompt."""

    turns: list[TurnLine]
    before: Annotated[Any, At("before", plain)] = None
    conversation: Annotated[list[Any] | None, At(None)] = None


class AnswerRow(Line):
    """An answer with its first grades. ``said`` is there where one of them failed; ``known`` are stored answers that it used.

    What has a secret hidden in it nobody else can grade again.
    """

    place: Index
    repeat: Index
    answer: CaseLine
    said: SaidLine | None = None
    known: dict[str, str] | None = None

    @classmethod
    def line_of(cls, place: Place, asked: Asked, planned: Job, hide: Hide) -> str:
        """Its line; what its graders saw is in it where somebody may have to grade it again."""
        row = conceal(asked.row, hide)
        said = None
        if (
            asked.transcript
            and not planned.of_base
            and any(grade.has_failed for grade in row.grades)
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
            is_sound = row.has_error and all(grade.has_error for grade in grades)
        else:
            is_sound = conclude_case(grades, row.threshold).outcome is row.outcome
        if not is_sound:
            raise Damaged(
                "the answer contradicts itself: its outcome does not follow from its grades"
            )
        return row


def _as_planned(grade: Grade, own: Grade) -> Grade:
    """The grade, about what the plan asserts; what it shows of that is the shard's. Raises Damaged for another grade."""
    said, asserted = grade.assertion, own.assertion
    if (said.key, said.definition) != (asserted.key, asserted.definition):
        raise Damaged("a grade belongs to a different assertion than in the plan")
    shown = replace(asserted, value=said.value, config=said.config)
    return replace(
        grade, assertion=shown, inner=own.inner, status="", base=None, history=None, quarantine=None
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
        plan = prepared.shown_plan
        problems, live_models = conceal((account.problems, account.live_models), prepared.hide)
        shown = replace(account, problems=problems, live_models=live_models)
        return written(
            {
                "account": shown,
                "models": plan.models,
                "keys": plan.keys,
                "hidden": prepared.secrets.names,
            }
        )
