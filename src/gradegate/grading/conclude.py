"""From a verdict to a grade, and from grades to a case: thresholds, ``not-``, weights and assert-sets, once for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradegate.asking.provider import Provider
from gradegate.conversation import Usage
from gradegate.errors import NoVerdict, ProviderError, Trouble
from gradegate.figures import cut
from gradegate.grading.grader import Grader
from gradegate.grading.rubric import Rubric
from gradegate.result import Grade, Outcome, Verdict
from gradegate.suite import Assertion

EPSILON = 2.220446049250313e-16  # a mean of 0.7s may come out one bit below 0.7


@dataclass(frozen=True, slots=True)
class Bound:
    """An assertion with its grader and its models. ``members`` make it an assert-set, which has no grader."""

    spec: Assertion
    grader: Grader | None
    metric: str = ""
    models: Mapping[str, Provider] = field(default_factory=dict)
    rubric: Rubric = field(default_factory=Rubric)
    members: tuple[Bound, ...] = ()

    @property
    def negated(self) -> bool:
        """Whether the type starts with ``not-``."""
        return self.spec.type.startswith("not-")


def conclude(bound: Bound, verdict: Verdict, usage: Usage) -> Grade:
    """Apply threshold and ``not-`` to a verdict. Raises NoVerdict when nothing in it decides."""
    grader = bound.grader
    if bound.negated and verdict.reverse is not None:
        verdict = verdict.reverse
    limit = None
    if grader is not None and not grader.owns_threshold:
        limit = bound.spec.threshold if bound.spec.threshold is not None else grader.threshold_default
    passed = verdict.passed
    if limit is not None:
        passed = passed is not False and verdict.score >= limit - EPSILON
    elif passed is None:
        if grader is None or not grader.above_zero:
            raise NoVerdict("the grader gave a score and the assertion has no threshold")
        passed = verdict.score > 0
    score = verdict.score
    if bound.negated:
        passed, score = not passed, min(1.0, max(0.0, 1.0 - score))
    outcome = Outcome.PASS if passed else Outcome.FAIL
    default = grader.threshold_default if grader is not None else None
    shown = bound.spec.threshold if bound.spec.threshold is not None else default
    reason = _reason(bound, verdict, outcome, limit)
    scale = grader.scale if grader is not None else 1
    return Grade(bound.spec, outcome, score, shown, reason, verdict.evidence, usage, False, bound.metric, scale=scale)


def _reason(bound: Bound, verdict: Verdict, outcome: Outcome, limit: float | None) -> str:
    parts = []
    if outcome is Outcome.FAIL and bound.negated:
        parts.append(f"must not hold, but does ({bound.spec.type})")
    elif outcome is Outcome.FAIL and verdict.passed is not False and limit is not None:
        parts.append(_below(verdict.score, limit, bound.grader.scale if bound.grader else 1))
    if verdict.reason:
        parts.append(verdict.reason)
    return ": ".join(parts)


def _below(score: float, limit: float, scale: int) -> str:
    if scale == 1:
        return f"score {score:.4g} is below the threshold {limit:g}"
    return f"score {cut(score, scale)} is below the threshold {cut(limit, scale)}"


def error(bound: Bound, cause: BaseException | str, usage: Usage) -> Grade:
    """The grade of an assertion that could not be judged. ``not-`` does not touch it."""
    evidence: dict[str, Any] = {}
    if isinstance(cause, NoVerdict) and cause.replies:
        evidence["replies"] = list(cause.replies)
    setup = isinstance(cause, ProviderError) and cause.trouble is Trouble.SETUP
    known = isinstance(cause, str | NoVerdict | ProviderError)
    reason = str(cause) if known else f"{type(cause).__name__}: {cause}"
    return Grade(bound.spec, Outcome.ERROR, None, bound.spec.threshold, reason, evidence, usage, setup, bound.metric)


def conclude_set(bound: Bound, members: Sequence[Grade]) -> Grade:
    """The grade of an assert-set from those of its members."""
    outcome, score = conclude_case(members, bound.spec.threshold)
    reason = _set_reason(members, outcome)
    if bound.negated and outcome is not Outcome.ERROR:
        reason = "" if outcome is Outcome.FAIL else f"must not hold, but does ({bound.spec.type})"
        outcome = Outcome.PASS if outcome is Outcome.FAIL else Outcome.FAIL
        score = None if score is None else min(1.0, max(0.0, 1.0 - score))
    return Grade(bound.spec, outcome, score, bound.spec.threshold, reason, metric=bound.metric)


def _set_reason(members: Sequence[Grade], outcome: Outcome) -> str:
    bad = [grade for grade in members if grade.outcome is outcome and outcome is not Outcome.PASS]
    return "; ".join(f"{grade.assertion.type}: {grade.reason}" for grade in bad)


def conclude_case(grades: Sequence[Grade], threshold: float | None) -> tuple[Outcome, float | None]:
    """The outcome of a case and its score, the weighted mean of what was graded.

    Every grade that counts must pass; a ``threshold`` replaces that by the weighted mean. An ERROR among the grades
    that count makes the case an ERROR all the same.
    """
    graded = [grade for grade in grades if grade.score is not None and not grade.inner]
    weight = sum(grade.assertion.weight for grade in graded)
    score = sum((grade.score or 0.0) * grade.assertion.weight for grade in graded) / weight if weight else None
    counted = [grade for grade in grades if grade.counts]
    if any(grade.outcome is Outcome.ERROR for grade in counted):
        return Outcome.ERROR, score
    if threshold is not None and score is not None:
        return (Outcome.PASS if score >= threshold else Outcome.FAIL), score
    failed = any(grade.outcome is Outcome.FAIL for grade in counted)
    return (Outcome.FAIL if failed else Outcome.PASS), score
