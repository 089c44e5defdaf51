"""What stands for answers and grades in whose midst the calls of a budget ended: errors, which keep what they took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gradegate.deciding.votes import undecided
from gradegate.grading.conclude import Binding, BoundSet, conclude_case, missing
from gradegate.planning.job import Job
from gradegate.result import Outcome, Row


def unanswered(job: Job, row: Row, why: str) -> Row:
    """The row as if its target had not been asked any more."""
    grades = [grade for binding in job.assertions for grade in missing(binding, why)]
    paid = tuple(replace(new, usage=old.usage) for new, old in zip(grades, row.grades, strict=True))
    blank = replace(row, prompt=job.text, output=None, turns=(), metadata={}, score=None, reason="")
    return replace(blank, outcome=Outcome.ERROR, error=why, grades=paid)


def ungraded(job: Job, row: Row, why: str, which: Callable[[Binding], bool]) -> Row:
    """The row as if none of the assertions that ``which`` takes had been graded any more; those of a set are taken one by one."""
    taken = [taken for binding in job.assertions for taken in (*_whole(binding, which), *map(which, binding.bounds))]
    grades = tuple(undecided(grade, why) if cut else grade for grade, cut in zip(row.grades, taken, strict=True))
    outcome, score, reason = conclude_case(grades, row.threshold)
    return replace(row, grades=grades, outcome=outcome, score=score, reason=reason)


def asks(binding: Binding) -> bool:
    """Whether a model is asked to grade it."""
    return any(bound.models for bound in binding.bounds)


def _whole(binding: Binding, which: Callable[[Binding], bool]) -> list[bool]:
    return [which(binding)] if isinstance(binding, BoundSet) else []
