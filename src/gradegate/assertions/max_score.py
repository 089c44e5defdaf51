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
        weighted_grades = []
        for grade in grades:
            weight = self.weights.get(grade.assertion.type, 1.0)
            if weight and not grade.assertion.is_set:
                weighted_grades.append((grade, weight))
        total_weight = sum(weight for _, weight in weighted_grades)
        if not total_weight:
            raise NoVerdict(
                "there is no other assertion with a weight, so there are no scores to compare"
            )

        weighted_scores = []
        for grade, weight in weighted_grades:
            if grade.score is None:
                raise NoVerdict(
                    f"an output has no score for `{grade.assertion.type}`: {grade.reason}"
                )
            weighted_scores.append((grade.score, weight))
        mean = weighted_mean(weighted_scores)
        if self.method == "sum":
            return mean * exact_fraction(total_weight)
        return mean


@assertion("max-score")
class MaxScore(Evaluator):
    """The output with the best scores in the test's other assertions passes, the others fail."""

    compares = "scores"

    value: Method = Method()
    """How scores become one: `{method: average or sum, weights: {TYPE: N}, threshold: N}`."""

    def compare(
        self,
        transcripts: Sequence[Transcript],
        grades: Sequence[Sequence[Grade]],
        judge: Judge,
    ) -> Sequence[Verdict]:
        scores = [self.value.score(output_grades) for output_grades in grades]
        shown_scores = ", ".join(f"{float(score):.4g}" for score in scores)
        reason = f"{self.value.method} of the outputs: {shown_scores}"

        best = scores.index(max(scores))
        limit = self.value.threshold
        if limit is None or meets(scores[best], limit):
            reason += f"; output {best} is the best, counted from 0"
        else:
            reason += f"; none reaches {limit:g}"
            best = -1
        evidence = {"scores": list(map(float, scores))}
        return verdicts_for_best(len(scores), best, reason, evidence)
