"""Asks targets for answers, and has each graded once and compared with others. Whatever goes wrong becomes an ERROR."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from gradegate.errors import Trouble
from gradegate.planning.plan import Plan, grading_models
from gradegate.providers.cache.call import at
from gradegate.results.rows import AnswerId, Row
from gradegate.runner import answers as converse
from gradegate.runner import rows
from gradegate.runner.asker import Asker
from gradegate.runner.estimate import answer_calls
from gradegate.runner.grading import Occasions, compared, grades_of, guarded
from gradegate.runner.rounds import Answer
from gradegate.structs import replace

Watch = Callable[[Row], None]


class FirstAnswers:
    """The answers to a plan with their first grades. ``answers`` are those that earlier jobs made."""

    def __init__(
        self, plan: Plan, asker: Asker, watch: Watch, answers: dict[AnswerId, Answer]
    ) -> None:
        self._plan = plan
        self._asker = asker
        self._watch = watch
        self._answers = answers
        self._occasions = Occasions(plan.jobs, asker.client.replies)
        groups = defaultdict(list)
        for index, job in enumerate(plan.jobs):
            if any(binding.is_comparison for binding in job.assertions):
                for repeat in range(job.repeats):
                    groups[job.suite, job.number, repeat].append(AnswerId(index, repeat))
        self._groups = list(groups.values())  # of answers that are compared with one another
        # The first answer of each comparison that was made.
        self._compared = {group[0] for group in self._groups if group[0] in answers}

    def take(self, answer_ids: Sequence[AnswerId]) -> dict[AnswerId, Answer]:
        """These answers. They are asked for now if they were not before and the run goes on."""
        left = [it for it in answer_ids if it not in self._answers]
        if left and not self._asker.signal:
            self._ask_for(left)
        return {it: self._answers.get(it) or self._missing_answer(it) for it in answer_ids}

    def _ask_for(self, answer_ids: Sequence[AnswerId]) -> None:
        jobs, asker = self._plan.jobs, self._asker
        for answer_id in answer_ids:
            job = jobs[answer_id.case]
            asker.require_keys((job.target, *grading_models(job)))
        if asker.missing_keys:
            return

        chains = converse.chains(jobs, answer_ids)
        # The longest first, so that no thread is left alone with one
        if self._plan.concurrency > 1:
            chains.sort(key=self._count_calls, reverse=True)
        asker.in_threads(self._answer_chain, chains, lambda chain: jobs[chain[0].case].target.host)

        asker.in_threads(self._compare, [it for it in self._groups if self._may_compare(it)])

    def _count_calls(self, chain: Sequence[AnswerId]) -> int:
        return sum(answer_calls(self._plan.jobs[answer_id.case]) for answer_id in chain)

    def _missing_answer(self, answer_id: AnswerId) -> Answer:
        undone = "not run" if self._asker.signal else "not re-asked"
        why = f"{undone}: {self._asker.reason_to_stop()}"
        job = self._plan.jobs[answer_id.case]
        row = rows.missing_row(job, answer_id.repeat, why, Trouble.STOPPED)
        return Answer(answer_id, job, row)

    def _answer_chain(self, chain: Sequence[AnswerId]) -> None:
        """Ask for the answers of one conversation in order."""
        memory = converse.Memory()
        is_undone = False
        for answer_id in chain:
            answer = self._ask(answer_id, memory)
            row = answer.row
            if self._asker.signal:
                why = f"not run: {self._asker.reason_to_stop()}"
                row = rows.cut_off(answer.job, row, why, memory.spent)
                self._answers[answer_id] = replace(answer, row=row)
                return
            if is_undone and row.error:
                # It may only lack the answer before it in its conversation.
                grades = (
                    replace(grade, setup=False, undone=True, unheard=False) for grade in row.grades
                )
                row = replace(row, grades=tuple(grades), undone=True)
            is_undone = is_undone or row.undone
            self._answers[answer_id] = replace(answer, row=row)
            self._watch(row)

    def _ask(self, answer_id: AnswerId, memory: converse.Memory) -> Answer:
        index, repeat = answer_id
        planned = self._plan.jobs[index]
        known = memory.known(planned)  # before the answer is stored that this job gives
        job = guarded(lambda: memory.recalled(planned), lambda error: error)
        if isinstance(job, Exception):
            return Answer(answer_id, planned, rows.failed(planned, repeat, job))
        with at(self._occasions.of_answer(index, repeat)):
            answer = guarded(lambda: converse.transcript(job, memory, repeat), lambda error: error)
            if isinstance(answer, Exception):
                return Answer(answer_id, planned, rows.failed(job, repeat, answer))
            row = rows.graded(job, repeat, answer, grades_of(job, answer), planned)
        may_reask = any(grade.has_failed for grade in row.grades)
        is_kept = may_reask or any(binding.is_comparison for binding in job.assertions)
        return Answer(answer_id, job, row, answer if is_kept else None, known)

    # --- comparisons ------------------------------------------------------------------------------------------

    def _may_compare(self, group: Sequence[AnswerId]) -> bool:
        """Whether a comparison is still to be made, and no answer is missing."""
        answers = [self._answers.get(answer_id) for answer_id in group]
        is_complete = all(answer and answer.transcript for answer in answers)
        return is_complete and group[0] not in self._compared

    def _compare(self, group: Sequence[AnswerId]) -> None:
        answers = [self._answers[answer_id] for answer_id in group]
        with at(self._occasions.of_comparison(*group[0])):
            compared_rows = compared(answers)
        for answer, row in zip(answers, compared_rows, strict=True):
            self._answers[answer.id] = replace(answer, row=row)
        if not self._asker.signal:  # else it counts for nothing
            self._compared.add(group[0])

    def leave_uncompared(self) -> None:
        """Mark comparisons as undone that were not made because the run ended, or because an answer is undone."""
        why = f"not run: {self._asker.reason_to_stop()}"
        answers = dict(self._answers)  # threads that are late still add to them
        undone = {answer_id for answer_id, answer in answers.items() if answer.row.undone}
        for group in self._groups:
            is_cut = self._asker.signal or not undone.isdisjoint(group)
            if group[0] in self._compared or not is_cut:
                continue
            for answer_id in group:
                answer = answers.get(answer_id)
                if answer and answer.transcript:
                    row = rows.uncompared(self._plan.jobs[answer_id.case], answer.row, why)
                    self._answers[answer_id] = replace(answer, row=row)
