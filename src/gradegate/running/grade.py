"""Has one answer graded: every assertion by its grader, the questions of several at once."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gradegate.grading.conclude import Binding, Bound, BoundSet, conclude, conclude_set, error
from gradegate.grading.judge import Account, Judge
from gradegate.http.parallel import gather
from gradegate.planning.job import Job
from gradegate.replies.question import at
from gradegate.running import transforms
from gradegate.running.border import guarded
from gradegate.running.occasions import of_grade
from gradegate.values.conversation import NO_USAGE, Transcript
from gradegate.values.result import Grade


def grades_of(job: Job, transcript: Transcript, reask: int) -> tuple[Grade, ...]:
    """The grades of an answer in the order of its assertions; members of a set follow it."""
    tasks = [partial(_grades, binding, transcript, reask, job.ask) for binding in job.assertions]
    asking = sum(any(bound.models for bound in binding.bounds) for binding in job.assertions)
    grades = gather(tasks) if asking > 1 else [task() for task in tasks]
    return tuple(grade for several in grades for grade in several)


def judge_of(bound: Bound, transcript: Transcript, account: Account, reask: int, graded: str | None = None, ask: int = 0) -> Judge:
    """The grading models of an assertion; ``graded`` is the text under judgement, by default the answer.

    ``ask`` says which time it is judged, from 0.
    """
    language = str(getattr(bound.grader, "language", ""))
    text = transcript.output if graded is None else graded
    return Judge(bound.models, bound.rubric, transcript.vars, account, reask, language, text, ask)


def _grades(binding: Binding, transcript: Transcript, reask: int, ask: int) -> list[Grade]:
    if isinstance(binding, BoundSet):
        members = [grade_of(member, transcript, reask, ask) for member in binding.bounds]
        return [conclude_set(binding, members), *(replace(grade, inner=True) for grade in members)]
    return [grade_of(binding, transcript, reask, ask)]


def grade_of(bound: Bound, transcript: Transcript, reask: int, ask: int) -> Grade:
    """One ask, which is the ``ask``-th from 0: whatever goes wrong becomes an ERROR."""
    if bound.compares:
        return error(bound, "not compared: the case has no second answer, or the run ended early", NO_USAGE)
    account = Account()

    def grade() -> Grade:
        with at(of_grade(bound)):
            seen = transforms.of_assertion(bound.transform, transcript)
            verdict = bound.grader.grade(seen, judge_of(bound, seen, account, reask, ask=ask))
        return conclude(bound, verdict, account.total)

    return replace(guarded(grade, lambda e: error(bound, e, account.total)), model=account.model)
