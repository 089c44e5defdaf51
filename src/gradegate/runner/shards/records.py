"""The lines of a part: the header, a line for each answer of a shard, and a line about the run of the shard.

Secrets are hidden before a line is written. When a line is read, everything that decides comes from the plan: a line that
contradicts the plan or itself is damaged.
"""

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
    """The first line of the part that a shard writes at its ``attempt``, counted from 1."""
    return Header(
        plan=plan_digest(plan),
        commit=context.commit,
        run=context.environment.run[0],
        shard=shard,
        of=of,
        attempt=attempt,
        default_grader_key=choose_default_graders(context.environ).key or "",
    )


class GraderView(FrozenStruct, forbid_unknown_fields=True):
    """What the graders of an answer saw besides its row."""

    turns: tuple[Turn, ...]
    before: Any = None  # the answer before it was transformed
    # The conversation before it that its prompt contains, unless the plan has that
    conversation: Sequence[Any] | None = None


class AnswerRow(FrozenStruct, forbid_unknown_fields=True):
    """An answer with its first grades. If a secret was hidden in it, no other job can grade it again."""

    place: Count  # of its job in the plan
    repeat: Count
    answer: Row
    shown: GraderView | None = None  # only if the merge may grade the answer again
    stored_answers: Mapping[str, str] | None = None  # those that it used, by name

    @classmethod
    def from_answer(cls, answer: Answer, planned: Job, hide: Redact) -> Self:
        """Make the line of an answer, without secrets. ``planned`` is its job in the plan."""
        row = redact_values(answer.row, hide)
        stored_answers = redact_values(answer.stored_answers, hide)
        # Redaction returns the same object if there is nothing to hide.
        has_secret = stored_answers is not answer.stored_answers

        shown = None
        transcript = answer.transcript
        has_failure = any(grade.has_failed for grade in row.grades)
        if transcript and has_failure and not planned.of_base:
            conversation = None
            if CONVERSATION not in planned.vars:
                conversation = transcript.vars.get(CONVERSATION)
            texts = (transcript.turns, transcript.before, conversation)
            public_texts = redact_values(texts, hide)
            has_secret = has_secret or public_texts is not texts
            shown = GraderView(*public_texts)

        row = replace(row, hidden=row.hidden or has_secret)
        return cls(*answer.id, row, shown, stored_answers)

    def to_answer(self, planned: Job) -> Answer:
        """The answer as its shard had it. Raises DamagedPartError if it does not fit the planned question."""
        job = planned
        if self.stored_answers is not None and planned.recall is not None:
            try:
                job = planned.recall.fill(dict(self.stored_answers))
            except GradegateError as e:
                raise DamagedPartError(
                    f"the stored answers that it used do not fit the plan: {e}"
                ) from e

        row = self._planned_row(planned, job)
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
        answer_id = AnswerId(self.place, self.repeat)
        return Answer(answer_id, job, row, transcript, self.stored_answers)

    def _planned_row(self, planned: Job, job: Job) -> Row:
        """The row, with everything that decides from the plan. ``job`` is the planned one with the stored answers filled in.

        Raises DamagedPartError.
        """
        answer = self.answer
        question = (answer.key, answer.definition, answer.repeat)
        key = answer_key(planned, self.repeat)
        if question != (key, planned.definition, self.repeat):
            raise DamagedPartError("the answer belongs to a different question than in the plan")

        # The errors that the answer would have without grades show which grades are planned.
        planned_grades = []
        for binding in job.assertions:
            planned_grades += error_grades(binding, "")
        if len(answer.grades) != len(planned_grades):
            raise DamagedPartError(
                f"the answer has {len(answer.grades)} grades, and {len(planned_grades)} are planned"
            )
        row = replace(
            answer,
            suite=planned.suite,
            case=planned.number,
            threshold=planned.case.threshold,
            grades=tuple(map(_with_planned_assertion, answer.grades, planned_grades)),
            needs=planned.needs,
            test_metadata=planned.case.metadata,
            run=self.repeat + 1 if planned.needs else 0,
            # Only the merge compares and folds.
            verdict=None,
            runs=0,
            base=None,
            base_took=None,
            base_runs=0,
        )

        if row.error:
            is_consistent = row.has_error and all(grade.has_error for grade in row.grades)
        else:
            is_consistent = conclude_case(row.grades, row.threshold).outcome is row.outcome
        if not is_consistent:
            raise DamagedPartError(
                "the answer contradicts itself: its outcome does not follow from its grades"
            )
        return row


def _with_planned_assertion(grade: Grade, expected: Grade) -> Grade:
    """The grade with the planned assertion, and without what only the merge finds out.

    Raises DamagedPartError if it is the grade of another assertion.
    """
    written = grade.assertion
    planned = expected.assertion
    if (written.key, written.definition) != (planned.key, planned.definition):
        raise DamagedPartError("a grade belongs to a different assertion than in the plan")
    return replace(
        grade,
        # Reports show the value and the config as the shard redacted them.
        assertion=replace(planned, value=written.value, config=written.config),
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
    # As people may see them; ``hidden`` are the names of secret variables
    models: tuple[AskedModel, ...]
    keys: tuple[KeyUse, ...]
    hidden: tuple[str, ...]

    @classmethod
    def from_record(cls, record: RunRecord, preparation: Preparation) -> Self:
        """Make the line of a shard's record, without secrets."""
        plan = preparation.shown_plan
        texts = (record.problems, record.live_models)
        problems, live_models = redact_values(texts, preparation.hide)
        public = replace(record, problems=problems, live_models=live_models)
        return cls(public, plan.models, plan.keys, tuple(preparation.secrets.names))
