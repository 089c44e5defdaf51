"""What grades add to the named scores of an answer: of assertions with a metric, and those that code of the config returned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gradegate.values.result import Grade, Outcome

CODE = frozenset(("javascript", "python"))  # whose results may name scores of their own


class NamedScore(NamedTuple):
    """One score under a name, with its weight among those of the name; members of a set have that of their set, too."""

    name: str
    score: float
    weight: float


def named_scores(grades: Sequence[Grade]) -> Iterator[NamedScore]:
    """As promptfoo's ``namedScores``, of the grades that are known; a metric wins over a returned score of its name."""
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
    return grade.outcome is not Outcome.ERROR and not grade.unread


def tells_scores(grade: Grade) -> bool:
    """Whether its assertion may name scores of its own."""
    return grade.assertion.type.removeprefix("not-") in CODE
