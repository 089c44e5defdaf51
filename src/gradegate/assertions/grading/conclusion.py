"""From a verdict to a grade, and from the grades of members to the grade of a set.

Thresholds, ``not-`` and assert-sets are applied here and nowhere else.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from gradegate.assertions.grading.bound import Binding, BoundAssertion, BoundSet
from gradegate.core.numbers import exact_fraction, format_scores, meets
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.errors import NO_ANSWER, NoVerdict, ProviderError, Trouble
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import Grade, Outcome, Verdict
from gradegate.structs import replace


def grade_from_verdict(bound: BoundAssertion, verdict: Verdict, usage: Usage) -> Grade:
    """Apply threshold and ``not-`` to a verdict. Raises NoVerdict if nothing in the verdict decides."""
    scoring = bound.evaluator.scoring
    threshold = bound.applied_threshold

    # Broken code fails under `not-`, too.
    is_negated = bound.assertion.is_negated and not verdict.broken
    if is_negated and verdict.reverse is not None:
        verdict = verdict.reverse
    if not math.isfinite(verdict.score):
        raise NoVerdict(f"the score {verdict.score} is not a finite number")

    # Who decides: the evaluator, or the threshold.
    passed = verdict.passed if scoring.decides else _passes(bound, verdict)
    score = verdict.score
    if is_negated:
        passed = not passed
        score = _reverse_score(score)

    # A failure says why if the evaluator does not: because of `not-`, or because of the threshold.
    reasons = []
    has_failed = not (passed or is_negated)
    if is_negated and not passed:
        reasons.append(f"must not be true, but is ({bound.assertion.type})")
    elif has_failed and threshold is not None:
        is_by_threshold = verdict.passed is not False and not scoring.decides
        if is_by_threshold:
            shown_score, shown_threshold = format_scores(verdict.score, threshold, scoring.scale)
            reasons.append(f"score {shown_score} is below the threshold {shown_threshold}")
    if verdict.reason.strip():
        reasons.append(verdict.reason)

    # The turns that lowered the score are at fault only if the score had to be high.
    return Grade(
        bound.assertion,
        Outcome.PASS if passed else Outcome.FAIL,
        score,
        threshold,
        ": ".join(reasons),
        verdict.evidence,
        usage,
        scale=scoring.scale,
        unread=verdict.unread,
        most=scoring.at_most,
        turns=verdict.turns if has_failed else (),
    )


def grade_from_error(bound: Binding, cause: BaseException | str, usage: Usage) -> Grade:
    """The ERROR of an assertion that could not be graded. ``not-`` does not change an ERROR."""
    evidence = {}
    if isinstance(cause, NoVerdict) and cause.replies:
        evidence["replies"] = list(cause.replies)

    reason = str(cause)
    if not isinstance(cause, str | NoVerdict | ProviderError):
        reason = f"{type(cause).__name__}: {cause}"

    grade = Grade(bound.assertion, Outcome.ERROR, None, bound.threshold, reason, evidence, usage)
    if isinstance(cause, ProviderError):
        return _with_trouble(grade, cause.trouble, cause.refusing_model)
    return grade


def error_grades_without_answer(
    binding: Binding, why: str, trouble: Trouble | None, refusing_model: str = ""
) -> list[Grade]:
    """The ERRORs of an assertion if the target gave no answer, because of this ``trouble``.

    ``refusing_model`` is the model that answered the call with an error.
    """
    first, *members = error_grades(binding, why)
    first = replace(first, reason=f"the target gave no answer: {why}")
    return [_with_trouble(grade, trouble, refusing_model) for grade in (first, *members)]


def error_grades(binding: Binding, why: str) -> list[Grade]:
    """The ERRORs of an assertion that is not graded: its own, then one for each member of a set."""
    grades = [grade_from_error(binding, why, NO_USAGE)]
    if isinstance(binding, BoundSet):
        member_grades = [grade_from_error(member, why, NO_USAGE) for member in binding.members]
        grades += [replace(grade, inner=True) for grade in member_grades]
    return grades


def grade_of_set(binding: BoundSet, members: Sequence[Grade]) -> Grade:
    """The grade of an assert-set from the grades of its members."""
    is_negated = binding.assertion.is_negated
    outcome, score, reason = conclude_case(members, binding.threshold, "set")
    if is_negated and any(grade.counts and grade.has_error for grade in members):
        # The ERROR wins, because `not-` would turn a FAIL of another member into a PASS.
        outcome = Outcome.ERROR
        score = None
        reason = ""

    if outcome is not Outcome.PASS:
        deciding = [grade for grade in members if grade.outcome is outcome]
        reasons = [f"{grade.assertion.type}: {grade.reason}" for grade in deciding]
        if reason:
            reasons.insert(0, reason)
        reason = "; ".join(text.removesuffix(": ") for text in reasons)

    if is_negated and outcome is not Outcome.ERROR:
        if outcome is Outcome.FAIL:
            outcome = Outcome.PASS
            reason = ""
        else:
            outcome = Outcome.FAIL
            reason = f"must not be true, but is ({binding.assertion.type})"
        if score is not None:
            score = _reverse_score(score)

    # What a set without a verdict lacks: an answer, or only the time to grade it.
    errors = []
    if outcome is Outcome.ERROR:
        errors = [grade for grade in members if grade.counts]
    is_unheard = bool(errors) and all(grade.unheard for grade in errors)
    return Grade(
        binding.assertion,
        outcome,
        score,
        binding.threshold,
        reason,
        undone=any(grade.undone for grade in errors),
        unheard=is_unheard,
        withheld=not is_unheard and any(grade.unheard or grade.withheld for grade in errors),
    )


def _passes(bound: BoundAssertion, verdict: Verdict) -> bool:
    """Whether a verdict passes if the evaluator leaves the threshold to the gate. Raises NoVerdict."""
    scoring = bound.evaluator.scoring
    threshold = bound.applied_threshold
    if threshold is not None:
        has_reached = meets(verdict.score, threshold, scoring.tolerance)
        return verdict.passed is not False and has_reached
    if verdict.passed is not None:
        return verdict.passed
    if scoring.share:
        raise NoVerdict("the grader gave a score, but the assertion has no threshold")
    return verdict.score > 0


def _reverse_score(score: float) -> float:
    """1 minus the score, from 0 to 1."""
    reverse = 1 - exact_fraction(score)
    return float(min(Fraction(1), max(Fraction(0), reverse)))


def _with_trouble(grade: Grade, trouble: Trouble | None, refusing_model: str) -> Grade:
    """An ERROR that says which trouble of a provider caused it."""
    is_undone = trouble is Trouble.STOPPED
    is_unheard = trouble in NO_ANSWER
    return replace(
        grade,
        setup=trouble in (Trouble.SETUP, Trouble.WITHHELD),
        undone=is_undone,
        unheard=is_unheard,
        withheld=trouble is not None and not (is_undone or is_unheard),
        refused_by=refusing_model,
    )
