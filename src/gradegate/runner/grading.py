"""Has answers graded: each assertion by its grader, and comparisons of all answers to a case once these have their other grades."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import TypeVar

from gradegate.assertions.grading.bound import Binding, Bound, BoundSet
from gradegate.assertions.grading.conclusion import conclude, conclude_set, error
from gradegate.assertions.judge.judge import Account, Judge
from gradegate.core.conversation import Transcript
from gradegate.core.usage import NO_USAGE
from gradegate.http.crew import gather_results
from gradegate.http.response_cache import ResponseCache
from gradegate.planning.identity import Ordinals, request_digest
from gradegate.planning.plan import Job
from gradegate.providers.cache.call import GRADER, TARGET, Occasion, at, occasion
from gradegate.results.grades import Grade
from gradegate.results.rows import Row
from gradegate.runner.rounds import Answer
from gradegate.runner.rows import asks, with_grades
from gradegate.runner.transforms import empty_answer, of_assertion
from gradegate.structs import replace

T = TypeVar("T")
U = TypeVar("U")


def guarded(action: Callable[[], T], otherwise: Callable[[Exception], U]) -> T | U:
    """What the action gives, or what ``otherwise`` makes of a defect: one answer or grade is lost, never the run."""
    try:
        return action()
    except Exception as e:
        return otherwise(e)


class Occasions:
    """Where in a run its questions are asked, for the cache; no place without one.

    Places are named by the request, and not by their number: a case that is added, removed or renamed leaves all others as they are.
    """

    def __init__(self, jobs: Sequence[Job], replies: ResponseCache | None) -> None:
        self._jobs = jobs
        self._replies = replies
        self._names = _numbered(request_digest(job).hex() for job in jobs) if replies else []

    def of_answer(self, index: int, repeat: int) -> Occasion | None:
        """Where a job's target is asked; the base's answers, which a run asks for beside its own, are always fresh."""
        if self._replies is None or self._jobs[index].of_base:
            return None
        bounds = self._jobs[index].bounds
        numbered = _numbered(repr((bound.asserted.type, bound.asserted.value)) for bound in bounds)
        names = {id(bound): name for bound, name in zip(bounds, numbered, strict=True)}
        return Occasion(self._replies, TARGET, (*self._names[index], repeat), names)

    def of_comparison(self, index: int, repeat: int) -> Occasion | None:
        """Where the answers are compared of which a job's is the first."""
        return (
            Occasion(self._replies, GRADER, (*self._names[index], repeat, "compared"))
            if self._replies
            else None
        )


def _numbered(things: Iterable[str]) -> list[tuple[str, int]]:
    """Each with how many of its like come before it."""
    ordinals = Ordinals()
    return [(thing, ordinals.next(thing)) for thing in things]


def grades_of(job: Job, transcript: Transcript) -> tuple[Grade, ...]:
    """The grades of an answer in the order of its assertions; members of a set follow it."""

    def graded(binding: Binding) -> list[Grade]:
        grades = [grade_of(bound, transcript, job.ask) for bound in binding.bounds]
        if not isinstance(binding, BoundSet):
            return grades
        return [conclude_set(binding, grades), *(replace(grade, inner=True) for grade in grades)]

    at_once = sum(map(asks, job.assertions)) > 1
    grades = (
        gather_results([partial(graded, binding) for binding in job.assertions])
        if at_once
        else map(graded, job.assertions)
    )
    return tuple(chain.from_iterable(grades))


def _judge(
    bound: Bound,
    transcript: Transcript,
    account: Account,
    graded: str,
    ask: int = 0,
) -> Judge:
    """The grading models of an assertion. ``graded`` is the text under judgement; ``ask`` says which time it is judged, from 0."""
    language = str(getattr(bound.grader, "language", ""))
    return Judge(
        bound.models,
        bound.rubric,
        transcript.vars,
        account,
        bound.grader_retries,
        language,
        graded,
        ask,
    )


def grade_of(bound: Bound, transcript: Transcript, ask: int) -> Grade:
    """One ask, which is the ``ask``-th from 0: whatever goes wrong becomes an ERROR."""
    if bound.compares:
        return error(
            bound, "not compared: the case has no second answer, or the run ended early", NO_USAGE
        )
    if not bound.grader.requires.tools and (nothing := empty_answer(transcript)):
        return error(bound, f"the answer is {nothing}", NO_USAGE)
    account = Account()

    def grade() -> Grade:
        here = occasion()  # this thread's answer
        with at(
            here.below(*here.names[id(bound)], role=GRADER)
            if here and id(bound) in here.names
            else None
        ):
            seen = of_assertion(bound.transform, transcript)
            verdict = bound.grader.grade(seen, _judge(bound, seen, account, seen.output, ask))
        return conclude(bound, verdict, account.total)

    found = guarded(grade, lambda e: error(bound, e, account.total))
    return replace(found, model=account.model) if account.model else found


# --- comparisons ----------------------------------------------------------------------------------------------


def compared(answers: Sequence[Answer]) -> list[Row]:
    """The rows of all answers to one case, each with its grades of the comparisons."""
    rows, place = [answer.row for answer in answers], 0
    for binding in answers[0].job.assertions:
        if isinstance(binding, Bound) and binding.compares:
            grades = zip(answers, rows, _comparison(binding, answers, rows), strict=True)
            rows = [
                with_grades(it.job.case, row, (*row.grades[:place], new, *row.grades[place + 1 :]))
                for it, row, new in grades
            ]
        place += _places(binding)
    return rows


def _comparison(bound: Bound, answers: Sequence[Answer], rows: Sequence[Row]) -> list[Grade]:
    account = Account()
    transcripts = [answer.transcript for answer in answers if answer.transcript]
    graded = "\n".join(transcript.output for transcript in transcripts)

    def grades() -> list[Grade]:
        # The grades of an answer that do not come from comparing it.
        compares = [
            binding.compares
            for binding in answers[0].job.assertions
            for _ in range(_places(binding))
        ]
        own_grades = [
            tuple(grade for grade, skipped in zip(row.grades, compares, strict=True) if not skipped)
            for row in rows
        ]
        verdicts = bound.grader.compare(
            transcripts, own_grades, _judge(bound, transcripts[0], account, graded)
        )
        # The comparison is one question: its usage is booked once, on the first answer.
        usages = [account.total, *[NO_USAGE] * (len(verdicts) - 1)]
        return [
            conclude(bound, verdict, usage) for verdict, usage in zip(verdicts, usages, strict=True)
        ]

    def errors(e: Exception) -> list[Grade]:
        return [
            error(bound, e, NO_USAGE if number else account.total) for number in range(len(answers))
        ]

    return guarded(grades, errors)


def _places(binding: Binding) -> int:
    """How many grades an assertion has: those of a set's members follow its own."""
    return len(binding.bounds) + isinstance(binding, BoundSet)
