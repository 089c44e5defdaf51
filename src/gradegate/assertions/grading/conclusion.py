"""From a verdict to a grade, and from grades to a set: thresholds, ``not-``, weights and assert-sets, once for all."""

import math
from collections.abc import Sequence
from fractions import Fraction

from gradegate.assertions.grading.bound import Binding, Bound, BoundSet
from gradegate.core.numbers import exact_fraction, format_scores, meets
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.errors import NO_ANSWER, NoVerdict, ProviderError, Trouble
from gradegate.results.case_outcome import conclude_case
from gradegate.results.grades import Grade, Outcome, Verdict
from gradegate.structs import replace


def conclude(bound: Bound, verdict: Verdict, usage: Usage) -> Grade:
    """Apply threshold and ``not-`` to a verdict. Raises NoVerdict when nothing in it decides."""
    negated = bound.asserted.is_negated and not verdict.broken
    scoring = bound.grader.scoring
    if negated and verdict.reverse is not None:
        verdict = verdict.reverse
    if not math.isfinite(verdict.score):
        raise NoVerdict(f"the score {verdict.score} is not a finite number")
    limit = bound.limit
    passed = verdict.passed if scoring.decides else _passed(bound, verdict, limit)
    score = verdict.score
    reasons = []
    if negated:
        passed = not passed
        score = _reversed(score)
    if not passed and negated:
        reasons.append(f"must not be true, but is ({bound.asserted.type})")
    elif not passed and verdict.passed is not False and limit is not None and not scoring.decides:
        shown, least = format_scores(verdict.score, limit, scoring.scale)
        reasons.append(f"score {shown} is below the threshold {least}")
    if verdict.reason.strip():
        reasons.append(verdict.reason)
    return Grade(
        bound.asserted,
        Outcome.PASS if passed else Outcome.FAIL,
        score,
        limit,
        ": ".join(reasons),
        verdict.evidence,
        usage,
        scale=scoring.scale,
        unread=verdict.unread,
        most=scoring.at_most,
        turns=()
        if negated or passed
        else verdict.turns,  # with ``not-``, what lowered the score is what was asked for
    )


def _passed(bound: Bound, verdict: Verdict, limit: float | None) -> bool:
    scoring = bound.grader.scoring
    if limit is not None:
        return verdict.passed is not False and meets(verdict.score, limit, scoring.tolerance)
    if verdict.passed is not None:
        return verdict.passed
    if scoring.share:
        raise NoVerdict("the grader gave a score, but the assertion has no threshold")
    return verdict.score > 0


def _reversed(score: float) -> float:
    return float(min(Fraction(1), max(Fraction(0), 1 - exact_fraction(score))))


def error(bound: Binding, cause: BaseException | str, usage: Usage) -> Grade:
    """The grade of an assertion that could not be judged. ``not-`` does not touch it."""
    evidence = {}
    if isinstance(cause, NoVerdict) and cause.replies:
        evidence["replies"] = list(cause.replies)
    plain = isinstance(cause, str | NoVerdict | ProviderError)
    reason = str(cause) if plain else f"{type(cause).__name__}: {cause}"
    grade = Grade(bound.asserted, Outcome.ERROR, None, bound.threshold, reason, evidence, usage)
    if isinstance(cause, ProviderError):
        return _troubled(grade, cause.trouble, cause.asked)
    return grade


def _troubled(grade: Grade, trouble: Trouble | None, asked: str) -> Grade:
    """An ERROR that knows whether a provider's trouble is behind it."""
    undone = trouble is Trouble.STOPPED
    unheard = trouble in NO_ANSWER
    setup = trouble in (Trouble.SETUP, Trouble.WITHHELD)
    withheld = trouble is not None and not (undone or unheard)
    return replace(
        grade, setup=setup, undone=undone, unheard=unheard, withheld=withheld, refused_by=asked
    )


def missing(binding: Binding, why: str, trouble: Trouble | None, asked: str = "") -> list[Grade]:
    """The grades of an assertion without an answer, as ``unjudged``; ``trouble`` is that of the target, and ``asked`` the model that refused."""
    first, *members = unjudged(binding, why)
    return [
        _troubled(grade, trouble, asked)
        for grade in (replace(first, reason=f"the target gave no answer: {why}"), *members)
    ]


def unjudged(binding: Binding, why: str) -> list[Grade]:
    """The grades of an assertion that is not asked: its own ERROR, and one for each member of a set."""
    grades = [error(binding, why, NO_USAGE)]
    if isinstance(binding, BoundSet):
        grades += [replace(error(member, why, NO_USAGE), inner=True) for member in binding.bounds]
    return grades


# --- from grades to a set and to a case -----------------------------------------------------------------------


def conclude_set(binding: BoundSet, members: Sequence[Grade]) -> Grade:
    """The grade of an assert-set from those of its members."""
    outcome, score, why = conclude_case(members, binding.threshold, "set")
    if binding.asserted.is_negated and any(grade.counts and grade.has_error for grade in members):
        outcome, score, why = Outcome.ERROR, None, ""  # a failure beside it must not become a pass
    bad = [grade for grade in members if grade.outcome is outcome and outcome is not Outcome.PASS]
    reasons = [f"{grade.assertion.type}: {grade.reason}".removesuffix(": ") for grade in bad]
    reason = "; ".join(filter(None, (why, *reasons)))
    if binding.asserted.is_negated and outcome is not Outcome.ERROR:
        reason = (
            "" if outcome is Outcome.FAIL else f"must not be true, but is ({binding.asserted.type})"
        )
        outcome = Outcome.PASS if outcome is Outcome.FAIL else Outcome.FAIL
        score = None if score is None else _reversed(score)
    errors = [grade for grade in members if grade.counts and outcome is Outcome.ERROR]
    undone = any(grade.undone for grade in errors)
    unheard = bool(errors) and all(grade.unheard for grade in errors)
    withheld = not unheard and any(grade.unheard or grade.withheld for grade in errors)
    return Grade(
        binding.asserted,
        outcome,
        score,
        binding.threshold,
        reason,
        undone=undone,
        unheard=unheard,
        withheld=withheld,
    )
