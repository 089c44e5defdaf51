"""What the grades of a case come to: its outcome, its score, and what reports show of them."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from gradegate.core.numbers import format_scores, meets, weighted_mean
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, Outcome
from gradegate.structs import FrozenStruct


def strangeness(grade: Grade) -> str:
    """Why no mean can be taken over a score, empty where it can: it is not a share, or not a number."""
    kind = grade.assertion.type
    if grade.unread:
        return f"the score {grade.unread} of {kind} is not a number, so no mean can be taken"
    if grade.score is None or 0 <= grade.score <= 1:
        return ""
    return f"the score {grade.score:g} of {kind} is outside 0 to 1, so no mean can be taken"


class Conclusion(NamedTuple):
    """What grades come to: the score is their weighted mean, None where there is none."""

    outcome: Outcome
    score: float | None
    reason: str = ""  # where a threshold of the case or the set decided


def conclude_case(grades: Sequence[Grade], threshold: float | None, of: str = "test") -> Conclusion:
    """What the grades of one answer come to, or those of a set.

    The worst of the grades that count decides: a FAIL, even beside an ERROR, then an ERROR. A ``threshold`` ``of`` the test
    or the set replaces that by their weighted mean. Where no grade counts, all of them show what the answer has; such a
    case is in no blocking rule.
    """
    outer = [grade for grade in grades if not grade.inner]
    deciding = [grade for grade in outer if grade.counts] or outer
    mean = mean_score(deciding)
    score = None if mean is None else float(mean)
    outcomes = [grade.outcome for grade in deciding]
    errored = ERROR if ERROR in outcomes else PASS
    if threshold is not None and any(grade.assertion.weight for grade in deciding):
        if strange := next(filter(None, map(strangeness, deciding)), ""):
            return Conclusion(ERROR, score, strange)
        best = mean_score(deciding, errors_score=1.0)
        if best is not None and not meets(best, threshold):
            shown, least = format_scores(float(best if mean is None else mean), threshold)
            at_most = f", and {format_scores(float(best), threshold)[0]} at most, whatever the errors would give"
            at_most = "" if errored is PASS else at_most
            why = f"the weighted mean {shown} is below the threshold {least} of the {of}{at_most}"
            return Conclusion(FAIL, score, why)
        return Conclusion(errored, score)
    return Conclusion(FAIL if FAIL in outcomes else errored, score)


def mean_score(grades: Sequence[Grade], errors_score: float | None = None) -> Fraction | None:
    """The weighted mean of the scores, None where nothing with weight has one; an ERROR takes ``errors_score``."""
    scores = [(errors_score if grade.has_error else grade.score, grade) for grade in grades]
    pairs = [(score, grade.assertion.weight) for score, grade in scores if score is not None]
    return weighted_mean(pairs) if any(weight for _, weight in pairs) else None


CODE = frozenset(("javascript", "python"))  # whose results may name scores of their own


class NamedScore(FrozenStruct):
    """The score of a metric, or one that code returned."""

    name: str
    score: float
    weight: float


def named_scores(grades: Sequence[Grade]) -> Iterator[NamedScore]:
    """Those of the grades that are known, as promptfoo's ``namedScores``.

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
            yield NamedScore(grade.metric, grade.score, weight)
        if tells_scores(grade):
            for name, score in grade.evidence.get("named_scores", {}).items():
                if name != grade.metric:
                    yield NamedScore(name, score, weight)


def is_known(grade: Grade) -> bool:
    """Whether the grade has a score that is its own."""
    return not grade.has_error and not grade.unread


def tells_scores(grade: Grade) -> bool:
    """Whether its assertion may name scores of its own."""
    return grade.assertion.type.removeprefix("not-") in CODE
