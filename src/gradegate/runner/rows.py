"""Rows of answers: graded, failed, missing, and those for calls that the budget did not cover."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gradegate.assertions.grading import code_result as program_objects
from gradegate.assertions.grading.bound import Binding, BoundSet
from gradegate.assertions.grading.conclusion import missing, unjudged
from gradegate.core.conversation import Transcript
from gradegate.core.numbers import many, weighted_mean
from gradegate.core.suite import Case
from gradegate.core.usage import NO_USAGE, Took
from gradegate.errors import NO_ANSWER, GradegateError, NoVerdict, ProviderError, Trouble
from gradegate.gate.reasks.ballot import undecided
from gradegate.planning.identity import identity
from gradegate.planning.plan import Job
from gradegate.results.case_outcome import Conclusion, conclude_case, named_scores
from gradegate.results.grades import Grade, Outcome
from gradegate.results.rows import Row
from gradegate.runner.transforms import Untransformed
from gradegate.structs import replace
from gradegate.templating.script import ScriptError, of_scoring


def concluded(case: Case, grades: Sequence[Grade]) -> Conclusion:
    """The outcome of an answer: by ``conclude_case``, or by the test's ``assertScoringFunction``.

    That is asked only where every grade is known, and what it does not say is an ERROR. A failure decides nothing before it: the
    function may overrule it.
    """
    if not case.scoring:
        return conclude_case(grades, case.threshold)
    counted = [grade for grade in grades if not grade.inner]
    if errors := sum(grade.outcome is Outcome.ERROR for grade in counted):
        return Conclusion(
            Outcome.ERROR, None, f"assertScoringFunction was not called: {many(errors, 'error')}"
        )
    components = []
    for grade in counted:
        assertion = {
            name: getattr(grade.assertion, name) for name in ("type", "value", "metric", "weight")
        }
        passed = grade.outcome is Outcome.PASS
        components.append(
            {"pass": passed, "score": grade.score, "reason": grade.reason, "assertion": assertion}
        )
    pairs: dict[str, list[tuple[float, float]]] = {}
    for name, score, weight in named_scores(grades):
        pairs.setdefault(name, []).append((score, weight))
    # The weighted mean of each metric, as promptfoo's `namedScores`.
    named = {
        name: float(weighted_mean(scores)) if any(w for _, w in scores) else 0.0
        for name, scores in pairs.items()
    }
    try:
        value = (
            of_scoring(case.scoring)
            .call(named, {"threshold": case.threshold, "componentResults": components})
            .value
        )
        if not isinstance(value, Mapping):
            raise NoVerdict(
                f"it returned {program_objects.kind(value)} instead of `{{pass, score, reason}}`"
            )
        verdict = program_objects.verdict(value)
    except (ScriptError, NoVerdict) as e:
        return Conclusion(Outcome.ERROR, None, f"assertScoringFunction: {e}")
    outcome = Outcome.PASS if verdict.passed else Outcome.FAIL
    return Conclusion(
        outcome, verdict.score, verdict.reason or "assertScoringFunction decides, without a reason"
    )


def with_grades(case: Case, row: Row, grades: Iterable[Grade]) -> Row:
    """The row with these grades, and with what they come to."""
    grades = tuple(grades)
    return replace(row, grades=grades, **concluded(case, grades)._asdict())


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
    found = {
        "output": answer.output,
        "usage": usage,
        "took": took,
        "turns": turns,
        "metadata": answer.metadata,
        "grades": grades,
    }
    return _row(
        job,
        repeat,
        answer.prompt,
        identity(planned or job, repeat),
        **found,
        **concluded(job.case, grades)._asdict(),
    )


def _row(job: Job, repeat: int, prompt: str, key: bytes, **found: Any) -> Row:
    """The row of an answer, with what came of it."""
    return Row(
        suite=job.suite,
        description=job.case.description,
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
        **found,
    )


def failed(job: Job, repeat: int, error: Exception) -> Row:
    """The row of an answer that is not there to be graded; a defect in one provider must not lose the other rows."""
    if isinstance(error, Untransformed):
        grades = [grade for binding in job.assertions for grade in unjudged(binding, str(error))]
        row = graded(job, repeat, error.transcript, grades)
        return row if grades else replace(row, outcome=Outcome.ERROR, error=str(error), output=None)
    why = str(error) if isinstance(error, GradegateError) else f"{type(error).__name__}: {error}"
    return missing_row(
        job, repeat, why, error.trouble if isinstance(error, ProviderError) else None
    )


def missing_row(job: Job, repeat: int, why: str, trouble: Trouble | None) -> Row:
    """The row of an answer that is missing: every planned grade is there, as ERROR."""
    grades = tuple(grade for binding in job.assertions for grade in missing(binding, why, trouble))
    withheld = trouble not in (Trouble.STOPPED, *NO_ANSWER)
    found = {
        "outcome": Outcome.ERROR,
        "error": why,
        "grades": grades,
        "undone": trouble is Trouble.STOPPED,
        "withheld": withheld,
    }
    return _row(job, repeat, job.text, identity(job, repeat), **found)


# --- where the calls of the budget end ----------------------------------------------------------------------------


def unanswered(job: Job, row: Row, why: str) -> Row:
    """The row as if its target had not been asked any more."""
    grades = tuple(
        grade for binding in job.assertions for grade in missing(binding, why, Trouble.STOPPED)
    )
    blank = replace(
        row,
        prompt=job.text,
        output=None,
        turns=(),
        metadata={},
        score=None,
        reason="",
        usage=NO_USAGE,
        took=None,
    )
    return replace(blank, outcome=Outcome.ERROR, error=why, grades=grades, undone=True)


def ungraded(job: Job, row: Row, why: str, which: Callable[[Binding], bool]) -> Row:
    """The row as if none of the assertions that ``which`` takes had been graded any more; those of a set are taken one by one."""
    sets = ((binding,) if isinstance(binding, BoundSet) else () for binding in job.assertions)
    taken = [
        which(it)
        for whole, binding in zip(sets, job.assertions, strict=True)
        for it in (*whole, *binding.bounds)
    ]
    grades = (
        replace(undecided(grade, why, undone=True), usage=NO_USAGE) if cut else grade
        for grade, cut in zip(row.grades, taken, strict=True)
    )
    return with_grades(job.case, row, grades)


def asks(binding: Binding) -> bool:
    """Whether a model is asked to grade it."""
    return any(bound.models for bound in binding.bounds)
