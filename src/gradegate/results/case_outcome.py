"""Turns the grades of a case into its outcome, its score and its named scores."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from gradegate.core.numbers import format_scores, meets, weighted_mean
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, Outcome
from gradegate.results.rows import Row
from gradegate.structs import FrozenStruct, replace


def reason_without_mean(grade: Grade) -> str:
    """Why no mean can be taken over a score: it is no number, or not from 0 to 1. Empty if one can be taken."""
    kind = grade.assertion.type
    if grade.unread:
        return f"the score {grade.unread} of {kind} is not a number, so no mean can be taken"
    if grade.score is None or 0 <= grade.score <= 1:
        return ""
    return f"the score {grade.score:g} of {kind} is outside 0 to 1, so no mean can be taken"


class Conclusion(NamedTuple):
    """The outcome of a case or a set. The score is the weighted mean of its grades, None if there is none."""

    outcome: Outcome
    score: float | None
    reason: str = ""  # if a threshold of the case or the set decided


def conclude_case(grades: Sequence[Grade], threshold: float | None, of: str = "test") -> Conclusion:
    """Conclude the grades of one answer, or those of a set.

    The worst of the grades that count decides: a FAIL, even next to an ERROR, then an ERROR. With a ``threshold`` (``of``
    the test or the set), their weighted mean decides. If no grade counts, all of them show what the answer has; no
    blocking rule counts such a case.
    """
    outer = [grade for grade in grades if not grade.inner]
    deciding = [grade for grade in outer if grade.counts] or outer
    mean = mean_score(deciding)
    score = None if mean is None else float(mean)
    outcomes = {grade.outcome for grade in deciding}
    has_weight = any(grade.assertion.weight for grade in deciding)

    # Without a threshold: if an assertion fails, the case fails; otherwise an error makes the case an error.
    if threshold is None or not has_weight:
        for outcome in (FAIL, ERROR):
            if outcome in outcomes:
                return Conclusion(outcome, score)
        return Conclusion(PASS, score)

    # With a threshold, there must be a mean.
    for grade in deciding:
        obstacle = reason_without_mean(grade)
        if obstacle:
            return Conclusion(ERROR, score, obstacle)

    # If some scores are errors, the case fails only if it would even with 1 for each of them.
    has_error = ERROR in outcomes
    best = mean_score(deciding, errors_score=1.0)
    if best is None or meets(best, threshold):
        return Conclusion(ERROR if has_error else PASS, score)
    shown, least = format_scores(float(best if mean is None else mean), threshold)
    reason = f"the weighted mean {shown} is below the threshold {least} of the {of}"
    if has_error:
        at_most, _ = format_scores(float(best), threshold)
        reason += f", and {at_most} at most, whatever the errors would give"
    return Conclusion(FAIL, score, reason)


def with_grades(row: Row, grades: Sequence[Grade]) -> Row:
    """The row with other grades, and with the outcome that they give."""
    if tuple(grades) == row.grades:
        return row
    outcome = conclude_case(grades, row.threshold).outcome
    return replace(row, grades=tuple(grades), outcome=outcome)


def mean_score(grades: Iterable[Grade], errors_score: float | None = None) -> Fraction | None:
    """The weighted mean of the scores. None if no score has weight. ``errors_score`` stands for the score of an ERROR."""
    pairs = []
    has_weight = False
    for grade in grades:
        score = errors_score if grade.has_error else grade.score
        if score is None:
            continue
        weight = grade.assertion.weight
        pairs.append((score, weight))
        if weight:
            has_weight = True
    return weighted_mean(pairs) if has_weight else None


CODE = frozenset(("javascript", "python"))  # types with results that may name scores of their own


class NamedScore(FrozenStruct):
    """The score of a metric, or one that code returned."""

    name: str
    score: float
    weight: float


def named_scores(grades: Sequence[Grade]) -> Iterator[NamedScore]:
    """The named scores of the grades that are known, as promptfoo's ``namedScores``.

    The metric of a grade wins over a returned score with its name. The weight of a set multiplies those of its members.
    """
    set_weight = 1.0  # of the set with the members that come next
    for grade in grades:
        weight = grade.assertion.weight
        if grade.assertion.is_set:
            set_weight = weight
        elif grade.inner:
            weight *= set_weight
        if not has_known_score(grade) or grade.score is None:
            continue
        if grade.metric:
            yield NamedScore(grade.metric, grade.score, weight)
        if may_name_scores(grade):
            for name, score in grade.evidence.get("named_scores", {}).items():
                if name != grade.metric:
                    yield NamedScore(name, score, weight)


def has_known_score(grade: Grade) -> bool:
    """Whether the grade has a score that a grader gave."""
    return not grade.has_error and not grade.unread


def may_name_scores(grade: Grade) -> bool:
    """Whether the code of its assertion may name scores."""
    return grade.assertion.type.removeprefix("not-") in CODE
