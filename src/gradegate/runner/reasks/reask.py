"""Asks graders for the same grades again, until the ballot of each grade is decided."""

import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count

from gradegate.assertions.grading.bound import BoundAssertion
from gradegate.assertions.grading.conclusion import grade_from_error
from gradegate.core.conversation import Transcript
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.gate.reasks.ballot import Ballot, ballot_state
from gradegate.gate.reasks.stopping import BallotState, HistoryRule, LeadRule
from gradegate.http.crew import gather_results
from gradegate.planning.plan import Job
from gradegate.providers.api.provider import Provider
from gradegate.results.grades import Grade
from gradegate.results.rows import AnswerId, GradeId
from gradegate.runner.answers import Memory, ask_target
from gradegate.runner.grading import ask_grade, catch_defects
from gradegate.runner.transforms import TransformError
from gradegate.structs import FrozenStruct, replace

# Gives why nothing more may be asked; an empty string if more may be asked
ReasonToStop = Callable[[], str]

# Asks about an answer of the base are counted from here. So they are no requests of the run, even if both answers are equal.
BASE_ASKS = 1000


class ReaskTask(FrozenStruct):
    """Grades of one answer that are re-asked together."""

    answer: AnswerId
    job: Job
    transcript: Transcript
    bounds: dict[int, BoundAssertion]  # by the positions of the grades
    asks_target: bool = False  # each ask grades a fresh answer
    asks_before: int = 0

    @property
    def providers(self) -> Iterator[Provider]:
        """The models that are asked."""
        if self.asks_target:
            yield self.job.target
        for bound in self.bounds.values():
            yield from bound.models.values()


class FreshAnswer(FrozenStruct):
    """The answer of a target that was asked again, or the error in its place."""

    content: Transcript | Exception
    usage: Usage

    @property
    def text(self) -> str:
        """The answer as reports show it."""
        content = self.content
        if isinstance(content, TransformError):
            content = content.transcript
        return content.output if isinstance(content, Transcript) else f"(no answer: {content})"


class BallotBox:
    """Ballots that threads fill under one lock, so that a signal loses nothing that was paid for."""

    def __init__(self) -> None:
        self.ballots: dict[GradeId, Ballot] = {}
        self.target_usage: dict[AnswerId, Usage] = {}  # for fresh answers
        self.cut_usage = NO_USAGE  # of graders, for asks that were cut off
        self._lock = threading.Lock()

    def start(self, grade_id: GradeId, first: Grade, rule: LeadRule | HistoryRule) -> None:
        """Begin a ballot with the first ask of a grade."""
        self.ballots[grade_id] = Ballot((first,), rule)

    def is_open(self, grade_id: GradeId) -> bool:
        """Whether the ballot is not decided yet."""
        return ballot_state(self.ballots[grade_id]) is BallotState.OPEN

    def fail(self, grade_id: GradeId, ask: Grade) -> None:
        """Fill a ballot with errors, because nobody can be asked."""
        while self.is_open(grade_id):
            self.record({grade_id: ask})

    def record(
        self, asks: Mapping[GradeId, Grade], answer: FreshAnswer | None = None, is_cut: bool = False
    ) -> None:
        """Add one ask to the ballot of each grade. All grades belong to one answer of the run.

        ``answer`` is what the asks graded, if the target was asked again, too. ``is_cut``: a signal or the budget ended the
        asks, so their errors do not count as votes.
        """
        with self._lock:
            for grade_id, ask in asks.items():
                if is_cut and ask.has_error:
                    self.cut_usage += ask.usage
                    continue
                ballot = self.ballots[grade_id]
                ballot = replace(ballot, asks=(*ballot.asks, ask))
                if answer:
                    ballot = replace(ballot, answers=(*ballot.answers, answer.text))
                self.ballots[grade_id] = ballot

            if answer:
                first_grade, *_ = asks
                answer_id = first_grade.answer
                earlier_usage = self.target_usage.get(answer_id, NO_USAGE)
                self.target_usage[answer_id] = earlier_usage + answer.usage

    @property
    def grader_usage(self) -> Usage:
        """What graders took for all re-asks; the first asks count elsewhere."""
        usage = self.cut_usage
        for ballot in self.ballots.values():
            usage = sum((ask.usage for ask in ballot.asks[1:]), usage)
        return usage


def ask_until_decided(task: ReaskTask, box: BallotBox, reason_to_stop: ReasonToStop) -> None:
    """Ask for the grades of a task again and again, until each ballot is decided or no more may be asked."""
    grade_ids = [GradeId(task.answer, position) for position in task.bounds]
    for number in count(task.asks_before + 1):
        grade_ids = list(filter(box.is_open, grade_ids))
        if not grade_ids or reason_to_stop():
            return

        answer = None
        content: Transcript | Exception = task.transcript
        if task.asks_target:
            answer = _ask_again(task.job)
            content = answer.content
        questions = []
        for grade_id in grade_ids:
            bound = task.bounds[grade_id.position]
            questions.append(partial(_grade, bound, content, number))
        grades = gather_results(questions)
        asks = dict(zip(grade_ids, grades, strict=True))
        box.record(asks, answer, is_cut=bool(reason_to_stop()))


def _ask_again(job: Job) -> FreshAnswer:
    memory = Memory()
    content = catch_defects(lambda: ask_target(job, memory))
    return FreshAnswer(content, memory.spent)


def _grade(bound: BoundAssertion, content: Transcript | Exception, number: int) -> Grade:
    if isinstance(content, TransformError):
        return grade_from_error(bound, content, NO_USAGE)
    if isinstance(content, Exception):
        return grade_from_error(bound, f"the target gave no answer: {content}", NO_USAGE)
    return ask_grade(bound, content, number)
