"""Asks targets for answers, grades each answer once and compares answers. Whatever goes wrong becomes an ERROR."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from gradegate.errors import Trouble
from gradegate.planning.plan import Plan, grading_models
from gradegate.providers.cache.call import within_scope
from gradegate.results.rows import AnswerId, Row
from gradegate.runner import rows
from gradegate.runner.answers import Memory, ask_target, group_by_conversation
from gradegate.runner.asker import Asker
from gradegate.runner.estimate import answer_calls
from gradegate.runner.grading import CacheScopes, catch_defects, compare_answers, grade_answer
from gradegate.runner.rounds import Answer
from gradegate.structs import replace

Watch = Callable[[Row], None]  # called with each row when its answer is graded


class FirstAnswers:
    """The answers to a plan with their first grades. ``answers`` are those that earlier jobs made."""

    def __init__(
        self, plan: Plan, asker: Asker, watch: Watch, answers: dict[AnswerId, Answer]
    ) -> None:
        self._plan = plan
        self._asker = asker
        self._watch = watch
        self._answers = answers
        self._scopes = CacheScopes(plan.jobs, asker.client.replies)
        groups = defaultdict(list)
        for index, job in enumerate(plan.jobs):
            if any(binding.is_comparison for binding in job.assertions):
                for repeat in range(job.repeats):
                    groups[job.suite, job.number, repeat].append(AnswerId(index, repeat))
        self._groups = list(groups.values())  # answers that are compared with one another
        # The first answer of each comparison that was made
        self._compared = {group[0] for group in self._groups if group[0] in answers}

    def get_answers(self, answer_ids: Sequence[AnswerId]) -> dict[AnswerId, Answer]:
        """These answers. Those that are new are asked for now, if the run goes on."""
        new_ids = [answer_id for answer_id in answer_ids if answer_id not in self._answers]
        if new_ids and not self._asker.signal:
            self._ask_for(new_ids)
        return {
            answer_id: self._answers.get(answer_id) or self._missing_answer(answer_id)
            for answer_id in answer_ids
        }

    def _ask_for(self, answer_ids: Sequence[AnswerId]) -> None:
        jobs = self._plan.jobs
        asker = self._asker
        for answer_id in answer_ids:
            job = jobs[answer_id.case]
            asker.require_keys((job.target, *grading_models(job)))
        if asker.missing_keys:
            return

        conversations = group_by_conversation(jobs, answer_ids)
        if self._plan.concurrency > 1:
            # The longest first, so that no thread is left alone with a long one.
            conversations.sort(key=self._count_calls, reverse=True)
        asker.work_in_threads(
            self._answer_conversation, conversations, lambda ids: jobs[ids[0].case].target.host
        )
        asker.work_in_threads(self._compare, list(filter(self._may_compare, self._groups)))

    def _count_calls(self, conversation: Sequence[AnswerId]) -> int:
        return sum(answer_calls(self._plan.jobs[answer_id.case]) for answer_id in conversation)

    def _missing_answer(self, answer_id: AnswerId) -> Answer:
        state = "not run" if self._asker.signal else "not re-asked"
        why = f"{state}: {self._asker.reason_to_stop()}"
        job = self._plan.jobs[answer_id.case]
        row = rows.missing_row(job, answer_id.repeat, why, Trouble.STOPPED)
        return Answer(answer_id, job, row)

    def _answer_conversation(self, conversation: Sequence[AnswerId]) -> None:
        """Ask for the answers of one conversation in order."""
        memory = Memory()
        is_undone = False
        for answer_id in conversation:
            answer = self._ask(answer_id, memory)
            row = answer.row
            if self._asker.signal:
                why = f"not run: {self._asker.reason_to_stop()}"
                row = rows.cut_off_row(answer.job, row, why, memory.spent)
                self._answers[answer_id] = replace(answer, row=row)
                return

            if is_undone and row.error:
                # Perhaps this answer only fails because an earlier one of its conversation is missing.
                grades = (
                    replace(grade, setup=False, undone=True, unheard=False) for grade in row.grades
                )
                row = replace(row, grades=tuple(grades), undone=True)
            is_undone = is_undone or row.undone
            self._answers[answer_id] = replace(answer, row=row)
            self._watch(row)

    def _ask(self, answer_id: AnswerId, memory: Memory) -> Answer:
        """Ask the target for one answer and grade it."""
        index, repeat = answer_id
        planned = self._plan.jobs[index]
        stored_answers = memory.stored_answers(planned)  # before this job stores its own answer
        job = catch_defects(lambda: memory.fill_in(planned))
        if isinstance(job, Exception):
            row = rows.failed_row(planned, repeat, job)
            return Answer(answer_id, planned, row)

        with within_scope(self._scopes.of_answer(index, repeat)):
            transcript = catch_defects(lambda: ask_target(job, memory, repeat))
            if isinstance(transcript, Exception):
                row = rows.failed_row(job, repeat, transcript)
                return Answer(answer_id, planned, row)
            grades = grade_answer(job, transcript)
        row = rows.graded_row(job, repeat, transcript, grades, planned)

        # Only an answer that may be graded again keeps its transcript.
        is_compared = any(binding.is_comparison for binding in job.assertions)
        has_failure = any(grade.has_failed for grade in grades)
        kept_transcript = transcript if is_compared or has_failure else None
        return Answer(answer_id, job, row, kept_transcript, stored_answers)

    # --- comparisons ------------------------------------------------------------------------------------------

    def _may_compare(self, group: Sequence[AnswerId]) -> bool:
        """Whether a comparison was not made yet, and no answer is missing."""
        answers = [self._answers.get(answer_id) for answer_id in group]
        is_complete = all(answer and answer.transcript for answer in answers)
        return is_complete and group[0] not in self._compared

    def _compare(self, group: Sequence[AnswerId]) -> None:
        answers = [self._answers[answer_id] for answer_id in group]
        with within_scope(self._scopes.of_comparison(*group[0])):
            compared_rows = compare_answers(answers)
        for answer, row in zip(answers, compared_rows, strict=True):
            self._answers[answer.id] = replace(answer, row=row)
        if not self._asker.signal:  # otherwise the comparison does not count
            self._compared.add(group[0])

    def mark_missing_comparisons(self) -> None:
        """Mark comparisons as undone that a signal or an undone answer prevented."""
        why = f"not run: {self._asker.reason_to_stop()}"
        answers = dict(self._answers)  # a copy, because late threads still add answers
        undone = {answer_id for answer_id, answer in answers.items() if answer.row.undone}
        for group in self._groups:
            is_prevented = self._asker.signal or not undone.isdisjoint(group)
            if group[0] in self._compared or not is_prevented:
                continue
            for answer_id in group:
                answer = answers.get(answer_id)
                if answer and answer.transcript:
                    row = rows.uncompared_row(self._plan.jobs[answer_id.case], answer.row, why)
                    self._answers[answer_id] = replace(answer, row=row)
