"""max-score: the output that does best in the test's other assertions.

The mean (or the sum) of the other assertions' scores, by the weights of ``value``; the highest wins, of equals the first. As in promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/model-graded/max-score/, ``src/matchers/comparison.ts``.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from gradegate.assertions.grading.evaluator import (
    Evaluator,
    Grade,
    Judge,
    NoVerdict,
    Transcript,
    Verdict,
    assertion,
    verdicts_for_best,
)
from gradegate.core.field_types import Number
from gradegate.core.numbers import exact_fraction, meets, weighted_mean


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Method:
    """How the scores of one output become one; promptfoo's names. ``weights`` are by assertion type, 1 by default."""

    method: Literal["average", "sum"] = "average"
    weights: Mapping[str, Annotated[Number, Field(ge=0)]] = Field(default_factory=dict)
    threshold: Number | None = None

    def score(self, grades: Sequence[Grade]) -> Fraction:
        """Weighted mean or weighted sum, exact. Raises NoVerdict when a score is missing or nothing has weight."""
        weighed = [(grade, self.weights.get(grade.assertion.type, 1.0)) for grade in grades]
        weighed = [
            (grade, weight) for grade, weight in weighed if weight and not grade.assertion.is_set
        ]
        total = sum(weight for _, weight in weighed)
        if not total:
            raise NoVerdict(
                "there is no other assertion with a weight, so there are no scores to compare"
            )
        for grade, _ in weighed:
            if grade.score is None:
                raise NoVerdict(
                    f"an output has no score for `{grade.assertion.type}`: {grade.reason}"
                )
        pairs = [(grade.score or 0.0, weight) for grade, weight in weighed]
        average = weighted_mean(pairs)
        return average * exact_fraction(total) if self.method == "sum" else average


@assertion("max-score")
class MaxScore(Evaluator):
    """The output with the best scores in the test's other assertions passes, the others fail."""

    compares = "scores"

    value: Method = Method()
    """How scores become one: `{method: average or sum, weights: {TYPE: N}, threshold: N}`."""

    def compare(
        self, transcripts: Sequence[Transcript], grades: Sequence[Sequence[Grade]], judge: Judge
    ) -> Sequence[Verdict]:
        scores = [self.value.score(of_output) for of_output in grades]
        limit = self.value.threshold
        best = scores.index(max(scores))
        if limit is not None and not meets(scores[best], limit):
            best = -1
        reason = f"{self.value.method} of the outputs: {', '.join(f'{float(score):.4g}' for score in scores)}"
        reason += (
            f"; none reaches {limit:g}"
            if best < 0
            else f"; output {best} is the best, counted from 0"
        )
        return verdicts_for_best(len(scores), best, reason, {"scores": list(map(float, scores))})
