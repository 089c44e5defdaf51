"""From a verdict to a grade, and from grades to a case: thresholds, ``not-``, weights and assert-sets, once for all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from gradegate.assertions.grading.evaluator import Grader
from gradegate.assertions.judge.rubric import NO_RUBRIC, Rubric
from gradegate.core.conversation import NO_USAGE, Usage
from gradegate.core.numbers import exact, reached, scores, weighted_mean
from gradegate.core.suite import Code
from gradegate.errors import NO_ANSWER, NoVerdict, ProviderError, Trouble
from gradegate.providers.api.provider import Provider
from gradegate.results.grades import Asserted, Grade, Outcome, Verdict
from gradegate.structs import Struct, replace


class Again(Struct, frozen=True):
    """How a failing grade is asked again: "off", "grader" or "answers"; ``opinions`` grade the re-asks, in turn.

    ``own`` and ``own_opinions``: the assertion says so, and not the gate.
    """

    mode: str = "off"
    opinions: tuple[Provider, ...] = ()
    own: bool = False
    own_opinions: bool = False


NEVER_AGAIN = Again()


class Bound(Struct, frozen=True):
    """An assertion with its grader and its models; ``threshold`` is the config's, None where it sets none."""

    asserted: Asserted
    grader: Grader
    threshold: float | None = None
    models: Mapping[str, Provider] = {}
    rubric: Rubric = NO_RUBRIC
    again: Again = NEVER_AGAIN
    transform: Code = ""  # of the answer, before it is graded
    score_only: bool = False  # held to no threshold, not even to the grader's own

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """The assertions whose graders are asked: this one."""
        return (self,)

    @property
    def limit(self) -> float | None:
        """What a score has to reach: the config's threshold, or else the grader's own; None where it is held to none."""
        if self.score_only or self.threshold is not None:
            return self.threshold
        return self.grader.scoring.default

    @property
    def compares(self) -> bool:
        """Whether all answers to a case are graded together."""
        return bool(self.grader.compares)


class BoundSet(Struct, frozen=True):
    """An assert-set: several assertions that count as one."""

    asserted: Asserted
    bounds: tuple[Bound, ...]
    threshold: float | None = None

    @property
    def compares(self) -> bool:
        """Comparisons cannot be members of a set."""
        return False


Binding = Bound | BoundSet


def conclude(bound: Bound, verdict: Verdict, usage: Usage) -> Grade:
    """Apply threshold and ``not-`` to a verdict. Raises NoVerdict when nothing in it decides."""
    negated, scoring = bound.asserted.negated and not verdict.broken, bound.grader.scoring
    if negated and verdict.reverse is not None:
        verdict = verdict.reverse
    if not math.isfinite(verdict.score):
        raise NoVerdict(f"the score {verdict.score} is not a finite number")
    limit = bound.limit
    passed = (
        verdict.passed
        if scoring.decides and not bound.score_only
        else _passed(bound, verdict, limit)
    )
    score, reasons = verdict.score, []
    if negated:
        passed, score = not passed, _reversed(score)
    if not passed and negated:
        reasons.append(f"must not be true, but is ({bound.asserted.type})")
    elif not passed and verdict.passed is not False and limit is not None and not scoring.decides:
        shown, least = scores(verdict.score, limit, scoring.scale)
        reasons.append(f"score {shown} is below the threshold {least}")
    return Grade(
        bound.asserted,
        Outcome.PASS if passed else Outcome.FAIL,
        score,
        limit,
        ": ".join([*reasons, *filter(None, [verdict.reason])]),
        verdict.evidence,
        usage,
        scale=scoring.scale,
        unread=verdict.unread,
        most=scoring.most,
        turns=()
        if negated or passed
        else verdict.turns,  # with ``not-``, what lowered the score is what was asked for
    )


def strangeness(grade: Grade) -> str:
    """Why no mean can be taken over a score, empty where it can: it is not a share, or not a number."""
    kind = grade.assertion.type
    if grade.unread:
        return f"the score {grade.unread} of {kind} is not a number, so no mean can be taken"
    if grade.score is None or 0 <= grade.score <= 1:
        return ""
    return f"the score {grade.score:g} of {kind} is outside 0 to 1, so no mean can be taken"


def _passed(bound: Bound, verdict: Verdict, limit: float | None) -> bool:
    scoring = bound.grader.scoring
    if bound.score_only and (scoring.decides or verdict.passed is None):
        return not bound.asserted.negated  # nothing can fail, whichever way the assertion is read
    if limit is not None:
        return verdict.passed is not False and reached(verdict.score, limit, scoring.tolerance)
    if verdict.passed is not None:
        return verdict.passed
    if not scoring.above_zero:
        raise NoVerdict("the grader gave a score, but the assertion has no threshold")
    return verdict.score > 0


def _reversed(score: float) -> float:
    return float(min(Fraction(1), max(Fraction(0), 1 - exact(score))))


def error(bound: Binding, cause: BaseException | str, usage: Usage) -> Grade:
    """The grade of an assertion that could not be judged. ``not-`` does not touch it."""
    evidence: dict[str, Any] = {}
    if isinstance(cause, NoVerdict) and cause.replies:
        evidence["replies"] = list(cause.replies)
    plain = isinstance(cause, str | NoVerdict | ProviderError)
    reason = str(cause) if plain else f"{type(cause).__name__}: {cause}"
    grade = Grade(bound.asserted, Outcome.ERROR, None, bound.threshold, reason, evidence, usage)
    return _troubled(grade, cause.trouble if isinstance(cause, ProviderError) else None)


def _troubled(grade: Grade, trouble: Trouble | None) -> Grade:
    """An ERROR that knows whether a provider's trouble is behind it."""
    undone, unheard = trouble is Trouble.STOPPED, trouble in NO_ANSWER
    setup, withheld = (
        trouble in (Trouble.SETUP, Trouble.WITHHELD),
        trouble is not None and not (undone or unheard),
    )
    return replace(grade, setup=setup, undone=undone, unheard=unheard, withheld=withheld)


def missing(binding: Binding, why: str, trouble: Trouble | None = None) -> list[Grade]:
    """The grades of an assertion without an answer, as ``unjudged``; ``trouble`` is that of the target."""
    first, *members = unjudged(binding, why)
    return [
        _troubled(grade, trouble)
        for grade in (replace(first, reason=f"the target gave no answer: {why}"), *members)
    ]


def unjudged(binding: Binding, why: str) -> list[Grade]:
    """The grades of an assertion that is not asked: its own ERROR, and one for each member of a set."""
    grades = [error(binding, why, NO_USAGE)]
    if isinstance(binding, BoundSet):
        grades += [replace(error(member, why, NO_USAGE), inner=True) for member in binding.bounds]
    return grades


# --- from grades to a set and to a case -----------------------------------------------------------------------


class Conclusion(NamedTuple):
    """What grades come to: the score is their weighted mean, None where there is none."""

    outcome: Outcome
    score: float | None
    reason: str = ""  # where a threshold of the case or the set decided


def conclude_set(binding: BoundSet, members: Sequence[Grade]) -> Grade:
    """The grade of an assert-set from those of its members."""
    outcome, score, why = conclude_case(members, binding.threshold, "set")
    if binding.asserted.negated and any(
        grade.counts and grade.outcome is Outcome.ERROR for grade in members
    ):
        outcome, score, why = Outcome.ERROR, None, ""  # a failure beside it must not become a pass
    bad = [grade for grade in members if grade.outcome is outcome and outcome is not Outcome.PASS]
    reason = "; ".join(
        filter(None, (why, *(f"{grade.assertion.type}: {grade.reason}" for grade in bad)))
    )
    if binding.asserted.negated and outcome is not Outcome.ERROR:
        reason = (
            "" if outcome is Outcome.FAIL else f"must not be true, but is ({binding.asserted.type})"
        )
        outcome = Outcome.PASS if outcome is Outcome.FAIL else Outcome.FAIL
        score = None if score is None else _reversed(score)
    errors = [grade for grade in members if grade.counts and outcome is Outcome.ERROR]
    undone, unheard = (
        any(grade.undone for grade in errors),
        bool(errors) and all(grade.unheard for grade in errors),
    )
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


def conclude_case(grades: Sequence[Grade], threshold: float | None, of: str = "test") -> Conclusion:
    """What the grades of one answer come to, or those of a set.

    The worst of the grades that count decides: a FAIL, even beside an ERROR, then an ERROR. A ``threshold`` ``of`` the test
    or the set replaces that by their weighted mean. Where no grade counts, all of them show what the answer has; such a
    case is in no blocking rule.
    """
    outer = [grade for grade in grades if not grade.inner]
    deciding = [grade for grade in outer if grade.counts] or outer
    mean = _mean(deciding)
    score = None if mean is None else float(mean)
    outcomes = [grade.outcome for grade in deciding]
    errored = Outcome.ERROR if Outcome.ERROR in outcomes else Outcome.PASS
    if threshold is not None and any(grade.assertion.weight for grade in deciding):
        if strange := next(filter(None, map(strangeness, deciding)), ""):
            return Conclusion(Outcome.ERROR, score, strange)
        best = _mean(deciding, errors_score=1.0)
        if best is not None and not reached(best, threshold):
            shown, least = scores(float(best if mean is None else mean), threshold)
            at_most = (
                f", and {scores(float(best), threshold)[0]} at most, whatever the errors would give"
            )
            at_most = "" if errored is Outcome.PASS else at_most
            why = f"the weighted mean {shown} is below the threshold {least} of the {of}{at_most}"
            return Conclusion(Outcome.FAIL, score, why)
        return Conclusion(errored, score)
    return Conclusion(Outcome.FAIL if Outcome.FAIL in outcomes else errored, score)


def _mean(grades: Sequence[Grade], errors_score: float | None = None) -> Fraction | None:
    """The weighted mean of the scores, None where nothing with weight has one; an ERROR takes ``errors_score``."""
    scores = [
        (errors_score if grade.outcome is Outcome.ERROR else grade.score, grade) for grade in grades
    ]
    pairs = [(score, grade.assertion.weight) for score, grade in scores if score is not None]
    return weighted_mean(pairs) if any(weight for _, weight in pairs) else None


# --- named scores ---------------------------------------------------------------------------------------------

CODE = frozenset(("javascript", "python"))  # whose results may name scores of their own


def named_scores(grades: Sequence[Grade]) -> Iterator[tuple[str, float, float]]:
    """Name, score and weight, as promptfoo's ``namedScores``, of the grades that are known.

    A metric wins over a returned score of its name. Members of a set have the weight of their set, too.
    """
    around = 1.0  # the weight of the set whose members come next
    for grade in grades:
        asserted = grade.assertion
        weight = asserted.weight * (around if grade.inner else 1.0)
        around = asserted.weight if asserted.is_set else around
        if not is_known(grade) or grade.score is None:
            continue
        if grade.metric:
            yield grade.metric, grade.score, weight
        if tells_scores(grade):
            for name, score in grade.evidence.get("named_scores", {}).items():
                if name != grade.metric:
                    yield name, score, weight


def is_known(grade: Grade) -> bool:
    """Whether the grade has a score that is its own."""
    return grade.outcome is not Outcome.ERROR and not grade.unread


def tells_scores(grade: Grade) -> bool:
    """Whether its assertion may name scores of its own."""
    return grade.assertion.type.removeprefix("not-") in CODE
