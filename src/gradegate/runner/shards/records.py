"""The lines of a part: answers in the shape of results.json, written without secrets, and read as the plan has them."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from gradegate.assertions.grading.conclusion import unjudged
from gradegate.config.context import Context
from gradegate.core.conversation import CONVERSATION, Turn, Variables
from gradegate.core.usage import NO_USAGE
from gradegate.errors import GradegateError
from gradegate.planning.binding.default_graders import choose_default_graders
from gradegate.planning.identity import answer_key, plan_digest
from gradegate.planning.plan import Job, Plan
from gradegate.reports.delivery.redact import conceal
from gradegate.results.accounts import AskedModel, KeyUse
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import Grade
from gradegate.results.rows import AnswerId, Row
from gradegate.runner.conclusion import Account
from gradegate.runner.prepare import Prepared
from gradegate.runner.rounds import Answer
from gradegate.runner.shards.part_file import Damaged, Header
from gradegate.security.redaction import Hide
from gradegate.structs import Count, FrozenStruct, replace


def header_of(context: Context, plan: Plan, shard: int, of: int, attempt: int) -> Header:
    """The first line of a shard's part."""
    return Header(
        plan=plan_digest(plan),
        commit=context.commit,
        run=context.environment.run[0],
        shard=shard,
        of=of,
        attempt=attempt,
        default_grader_key=choose_default_graders(context.environ).key or "",
    )


class Shown(FrozenStruct, forbid_unknown_fields=True):
    """What the graders of an answer saw beside its row. ``conversation`` is what was said before it, by its prompt."""

    turns: tuple[Turn, ...]
    before: Any = None
    conversation: Sequence[Any] | None = None


class AnswerRow(FrozenStruct, forbid_unknown_fields=True):
    """An answer with its first grades. ``shown`` is there where one of them failed; ``known`` are stored answers that it used.

    What has a secret hidden in it nobody else can grade again.
    """

    place: Count
    repeat: Count
    answer: Row
    shown: Shown | None = None
    known: Mapping[str, str] | None = None

    @classmethod
    def from_answer(cls, answer: Answer, planned: Job, hide: Hide) -> Self:
        """The answer without secrets; what its graders saw is in it where somebody may have to grade it again."""
        row, transcript = conceal(answer.row, hide), answer.transcript
        texts = None
        if transcript and not planned.of_base and any(grade.has_failed for grade in row.grades):
            is_planned = CONVERSATION in planned.vars
            conversation = None if is_planned else transcript.vars.get(CONVERSATION)
            texts = transcript.turns, transcript.before, conversation

        public, known = conceal((texts, answer.known), hide)
        is_hidden = row.hidden or public is not texts or known is not answer.known
        shown = Shown(*public) if public else None
        return cls(*answer.id, replace(row, hidden=is_hidden), shown, known)

    def as_planned(self, planned: Job) -> Answer:
        """The answer as its shard had it. Raises Damaged where it is not one to the planned question."""
        job, shown = planned, self.shown
        if self.known is not None and planned.recall is not None:
            try:
                job = planned.recall.fill(dict(self.known))
            except GradegateError as e:
                raise Damaged(f"the stored answers that it used do not fit the plan: {e}") from e
        row = self._row(planned, job)
        transcript = None
        if shown is not None:
            variables: Variables = job.vars
            if shown.conversation is not None:
                variables = {**variables, CONVERSATION: shown.conversation}
            transcript = replace(
                row.transcript,
                turns=shown.turns,
                vars=variables,
                usage=NO_USAGE,
                tools=job.target.tools,
                before=shown.before,
            )
        return Answer(AnswerId(self.place, self.repeat), job, row, transcript, self.known)

    def _row(self, planned: Job, job: Job) -> Row:
        """The row, with all that decides as the plan has it."""
        answer = self.answer
        if (answer.key, answer.definition, answer.repeat) != (
            answer_key(planned, self.repeat),
            planned.definition,
            self.repeat,
        ):
            raise Damaged("the answer belongs to a different question than in the plan")
        own = [grade for binding in job.assertions for grade in unjudged(binding, "")]
        if len(answer.grades) != len(own):
            raise Damaged(f"the answer has {len(answer.grades)} grades, and {len(own)} are planned")
        grades = tuple(map(_as_planned, answer.grades, own))
        row = replace(
            answer,
            suite=planned.suite,
            case=planned.number,
            threshold=planned.case.threshold,
            grades=grades,
            needs=planned.needs,
            test_metadata=planned.case.metadata,
            run=self.repeat + 1 if planned.needs else 0,
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
        grade,
        assertion=shown,
        inner=own.inner,
        votes=(),
        confirmed=None,
        unconfirmed=False,
        status="",
        base=None,
        history=None,
        quarantine=None,
    )


class AccountRow(FrozenStruct, forbid_unknown_fields=True):
    """The line before the last: how a shard's run went, and what it took beside its answers."""

    account: Account
    models: tuple[AskedModel, ...]
    keys: tuple[KeyUse, ...]
    hidden: tuple[str, ...]

    @classmethod
    def from_account(cls, account: Account, prepared: Prepared) -> Self:
        """The account without secrets."""
        plan = prepared.shown_plan
        problems, live_models = conceal((account.problems, account.live_models), prepared.hide)
        public = replace(account, problems=problems, live_models=live_models)
        return cls(public, plan.models, plan.keys, tuple(prepared.secrets.names))
