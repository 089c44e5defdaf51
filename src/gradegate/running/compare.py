"""Comparisons: assertions that grade all answers to one case together, once each answer has its other grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gradegate.grading.conclude import Bound, conclude, error
from gradegate.grading.judge import Account
from gradegate.planning.job import Job
from gradegate.running.border import guarded
from gradegate.running.grade import judge_of
from gradegate.running.scoring import concluded
from gradegate.values.conversation import NO_USAGE, Transcript
from gradegate.values.result import Grade, Row


@dataclass(frozen=True, slots=True)
class Answered:
    """One answer to a case that is compared with the others."""

    job: Job
    row: Row
    transcript: Transcript


def compared(answers: Sequence[Answered], reask: int) -> list[Row]:
    """The rows of all answers to one case, each with its grades of the comparisons."""
    rows = [answer.row for answer in answers]
    for position, binding in enumerate(answers[0].job.assertions):
        if isinstance(binding, Bound) and binding.compares:
            grades = _grades(binding, answers, rows, reask)
            rows = [_with_grade(answer.job, row, position, grade) for answer, row, grade in zip(answers, rows, grades, strict=True)]
    return rows


def _grades(bound: Bound, answers: Sequence[Answered], rows: Sequence[Row], reask: int) -> list[Grade]:
    account = Account()
    transcripts = [answer.transcript for answer in answers]
    graded = "\n".join(transcript.output for transcript in transcripts)

    def grades() -> list[Grade]:
        # The grades of an answer that do not come from comparing it.
        compares = [binding.compares for binding in answers[0].job.assertions for _ in range(_places(binding))]
        own_grades = [tuple(grade for grade, skipped in zip(row.grades, compares, strict=True) if not skipped) for row in rows]
        verdicts = bound.grader.compare(transcripts, own_grades, judge_of(bound, transcripts[0], account, reask, graded))
        # The comparison is one question: its usage is booked once, on the first answer.
        usages = [account.total, *[NO_USAGE] * (len(verdicts) - 1)]
        return [conclude(bound, verdict, usage) for verdict, usage in zip(verdicts, usages, strict=True)]

    def errors(e: Exception) -> list[Grade]:
        return [error(bound, e, NO_USAGE if number else account.total) for number in range(len(answers))]

    return guarded(grades, errors)


def _places(binding: object) -> int:
    """How many grades an assertion has: those of a set's members follow its own."""
    return 1 if isinstance(binding, Bound) else 1 + len(binding.bounds)  # type: ignore[attr-defined]  # a BoundSet


def _with_grade(job: Job, row: Row, position: int, grade: Grade) -> Row:
    place = sum(map(_places, job.assertions[:position]))
    grades = (*row.grades[:place], grade, *row.grades[place + 1 :])
    outcome, score, reason = concluded(job.case, grades)
    return replace(row, grades=grades, outcome=outcome, score=score, reason=reason)
