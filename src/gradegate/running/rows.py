"""Rows of answers: graded, failed, missing, and those for calls that the budget did not cover."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gradegate.deciding.votes import undecided
from gradegate.errors import NO_ANSWER, GradegateError, ProviderError, Trouble
from gradegate.grading.conclude import Binding, BoundSet, missing, unjudged
from gradegate.planning.identity import identity
from gradegate.planning.job import Job
from gradegate.running.scoring import concluded
from gradegate.running.transforms import Untransformed
from gradegate.values.conversation import NO_USAGE, Transcript, Usage
from gradegate.values.result import Grade, Outcome, Row


def graded(job: Job, repeat: int, answer: Transcript, grades: tuple[Grade, ...], planned: Job | None = None) -> Row:
    """The row of an answer with its grades. It is called as it was ``planned``, whatever the stored answers were."""
    outcome, score, reason = concluded(job.case, grades)
    # Whether the turns hold more than a prompt and the answer to it.
    usage = answer.usage if answer.spent is None else answer.spent
    says_more = len(answer.turns) != 2 or any(turn.retrieval_context or turn.images for turn in answer.turns)
    row = _row(
        job,
        repeat,
        prompt=answer.prompt,
        outcome=outcome,
        output=answer.output,
        grades=grades,
        score=score,
        reason=reason,
        usage=usage,
        took=usage.took,
        turns=answer.turns if says_more else (),
        metadata=answer.metadata,
    )
    return row if planned is None or planned is job else replace(row, key=identity(planned, repeat))


def _row(job: Job, repeat: int, *, prompt: str, outcome: Outcome, **found: Any) -> Row:
    """The row of an answer, with what came of it."""
    return Row(
        suite=job.suite,
        description=job.case.description,
        provider=job.target.name,
        prompt_label=job.prompt.label,
        prompt=prompt,
        vars=job.vars,
        outcome=outcome,
        threshold=job.case.threshold,
        case=job.number,
        repeat=repeat,
        key=identity(job, repeat),
        needs=job.needs,
        run=repeat + 1 if job.needs else 0,
        definition=job.definition,
        origin=job.case.origin,
        **found,
    )


def failed(job: Job, repeat: int, error: Exception) -> Row:
    """The row of an answer that is not there to be graded; a defect in one provider must not lose the other rows."""
    if isinstance(error, Untransformed):
        grades = tuple(grade for binding in job.assertions for grade in unjudged(binding, str(error)))
        row = graded(job, repeat, error.transcript, grades)
        return row if grades else replace(row, outcome=Outcome.ERROR, error=str(error), output=None)
    why = str(error) if isinstance(error, GradegateError) else f"{type(error).__name__}: {error}"
    return missing_row(job, repeat, why, error.trouble if isinstance(error, ProviderError) else None)


def missing_row(job: Job, repeat: int, why: str, trouble: Trouble | None) -> Row:
    """The row of an answer that is missing: every planned grade is there, as ERROR."""
    grades = tuple(grade for binding in job.assertions for grade in missing(binding, why, trouble))
    found = {"error": why, "grades": grades, "undone": trouble is Trouble.STOPPED, "withheld": trouble not in (Trouble.STOPPED, *NO_ANSWER)}
    return _row(job, repeat, prompt=job.text, outcome=Outcome.ERROR, **found)


# --- where the calls of the budget end ----------------------------------------------------------------------------

# Which answers and grades got the last calls is chance: what these took is on the account of the run and not on theirs.


def unanswered(job: Job, row: Row, why: str) -> Row:
    """The row as if its target had not been asked any more."""
    grades = tuple(grade for binding in job.assertions for grade in missing(binding, why, Trouble.STOPPED))
    blank = replace(row, prompt=job.text, output=None, turns=(), metadata={}, score=None, reason="", usage=NO_USAGE, took=None)
    return replace(blank, outcome=Outcome.ERROR, error=why, grades=grades, undone=True)


def ungraded(job: Job, row: Row, why: str, which: Callable[[Binding], bool]) -> Row:
    """The row as if none of the assertions that ``which`` takes had been graded any more; those of a set are taken one by one."""
    sets = ((binding,) if isinstance(binding, BoundSet) else () for binding in job.assertions)
    taken = [which(it) for whole, binding in zip(sets, job.assertions, strict=True) for it in (*whole, *binding.bounds)]
    grades = tuple(
        replace(undecided(grade, why, undone=True), usage=NO_USAGE) if cut else grade for grade, cut in zip(row.grades, taken, strict=True)
    )
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
