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


# Gives an answer for each id: one made before in this run, one made now, or an error that says why it is missing
GetAnswers = Callable[[Sequence[AnswerId]], Mapping[AnswerId, Answer]]


class Rounds:
    """Makes the runs of cases in rounds: each round has the runs that may decide. Related jobs are asked at the same time."""

    def __init__(self, plan: Plan, get_answers: GetAnswers) -> None:
        self.get_answers = get_answers
        self._jobs = plan.jobs
        # The rules that select a job, for each job with runs that are counted together
        self._rules: dict[int, list[Rule]] = {}
        for index, job in enumerate(plan.jobs):
            if job.needs:
                self._rules[index] = [
                    rule
                    for rule in plan.rules
                    if rule.suite == job.suite and any(selected_assertions(rule, job))
                ]
        self._groups = group_jobs(plan.jobs, sides=False) if self._rules else []

    def ask_all(self, job_indexes: Collection[int] | None = None) -> dict[AnswerId, Answer]:
        """Ask all jobs, or some with the jobs of their groups, for the runs that may decide. Gives the answers in plan order."""
        indexes = range(len(self._jobs)) if job_indexes is None else sorted(job_indexes)
        if not self._groups:
            # No runs are counted together, so one round makes all answers.
            ids = []
            for index in indexes:
                ids += [AnswerId(index, repeat) for repeat in range(self._jobs[index].repeats)]
            return dict(self.get_answers(ids))

        answers: dict[AnswerId, Answer] = {}
        rows: Mapping[int, Sequence[Row]] = {index: [] for index in indexes}
        ids = self.next_answers(rows)
        while ids:
            answers |= self.get_answers(ids)
            rows = rows_by_case(answers.values())
            ids = self.next_answers(rows)
        return dict(sorted(answers.items()))

    def next_answers(self, rows: Mapping[int, Sequence[Row]]) -> list[AnswerId]:
        """The answers to ask for in the next round, in plan order. Empty if no more are needed.

        ``rows`` has the rows made so far by the index of their job, and no rows for a job that was not asked yet. A job that is
        not in ``rows`` is only asked along with a job of its group that needs answers.
        """
        ids = []
        for group in self._groups:
            needing = [index for index in group if index in rows]
            missing = [self.count_missing(index, rows[index]) for index in needing]
            count = max(missing, default=0)
            if count == 0:
                continue

            # All jobs of the group make the same repetitions.
            begin = max(len(rows[index]) for index in needing)
            for index in group:
                end = min(begin + count, self._jobs[index].repeats)
                ids += [AnswerId(index, repeat) for repeat in range(begin, end)]
        return sorted(ids)

    def count_missing(self, index: int, rows: Sequence[Row]) -> int:
        """How many more answers a job needs at once, after these rows."""
        job = self._jobs[index]
        if job.needs and job.recorded_answers is None:
            return next_runs(self._rules[index], rows, job.needs)

        # Any other job gets all answers in its first round.
        if rows:
            return 0
        if job.needs and job.recorded_answers:
            # All recorded runs up to the last one. A gap between them is an error, as a failed live run would be.
            numbers = [number for number, answer in enumerate(job.recorded_answers, 1) if answer]
            return max(numbers, default=1)
        return max(1, job.repeats)

    def passes_all_rules(self, index: int, rows: Sequence[Row]) -> bool:
        """Whether these runs of a job pass for the gate and for each rule that selects them."""
        for rule in (None, *self._rules[index]):  # None stands for the gate
            row = fold_runs(rule, rows)
            if row and not row.has_passed:
                return False
        return True


def rows_by_case(answers: Iterable[Answer]) -> dict[int, list[Row]]:
    """The rows of answers by the index of their job, in the order of their repetitions."""
    rows: dict[int, list[Row]] = {}
    for answer in sorted(answers, key=lambda answer: answer.id):
        rows.setdefault(answer.id.case, []).append(answer.row)
    return rows
