"""Rows of answers: graded, failed, missing, and those for calls that the budget did not cover."""

from collections.abc import Iterable
from typing import Any

from gradegate.assertions.grading.bound import Binding, BoundSet
from gradegate.assertions.grading.conclusion import missing, unjudged
from gradegate.core.conversation import Transcript
from gradegate.core.suite import Case
from gradegate.core.usage import NO_USAGE, Took, Usage
from gradegate.errors import NO_ANSWER, GradegateError, ProviderError, Trouble
from gradegate.gate.reasks.ballot import undecided
from gradegate.planning.counterparts import parties_of
from gradegate.planning.identity import answer_key
from gradegate.planning.plan import Job
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import Grade, Outcome
from gradegate.results.rows import Row
from gradegate.runner.transforms import Untransformed
from gradegate.structs import replace


def with_grades(case: Case, row: Row, grades: Iterable[Grade]) -> Row:
    """The row with these grades, and with what they come to."""
    grades = tuple(grades)
    return replace(row, grades=grades, **conclude_case(grades, case.threshold)._asdict())


def graded(
    job: Job, repeat: int, answer: Transcript, grades: Iterable[Grade], planned: Job | None = None
) -> Row:
    """The row of an answer with its grades. It is called as it was ``planned``, whatever the stored answers were."""
    usage = answer.usage if answer.spent is None else answer.spent
    # Whether the turns hold more than a prompt and the answer to it.
    says_more = len(answer.turns) != 2 or any(
        turn.retrieval_context or turn.images for turn in answer.turns
    )
    turns = answer.turns if says_more else ()
    measured = (
        usage.calls and not usage.cached and not usage.untimed and usage.seconds > 0
    )  # not where a cache or a file gave the answer
    took = Took(usage.known_cost, usage.seconds) if measured else None
    grades = tuple(grades)
    return _row(
        job,
        repeat,
        answer.prompt,
        answer_key(planned or job, repeat),
        output=answer.output,
        usage=usage,
        took=took,
        turns=turns,
        metadata=answer.metadata,
        grades=grades,
        **conclude_case(grades, job.case.threshold)._asdict(),
    )


def _row(job: Job, repeat: int, prompt: str, key: bytes, **found: Any) -> Row:
    """The row of an answer, with what came of it."""
    return Row(
        suite=job.suite,
        description=job.case.description,
        test_metadata=job.case.metadata,
        provider=job.target.name,
        prompt_label=job.prompt.label,
        prompt=prompt,
        vars=job.vars,
        threshold=job.case.threshold,
        case=job.number,
        repeat=repeat,
        key=key,
        needs=job.needs,
        run=repeat + 1 if job.needs else 0,
        definition=job.definition,
        origin=job.case.origin,
        parties=parties_of(job.suite, job.target, job.prompt),
        **found,
    )


def failed(job: Job, repeat: int, error: Exception) -> Row:
    """The row of an answer that is not there to be graded; a defect in one provider must not lose the other rows."""
    if isinstance(error, Untransformed):
        grades = [grade for binding in job.assertions for grade in unjudged(binding, str(error))]
        row = graded(job, repeat, error.transcript, grades)
        return row if grades else replace(row, outcome=Outcome.ERROR, error=str(error), output=None)
    why = str(error) if isinstance(error, GradegateError) else f"{type(error).__name__}: {error}"
    if isinstance(error, ProviderError):
        return missing_row(job, repeat, why, error.trouble, error.asked)
    return missing_row(job, repeat, why, None)


def missing_row(job: Job, repeat: int, why: str, trouble: Trouble | None, asked: str = "") -> Row:
    """The row of an answer that is missing: every planned grade is there, as ERROR."""
    grades = tuple(
        grade for binding in job.assertions for grade in missing(binding, why, trouble, asked)
    )
    return _row(
        job,
        repeat,
        job.text,
        answer_key(job, repeat),
        outcome=Outcome.ERROR,
        error=why,
        grades=grades,
        undone=trouble is Trouble.STOPPED,
        withheld=trouble not in (Trouble.STOPPED, *NO_ANSWER),
    )


def cut_off(job: Job, row: Row, why: str, spent: Usage) -> Row:
    """The row of an answer in the midst of which the run was stopped: what is graded stays. ``spent`` is what the target took."""
    if row.error:
        return replace(unanswered(job, row, why), usage=spent)
    grades = (undecided(it, why, undone=True) if it.has_error else it for it in row.grades)
    return with_grades(job.case, row, grades)


def unanswered(job: Job, row: Row, why: str) -> Row:
    """The row as if its target had not been asked any more."""
    grades = tuple(
        grade for binding in job.assertions for grade in missing(binding, why, Trouble.STOPPED)
    )
    return replace(
        row,
        prompt=job.text,
        output=None,
        turns=(),
        metadata={},
        score=None,
        reason="",
        usage=NO_USAGE,
        took=None,
        outcome=Outcome.ERROR,
        error=why,
        grades=grades,
        undone=True,
    )


def uncompared(job: Job, row: Row, why: str) -> Row:
    """The row as if its answer had not been compared with others."""
    bindings: list[Binding] = []
    for binding in job.assertions:
        if isinstance(binding, BoundSet):  # its own grade stands before those of its members
            bindings.append(binding)
        bindings += binding.bounds
    grades = (
        undecided(grade, why, undone=True) if binding.compares else grade
        for grade, binding in zip(row.grades, bindings, strict=True)
    )
    return with_grades(job.case, row, grades)


def asks(binding: Binding) -> bool:
    """Whether a model is asked to grade it."""
    return any(bound.models for bound in binding.bounds)
