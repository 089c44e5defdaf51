"""What stands for answers and grades in whose midst the calls of a budget ended: errors, which say nothing of what they took.

Which of them got the last calls is chance, so what these took is on the account of the run and not on theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gradegate.deciding.votes import undone
from gradegate.errors import Trouble
from gradegate.grading.conclude import Binding, BoundSet, missing
from gradegate.planning.job import Job
from gradegate.running.scoring import concluded
from gradegate.values.conversation import NO_USAGE, Usage
from gradegate.values.result import Outcome, Row


def unanswered(job: Job, row: Row, why: str) -> Row:
    """The row as if its target had not been asked any more."""
    grades = tuple(grade for binding in job.assertions for grade in missing(binding, why, Trouble.STOPPED))
    blank = replace(row, prompt=job.text, output=None, turns=(), metadata={}, score=None, reason="", usage=NO_USAGE)
    return replace(blank, outcome=Outcome.ERROR, error=why, grades=grades, undone=True)


def ungraded(job: Job, row: Row, why: str, which: Callable[[Binding], bool]) -> Row:
    """The row as if none of the assertions that ``which`` takes had been graded any more; those of a set are taken one by one."""
    taken = [taken for binding in job.assertions for taken in (*_whole(binding, which), *map(which, binding.bounds))]
    grades = tuple(replace(undone(grade, why), usage=NO_USAGE) if cut else grade for grade, cut in zip(row.grades, taken, strict=True))
    outcome, score, reason = concluded(job.case, grades)
    return replace(row, grades=grades, outcome=outcome, score=score, reason=reason)


def after_undone(row: Row) -> Row:
    """A row without an answer, where one before it in its conversation is undone: it may lack nothing else."""
    grades = tuple(replace(grade, setup=False, undone=True, unheard=False) for grade in row.grades)
    return replace(row, grades=grades, undone=True)


def lost(before: Row, after: Row) -> tuple[Usage, Usage]:
    """What target and graders took for a row and is no longer in it."""
    pairs = zip(before.grades, after.grades, strict=True)
    graders = sum((old.usage for old, new in pairs if old.usage != new.usage), NO_USAGE)
    return before.usage if before.usage != after.usage else NO_USAGE, graders


def asks(binding: Binding) -> bool:
    """Whether a model is asked to grade it."""
    return any(bound.models for bound in binding.bounds)


def _whole(binding: Binding, which: Callable[[Binding], bool]) -> list[bool]:
    return [which(binding)] if isinstance(binding, BoundSet) else []
