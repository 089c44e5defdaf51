"""Asks graders about the same grades again, until the ballot of each is decided."""

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count

from gradegate.assertions.grading.bound import Bound
from gradegate.assertions.grading.conclusion import error
from gradegate.core.conversation import Transcript
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.gate.reasks.ballot import Ballot, ballot_state
from gradegate.gate.reasks.stopping import BallotState, HistoryRule, LeadRule
from gradegate.http.crew import gather_results
from gradegate.planning.plan import Job
from gradegate.providers.api.provider import Provider
from gradegate.results.grades import Grade
from gradegate.results.rows import AnswerId, GradeId
from gradegate.runner import answers as converse
from gradegate.runner.grading import grade_of, guarded
from gradegate.runner.transforms import Untransformed
from gradegate.structs import FrozenStruct, replace

Stopped = Callable[[], str]  # says why no more may be asked; empty as long as more may be

# Asks about a base's answer are counted from here, so that none is the same request as one of the run, where both answers are the same.
BASE_ASKS = 1000


class ReaskTask(FrozenStruct):
    """Grades of one answer that are re-asked together."""

    answer: AnswerId
    job: Job
    transcript: Transcript
    bounds: dict[int, Bound]  # by the positions of the grades
    asks_target: bool = False  # each time for a fresh answer, in which all open grades are graded
    asks_before: int = 0

    @property
    def providers(self) -> Iterator[Provider]:
        """The models that are asked."""
        if self.asks_target:
            yield self.job.target
        for bound in self.bounds.values():
            yield from bound.models.values()


class FreshAnswer(FrozenStruct):
    """What the target said when it was asked again, or why it said nothing."""

    content: Transcript | Exception
    usage: Usage

    @property
    def text(self) -> str:
        """The answer as reports show it."""
        content = self.content
        if isinstance(content, Untransformed):
            content = content.transcript
        return content.output if isinstance(content, Transcript) else f"(no answer: {content})"


class BallotBox:
    """Ballots that threads fill under one lock, so that a signal loses nothing that was paid for."""

    def __init__(self) -> None:
        self.ballots: dict[GradeId, Ballot] = {}
        self.target_usage: dict[AnswerId, Usage] = {}  # for fresh answers
        self.lost = NO_USAGE  # of graders, for asks that were cut off
        self._lock = threading.Lock()

    def start(self, grade_id: GradeId, first: Grade, rule: LeadRule | HistoryRule) -> None:
        """Begin a ballot with the first ask."""
        self.ballots[grade_id] = Ballot((first,), rule)

    def is_open(self, grade_id: GradeId) -> bool:
        """Whether the ballot is not decided yet."""
        return ballot_state(self.ballots[grade_id]) is BallotState.OPEN

    def fail(self, grade_id: GradeId, ask: Grade) -> None:
        """Fill a ballot that nobody can ask with errors."""
        while self.is_open(grade_id):
            self.record({grade_id: ask})

    def record(
        self, asks: Mapping[GradeId, Grade], answer: FreshAnswer | None = None, is_cut: bool = False
    ) -> None:
        """Add one ask of each grade of an answer. An error is no ask if it ``is_cut`` off by a signal or the budget."""
        with self._lock:
            for grade_id, ask in asks.items():
                if is_cut and ask.has_error:
                    self.lost += ask.usage
                    continue
                ballot = self.ballots[grade_id]
                texts = (*ballot.answers, answer.text) if answer else ()
                self.ballots[grade_id] = replace(ballot, asks=(*ballot.asks, ask), answers=texts)
            if answer:
                answer_id = next(iter(asks)).answer
                before = self.target_usage.get(answer_id, NO_USAGE)
                self.target_usage[answer_id] = before + answer.usage

    @property
    def grader_usage(self) -> Usage:
        """What graders took for all re-asks."""
        usage = self.lost
        for ballot in self.ballots.values():
            usage = sum((ask.usage for ask in ballot.asks[1:]), usage)
        return usage


def ask_until_decided(task: ReaskTask, box: BallotBox, stopped: Stopped) -> None:
    """Ask for the grades of a task again and again, until each ballot is decided or no more may be asked."""
    grade_ids = [GradeId(task.answer, position) for position in task.bounds]
    for number in count(task.asks_before + 1):
        grade_ids = [grade_id for grade_id in grade_ids if box.is_open(grade_id)]
        if not grade_ids or stopped():
            return
        answer = _ask_target(task.job) if task.asks_target else None
        content = answer.content if answer else task.transcript
        bounds = [task.bounds[grade_id.position] for grade_id in grade_ids]
        asks = gather_results([partial(_grade, bound, content, number) for bound in bounds])
        box.record(dict(zip(grade_ids, asks, strict=True)), answer, is_cut=bool(stopped()))


def _ask_target(job: Job) -> FreshAnswer:
    memory = converse.Memory()
    content = guarded(lambda: converse.transcript(job, memory), lambda error: error)
    return FreshAnswer(content, memory.spent)


def _grade(bound: Bound, answer: Transcript | Exception, number: int) -> Grade:
    if isinstance(answer, Untransformed):
        return error(bound, answer, NO_USAGE)
    if isinstance(answer, Exception):
        return error(bound, f"the target gave no answer: {answer}", NO_USAGE)
    return grade_of(bound, answer, number)
