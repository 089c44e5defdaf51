"""Makes the rows of answers: graded, failed, missing, or cut off when the run ended early."""

from collections.abc import Iterable
from typing import Any

from gradegate.assertions.grading.bound import Binding
from gradegate.assertions.grading.conclusion import error_grades, error_grades_without_answer
from gradegate.core.conversation import Transcript
from gradegate.core.suite import Case
from gradegate.core.usage import NO_USAGE, Took, Usage
from gradegate.errors import NO_ANSWER, GradegateError, ProviderError, Trouble
from gradegate.gate.reasks.ballot import undecided_grade
from gradegate.planning.counterparts import parties_of
from gradegate.planning.identity import answer_key
from gradegate.planning.plan import Job
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import ERROR, Grade
from gradegate.results.rows import Row
from gradegate.runner.transforms import TransformError
from gradegate.structs import replace


def with_grades(case: Case, row: Row, grades: Iterable[Grade]) -> Row:
    """The row with these grades and with the outcome that follows from them."""
    grades = tuple(grades)
    return replace(row, grades=grades, **conclude_case(grades, case.threshold)._asdict())


def graded_row(
    job: Job, repeat: int, answer: Transcript, grades: Iterable[Grade], planned: Job | None = None
) -> Row:
    """The row of an answer with its grades. Its key is that of the ``planned`` job, whatever the stored answers were."""
    grades = tuple(grades)
    usage = answer.usage if answer.spent is None else answer.spent

    # Turns are kept only if they contain more than a prompt and its answer.
    turns = answer.turns
    if len(turns) == 2 and not any(turn.retrieval_context or turn.images for turn in turns):
        turns = ()

    took = None  # a cache or a file took no time
    if usage.calls and not usage.cached and not usage.untimed and usage.seconds > 0:
        took = Took(usage.known_cost, usage.seconds)
    return _make_row(
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


def _make_row(job: Job, repeat: int, prompt: str, key: bytes, **result: Any) -> Row:
    """The row of an answer: what the plan says of it, and its ``result``."""
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
        **result,
    )


def failed_row(job: Job, repeat: int, error: Exception) -> Row:
    """The row of an answer that cannot be graded. Any exception becomes a row, so that a defect loses no other row."""
    # The target answered, but a transform made nothing of its answer.
    if isinstance(error, TransformError):
        grades = []
        for binding in job.assertions:
            grades += error_grades(binding, str(error))
        row = graded_row(job, repeat, error.transcript, grades)
        if grades:
            return row
        return replace(row, outcome=ERROR, error=str(error), output=None)

    if isinstance(error, ProviderError):
        return missing_row(job, repeat, str(error), error.trouble, error.refusing_model)
    why = str(error) if isinstance(error, GradegateError) else f"{type(error).__name__}: {error}"
    return missing_row(job, repeat, why, None)


def missing_row(
    job: Job, repeat: int, why: str, trouble: Trouble | None, refusing_model: str = ""
) -> Row:
    """The row of an answer that is missing: every planned grade is an ERROR.

    ``refusing_model`` is the model that answered the call with an error, if that is the reason.
    """
    return _make_row(
        job,
        repeat,
        job.text,
        answer_key(job, repeat),
        outcome=ERROR,
        error=why,
        grades=_missing_grades(job, why, trouble, refusing_model),
        undone=trouble is Trouble.STOPPED,
        withheld=trouble not in (Trouble.STOPPED, *NO_ANSWER),
    )


def _missing_grades(
    job: Job, why: str, trouble: Trouble | None, refusing_model: str = ""
) -> tuple[Grade, ...]:
    grades = []
    for binding in job.assertions:
        grades += error_grades_without_answer(binding, why, trouble, refusing_model)
    return tuple(grades)


def cut_off_row(job: Job, row: Row, why: str, spent: Usage) -> Row:
    """The row of an answer during which the run was stopped. Finished grades stay. ``spent`` is what the target took."""
    if row.error:
        return replace(unanswered_row(job, row, why), usage=spent)
    grades = (
        undecided_grade(grade, why, undone=True) if grade.has_error else grade
        for grade in row.grades
    )
    return with_grades(job.case, row, grades)


def unanswered_row(job: Job, row: Row, why: str) -> Row:
    """The row as if its target had never been asked."""
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
        outcome=ERROR,
        error=why,
        grades=_missing_grades(job, why, Trouble.STOPPED),
        undone=True,
    )


def uncompared_row(job: Job, row: Row, why: str) -> Row:
    """The row as if its answer had never been compared with others."""
    grades = []
    for grade, binding in zip(row.grades, job.graded_bindings, strict=True):
        is_missing = binding.is_comparison
        grades.append(undecided_grade(grade, why, undone=True) if is_missing else grade)
    return with_grades(job.case, row, grades)


def asks_model(binding: Binding) -> bool:
    """Whether a model is asked to grade the assertion."""
    return any(bound.models for bound in binding.members)
