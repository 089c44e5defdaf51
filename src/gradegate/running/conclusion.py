"""What is made of the answers of a plan once they are there, whoever asked for them: failures are confirmed, and all is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gradegate import __version__
from gradegate.planning.job import Job, Plan
from gradegate.running.askable import Askable
from gradegate.running.base_grades import Beside
from gradegate.running.confirm import Answer, Confirming, Pursue
from gradegate.running.histories import Histories
from gradegate.running.metric_sums import derived
from gradegate.values.account import BudgetReport, CacheReport, Made
from gradegate.values.conversation import NO_USAGE, Transcript, Usage
from gradegate.values.figures import many
from gradegate.values.result import Row, RunResult, cases_of
from gradegate.values.suite import Note

Place = tuple[int, int]  # of an answer: the index of its job, and the repetition


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer with what its graders saw; the transcript is kept only of answers that will be compared or asked again.

    ``job`` has the stored answers that it used, which are ``known``.
    """

    row: Row
    transcript: Transcript | None = None
    job: Job | None = None
    known: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """How a run went, and what it took beside its rows. ``lost``: of target and graders, for what no row has.

    ``stopped`` says why it ended early, ``problems`` what was wrong with its cache.
    """

    started: str = ""  # UTC, ISO 8601
    seconds: float = 0.0
    stopped: str = ""
    lost: tuple[Usage, Usage] = (NO_USAGE, NO_USAGE)
    budget: BudgetReport | None = None
    cache: CacheReport | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gathered:
    """The answers of a plan while failures of them are asked again. ``places`` has the place of each answer by its number.

    ``others`` are the answers of a base that is asked in the same run, which are not among them.
    """

    plan: Plan
    confirming: Confirming
    places: Sequence[Place]
    histories: Histories
    others: Sequence[Row] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        plan: Plan,
        askable: Askable,
        reask: int,
        asked_of: Callable[[int, Job, int], Asked],
        pursue: Pursue | None = None,
    ) -> Gathered:
        """All planned answers in plan order: ``asked_of`` gives each, by the index of its job, the job and the repetition."""
        answers: list[Answer] = []
        others: list[Row | None] = []
        places: list[Place] = []
        histories = Histories(plan, askable)
        for index, job in enumerate(plan.jobs):
            for repeat in range(job.repeats):
                asked = asked_of(index, job, repeat)
                if job.of_base:  # its own side came before
                    others[repeat - job.repeats] = asked.row
                else:
                    answers.append(Answer(asked.job or job, asked.row, asked.transcript, histories.of((index, repeat))))
                    others.append(None)
                    places.append((index, repeat))
        beside = Beside.of(plan, askable, reask, others)
        confirming = Confirming(askable, answers, reask, histories, beside, pursue)
        return cls(plan, confirming, places, histories, [row for row in others if row])

    def result(self, why: str, account: Account) -> RunResult:
        """Everything, where ``why`` says that asking ended early."""
        rows = self.confirming.end(why)
        every = (*rows, *self.others)
        target = sum((row.usage for row in every), account.lost[0] + self.confirming.lost_answers)
        grades = (grade.usage for row in every for grade in row.grades)
        graders = sum(grades, account.lost[1] + self.confirming.unseen)
        doubts = map(Note, self.confirming.doubts())
        cache_notes = [Note(f"the cache: {problem}") for problem in account.problems]
        plan = self.plan
        of = plan.digests, plan.recorded, plan.titles, plan.options, plan.folder
        made = Made(__version__, plan.commit, account.started, *of)
        return RunResult(
            cases=cases_of(rows),
            target_usage=target,
            grader_usage=graders,
            interrupted=account.stopped,
            notes=(*plan.notes, *_notes(rows), *doubts, *cache_notes),
            seconds=account.seconds,
            models=plan.models,
            keys=plan.keys,
            about=plan.about,
            made=made,
            budget=account.budget,
            cache=account.cache,
            confirm=self.confirming.report(),
            baseline=self.confirming.baseline(rows),
            derived=derived(plan.derived, rows),
            history=self.histories.report(rows),
            powers=plan.powers,
        )


def _notes(rows: Sequence[Row]) -> list[Note]:
    """Answers that were cut are graded, and every report says so; once for each place in a config."""
    cut = [row for row in rows if row.cut_off]
    places = Counter(row.origin for row in cut)
    return [Note(f"{many(count, 'answer')} cut at the token limit, and graded as cut", o) for o, count in places.items()]
