"""What is asked next: runs of cases, in rounds."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from gradegate.core.conversation import Transcript
from gradegate.gate.case_runs import next_runs, whole
from gradegate.planning.groups import group_jobs
from gradegate.planning.plan import Job, Plan, selected_assertions
from gradegate.results.rows import AnswerId, Row
from gradegate.structs import NamedTexts, Struct


class Answer(Struct):
    """An answer with its row as it is now. ``transcript`` is what its graders saw; kept if they may see it again."""

    id: AnswerId
    job: Job  # with the stored answers that it used
    row: Row
    transcript: Transcript | None = None
    known: NamedTexts | None = None  # the stored answers that it used
    open: set[int] = set()  # the positions of failing grades that may still be re-asked

    @property
    def case_id(self) -> AnswerId:
        """The id of the first answer of what is decided together."""
        return AnswerId(self.id.case, 0) if self.job.needs else self.id


# Gives each answer: asked for now or before, or as one that is missing
Take = Callable[[Sequence[AnswerId]], Mapping[AnswerId, Answer]]


class Rounds:
    """The runs of cases are made in rounds, as many at once as decide, and what belongs together at the same time."""

    def __init__(self, plan: Plan, take: Take) -> None:
        self.take = take
        self._jobs = plan.jobs
        with_runs = [(index, job) for index, job in enumerate(plan.jobs) if job.needs]
        # Of each job whose runs are counted together, the rules that look at it: others want no runs of it.
        self._rules = {
            index: [
                it
                for it in plan.rules
                if it.suite == job.suite and any(selected_assertions(it, job))
            ]
            for index, job in with_runs
        }
        self._groups = group_jobs(plan.jobs, sides=False) if with_runs else []

    def answers(self, only: Collection[int] | None = None) -> dict[AnswerId, Answer]:
        """All answers of a plan, in its order, or those to the jobs of these indexes; of further runs, those that decide."""
        wanted = range(len(self._jobs)) if only is None else sorted(only)
        if not self._groups:
            ids = [
                AnswerId(index, it) for index in wanted for it in range(self._jobs[index].repeats)
            ]
            return dict(self.take(ids))
        answers: dict[AnswerId, Answer] = {}
        rows: Mapping[int, Sequence[Row]] = {index: [] for index in wanted}
        while ids := self.next(rows):
            answers |= self.take(ids)
            rows = by_job(answers.values())
        return dict(sorted(answers.items()))

    def next(self, rows: Mapping[int, Sequence[Row]]) -> list[AnswerId]:
        """What is asked now, where these rows are there, by the index of their job; what is not among them needs nothing."""
        ids: list[AnswerId] = []
        for group in self._groups:
            known = [index for index in group if index in rows]
            count = max((self.more(index, rows[index]) for index in known), default=0)
            if count:
                made = max(len(rows[index]) for index in known)
                for index in group:
                    end = min(made + count, self._jobs[index].repeats)
                    ids += [AnswerId(index, repeat) for repeat in range(made, end)]
        return sorted(ids)

    def more(self, index: int, rows: Sequence[Row]) -> int:
        """How many more runs of a job are made at once, or answers to it."""
        job = self._jobs[index]
        if job.needs is None or job.recorded_answers is not None:
            # A missing run before another is there: it is an error, as a live one would be.
            if rows:
                return 0
            if not (job.needs and job.recorded_answers):
                return max(1, job.repeats)
            return max(
                (number for number, it in enumerate(job.recorded_answers, 1) if it), default=1
            )
        return next_runs(self._rules[index], rows, job.needs)

    def passes(self, index: int, rows: Sequence[Row]) -> bool:
        """Whether these runs of a job pass for all that look at them."""
        views = (whole(rule, rows) for rule in (None, *self._rules[index]))
        return all(view.has_passed for view in views if view)


def by_job(answers: Iterable[Answer]) -> dict[int, list[Row]]:
    """The rows of answers by the index of their job, in the order of their repetitions."""
    rows: dict[int, list[Row]] = {}
    for answer in sorted(answers, key=lambda answer: answer.id):
        rows.setdefault(answer.id.case, []).append(answer.row)
    return rows
