"""The lines of a part: answers in the shape of results.json, written without secrets and read with the plan's own checks."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from gradegate.assertions.grading.conclusion import error_grades
from gradegate.config.context import Context
from gradegate.core.conversation import CONVERSATION, Turn, Variables
from gradegate.core.usage import NO_USAGE
from gradegate.errors import GradegateError
from gradegate.planning.binding.default_graders import choose_default_graders
from gradegate.planning.identity import answer_key, plan_digest
from gradegate.planning.plan import Job, Plan
from gradegate.reports.delivery.redact import redact_values
from gradegate.results.accounts import AskedModel, KeyUse
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import Grade
from gradegate.results.rows import AnswerId, Row
from gradegate.runner.conclusion import RunRecord
from gradegate.runner.prepare import Preparation
from gradegate.runner.rounds import Answer
from gradegate.runner.shards.part_file import DamagedPartError, Header
from gradegate.security.redaction import Redact
from gradegate.structs import Count, FrozenStruct, replace


def make_header(context: Context, plan: Plan, shard: int, of: int, attempt: int) -> Header:
    """The first line of a part."""
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
    """What the graders of an answer saw besides its row. ``conversation`` is the earlier conversation in its prompt."""

    turns: tuple[Turn, ...]
    before: Any = None
    conversation: Sequence[Any] | None = None


class AnswerRow(FrozenStruct, forbid_unknown_fields=True):
    """An answer with its first grades. ``shown`` is set if a grade failed; ``known`` are the stored answers that it used.

    If a secret was hidden in it, no other job can grade it again.
    """

    place: Count
    repeat: Count
    answer: Row
    shown: Shown | None = None
    known: Mapping[str, str] | None = None

    @classmethod
    def from_answer(cls, answer: Answer, planned: Job, hide: Redact) -> Self:
        """The answer without secrets. It contains what its graders saw, if the merge may grade it again."""
        row = redact_values(answer.row, hide)
        transcript = answer.transcript
        texts = None
        if transcript and not planned.of_base and any(grade.has_failed for grade in row.grades):
            conversation = None  # if the plan has it
            if CONVERSATION not in planned.vars:
                conversation = transcript.vars.get(CONVERSATION)
            texts = transcript.turns, transcript.before, conversation

        public, known = redact_values((texts, answer.stored_answers), hide)
        is_hidden = row.hidden or public is not texts or known is not answer.stored_answers
        shown = Shown(*public) if public else None
        return cls(*answer.id, replace(row, hidden=is_hidden), shown, known)

    def to_answer(self, planned: Job) -> Answer:
        """The answer as its shard had it. Raises DamagedPartError if it does not fit the planned question."""
        job = planned
        if self.known is not None and planned.recall is not None:
            try:
                job = planned.recall.fill(dict(self.known))
            except GradegateError as e:
                raise DamagedPartError(
                    f"the stored answers that it used do not fit the plan: {e}"
                ) from e
        row = self._row(planned, job)
        transcript = None
        shown = self.shown
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
        """The row. Everything that decides comes from the plan."""
        answer = self.answer
        if (answer.key, answer.definition, answer.repeat) != (
            answer_key(planned, self.repeat),
            planned.definition,
            self.repeat,
        ):
            raise DamagedPartError("the answer belongs to a different question than in the plan")
        expected: list[Grade] = []
        for binding in job.assertions:
            expected += error_grades(binding, "")
        if len(answer.grades) != len(expected):
            raise DamagedPartError(
                f"the answer has {len(answer.grades)} grades, and {len(expected)} are planned"
            )
        grades = tuple(map(_with_planned_assertion, answer.grades, expected))
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
            raise DamagedPartError(
                "the answer contradicts itself: its outcome does not follow from its grades"
            )
        return row


def _with_planned_assertion(grade: Grade, expected: Grade) -> Grade:
    """The grade with the assertion of the plan, shown as in the shard. Raises DamagedPartError if it is of another assertion."""
    written = grade.assertion
    planned = expected.assertion
    if (written.key, written.definition) != (planned.key, planned.definition):
        raise DamagedPartError("a grade belongs to a different assertion than in the plan")
    shown = replace(planned, value=written.value, config=written.config)
    return replace(
        grade,
        assertion=shown,
        inner=expected.inner,
        votes=(),
        confirmed=None,
        unconfirmed=False,
        status="",
        base=None,
        history=None,
        quarantine=None,
    )


class AccountRow(FrozenStruct, forbid_unknown_fields=True):
    """The line before the footer: how the run of a shard went, and what it took besides its answers."""

    account: RunRecord
    models: tuple[AskedModel, ...]
    keys: tuple[KeyUse, ...]
    hidden: tuple[str, ...]

    @classmethod
    def from_record(cls, record: RunRecord, preparation: Preparation) -> Self:
        """The record without secrets."""
        plan = preparation.shown_plan
        problems, live_models = redact_values(
            (record.problems, record.live_models), preparation.hide
        )
        public = replace(record, problems=problems, live_models=live_models)
        return cls(public, plan.models, plan.keys, tuple(preparation.secrets.names))
