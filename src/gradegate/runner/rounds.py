"""What is asked next: runs of cases, in rounds."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from gradegate.core.conversation import Transcript
from gradegate.gate.case_runs import next_runs, whole
from gradegate.planning.groups import groups
from gradegate.planning.plan import Job, Plan, selected
from gradegate.results.rows import AnswerId, Row
from gradegate.structs import FrozenStruct, NamedTexts


class Asked(FrozenStruct):
    """An answer with what its graders saw."""

    row: Row
    transcript: Transcript | None = (
        None  # kept only of answers that will be compared or asked again
    )
    job: Job | None = None  # with the stored answers that it used
    known: NamedTexts | None = None  # these stored answers


Take = Callable[
    [Sequence[AnswerId]], Mapping[AnswerId, Asked]
]  # gives each answer: asked for now or before, or as one that is missing


class Rounds:
    """The runs of cases are made in rounds, as many at once as decide, and what belongs together at the same time."""

    def __init__(self, plan: Plan, take: Take) -> None:
        self.take = take
        self.jobs = plan.jobs
        with_runs = [(index, job) for index, job in enumerate(plan.jobs) if job.needs]
        # Of each job whose runs are counted together, the rules that look at it: others want no runs of it.
        self._rules = {
            index: [it for it in plan.rules if it.suite == job.suite and any(selected(it, job))]
            for index, job in with_runs
        }
        self._groups = groups(plan.jobs, sides=False) if with_runs else []

    def answers(self, only: Collection[int] | None = None) -> dict[AnswerId, Asked]:
        """All answers of a plan, in its order, or those to the jobs of these indexes; of further runs, those that decide."""
        wanted = range(len(self.jobs)) if only is None else sorted(only)
        if not self._groups:
            answers = (
                AnswerId(index, it) for index in wanted for it in range(self.jobs[index].repeats)
            )
            return dict(self.take([*answers]))
        found: dict[AnswerId, Asked] = {}
        rows: Mapping[int, Sequence[Row]] = {index: [] for index in wanted}
        while places := self.next(rows):
            found |= self.take(places)
            rows = by_job((place, asked.row) for place, asked in found.items())
        return dict(sorted(found.items()))

    def next(self, rows: Mapping[int, Sequence[Row]]) -> list[AnswerId]:
        """What is asked now, where these rows are there, by the index of their job; what is not among them needs nothing."""
        places: list[AnswerId] = []
        for group in self._groups:
            known = [index for index in group if index in rows]
            if count := max((self.more(index, rows[index]) for index in known), default=0):
                made = max(len(rows[index]) for index in known)
                places += (
                    AnswerId(index, it)
                    for index in group
                    for it in range(made, min(made + count, self.jobs[index].repeats))
                )
        return sorted(places)

    def more(self, index: int, rows: Sequence[Row]) -> int:
        """How many more runs of a job are made at once, or answers to it."""
        job = self.jobs[index]
        if job.needs is None or job.given is not None:
            # A missing run before another is there: it is an error, as a live one would be.
            if rows:
                return 0
            if not (job.needs and job.given):
                return max(1, job.repeats)
            return max((number for number, it in enumerate(job.given, 1) if it), default=1)
        return next_runs(self._rules[index], rows, job.needs)

    def passes(self, index: int, rows: Sequence[Row]) -> bool:
        """Whether these runs of a job pass for all that look at them."""
        views = (whole(rule, rows) for rule in (None, *self._rules[index]))
        return all(view.has_passed for view in views if view)


def by_job(answers: Iterable[tuple[AnswerId, Row]]) -> dict[int, list[Row]]:
    """Rows by the index of their job, in the order of their repetitions."""
    found: dict[int, list[Row]] = {}
    for (index, _), row in sorted(answers, key=lambda answer: answer[0]):
        found.setdefault(index, []).append(row)
    return found
