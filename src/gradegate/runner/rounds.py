"""Decides which answers are asked next: the runs of cases are made in rounds."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from gradegate.core.conversation import Transcript
from gradegate.core.policy import Rule
from gradegate.gate.case_runs import fold_runs, next_runs
from gradegate.planning.groups import group_jobs
from gradegate.planning.plan import Job, Plan, selected_assertions
from gradegate.results.rows import AnswerId, Row
from gradegate.structs import NamedTexts, Struct


class Answer(Struct):
    """An answer with its current row. ``transcript`` is what its graders saw; kept if they may see it again."""

    id: AnswerId
    job: Job  # with the stored answers that it used
    row: Row
    transcript: Transcript | None = None
    stored_answers: NamedTexts | None = None  # those that it used, by name
    open: set[int] = set()  # the positions of failing grades that may still be re-asked

    @property
    def case_id(self) -> AnswerId:
        """The id of the first answer among those that are decided together."""
        return AnswerId(self.id.case, 0) if self.job.needs else self.id


# Gives each answer: an earlier one, one that is asked for now, or one that is missing
GetAnswers = Callable[[Sequence[AnswerId]], Mapping[AnswerId, Answer]]


class Rounds:
    """Makes the runs of cases in rounds: each round has the runs that may decide. Related jobs are asked at the same time."""

    def __init__(self, plan: Plan, get_answers: GetAnswers) -> None:
        self.get_answers = get_answers
        self._jobs = plan.jobs
        # For each job with runs that are counted together, the rules that select it
        self._rules: dict[int, list[Rule]] = {}
        for index, job in enumerate(plan.jobs):
            if job.needs:
                self._rules[index] = _select_rules(plan.rules, job)
        # The indexes of jobs that are asked at the same time; only needed if there are further runs
        self._groups: Sequence[Sequence[int]] = []
        if self._rules:
            self._groups = group_jobs(plan.jobs, sides=False)

    def ask_all(self, job_indexes: Collection[int] | None = None) -> dict[AnswerId, Answer]:
        """All answers, or those to some jobs, in plan order. Of further runs only those that decide are asked."""
        indexes: Sequence[int] = range(len(self._jobs))
        if job_indexes is not None:
            indexes = sorted(job_indexes)

        # Without further runs, one round has all answers.
        if not self._groups:
            ids: list[AnswerId] = []
            for index in indexes:
                ids += [AnswerId(index, repeat) for repeat in range(self._jobs[index].repeats)]
            return dict(self.get_answers(ids))

        answers: dict[AnswerId, Answer] = {}
        rows: Mapping[int, Sequence[Row]] = {index: [] for index in indexes}
        while True:
            ids = self.next_answers(rows)
            if not ids:
                return dict(sorted(answers.items()))
            answers.update(self.get_answers(ids))
            rows = rows_by_case(answers.values())

    def next_answers(self, rows: Mapping[int, Sequence[Row]]) -> list[AnswerId]:
        """The answers of the next round; ``rows`` are those made so far, by the index of their job. Other jobs need none."""
        ids: list[AnswerId] = []
        for group in self._groups:
            # The jobs of a group have the same number of runs: as many as the job that needs most.
            begin = 0
            count = 0
            for index in group:
                if index in rows:
                    begin = max(begin, len(rows[index]))
                    count = max(count, self.count_missing(index, rows[index]))
            if count == 0:
                continue

            for index in group:
                end = min(begin + count, self._jobs[index].repeats)
                ids += [AnswerId(index, repeat) for repeat in range(begin, end)]
        return sorted(ids)

    def count_missing(self, index: int, rows: Sequence[Row]) -> int:
        """How many more answers to a job are asked at once."""
        job = self._jobs[index]
        if job.needs is not None and job.recorded_answers is None:
            return next_runs(self._rules[index], rows, job.needs)
        if rows:
            return 0
        if job.needs is None or not job.recorded_answers:
            return max(1, job.repeats)
        # All recorded runs up to the last one. A gap between them is an error, as a failed live run would be.
        count = 1
        for number, answer in enumerate(job.recorded_answers, 1):
            if answer:
                count = number
        return count

    def passes_all_rules(self, index: int, rows: Sequence[Row]) -> bool:
        """Whether these runs of a job pass for the gate and for each rule that selects them."""
        for rule in (None, *self._rules[index]):
            row = fold_runs(rule, rows)
            if row and not row.has_passed:
                return False
        return True


def _select_rules(rules: Iterable[Rule], job: Job) -> list[Rule]:
    """The rules that select a job: those of its suite that select one of its assertions."""
    return [
        rule for rule in rules if rule.suite == job.suite and any(selected_assertions(rule, job))
    ]


def rows_by_case(answers: Iterable[Answer]) -> dict[int, list[Row]]:
    """The rows of answers by the index of their job, in the order of their repetitions."""
    rows: dict[int, list[Row]] = {}
    for answer in sorted(answers, key=lambda answer: answer.id):
        rows.setdefault(answer.id.case, []).append(answer.row)
    return rows
