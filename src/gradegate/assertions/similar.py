"""similar: how near the answer's embedding is to that of an expected text.

Score: the cosine or the dot product of the embeddings, or 1 / (1 + their Euclidean distance). As in promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/similar/, ``src/matchers/similarity.ts``.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from gradegate.assertions.grading.evaluator import (
    Evaluator,
    Judge,
    Requirements,
    Scoring,
    Transcript,
    Verdict,
    assertion,
)
from gradegate.assertions.metrics import vectors
from gradegate.core.field_types import Number
from gradegate.core.numbers import EPSILON, meets
from gradegate.security.redaction import excerpt
from gradegate.structs import replace

DEFAULT = 0.75


@assertion("similar", "similar:cosine")
class Similar(Evaluator):
    """The answer means much the same as a text, or as one of several (cosine of embeddings)."""

    # A distance is compared the other way round, and `not-` allows equality.
    scoring = Scoring(DEFAULT, decides=True, share=False, tolerance=EPSILON)
    requires = Requirements(("similarity",))
    measure: ClassVar[Callable[[Sequence[float], Sequence[float]], float]] = vectors.cosine

    value: str | Annotated[list[str], Field(min_length=1)]
    """The text to resemble; of a list, the nearest counts."""
    threshold: Number | None = None

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        """The first value that is near enough, else the nearest; under ``not-`` the nearest counts."""
        values = [self.value] if isinstance(self.value, str) else self.value
        limit = DEFAULT if self.threshold is None else self.threshold
        if judge.models["embedding"].vectors:
            output, *others = judge.embed([transcript.output, *values])
            compared = [
                (type(self).measure(output, other), text)
                for other, text in zip(others, values, strict=True)
            ]
        else:
            compared = [(judge.compare(text, transcript.output), text) for text in values]
        nearest = max(compared, key=lambda item: self._score(item[0]))
        chosen = next((item for item in compared if self._near(item[0], limit)), nearest)
        # At least as far as the limit: a measure that is equal to it is both near and far.
        is_far = self._near(limit, nearest[0])
        reverse = self._verdict(nearest, not is_far, len(values))
        return self._verdict(chosen, self._near(chosen[0], limit), len(values), reverse)

    def _verdict(
        self, comparison: tuple[float, str], near: bool, count: int, reverse: Verdict | None = None
    ) -> Verdict:
        measured, text = comparison
        which = f" of {count} texts, {excerpt(text, 80)!r}" if count > 1 else ""
        name = (
            f"{type(self).measure.__name__} {'distance' if self.scoring.at_most else 'similarity'}"
        )
        evidence = {"compared with": text, name: measured}
        return Verdict(
            self._score(measured), near, f"{name} {measured:.4g}{which}", evidence, reverse=reverse
        )

    def _score(self, measured: float) -> float:
        return 1 / (1 + measured) if self.scoring.at_most else measured

    def _near(self, measured: float, limit: float) -> bool:
        pair = (limit, measured) if self.scoring.at_most else (measured, limit)
        return meets(*pair, self.scoring.tolerance)


@assertion("similar:dot")
class SimilarDot(Similar):
    """The answer means much the same as a text (dot product of embeddings)."""

    requires = Requirements(("embedding",))
    measure = vectors.dot


@assertion("similar:euclidean")
class SimilarEuclidean(Similar):
    """The answer means much the same as a text (distance of embeddings, at most the threshold)."""

    requires = Requirements(("embedding",))
    scoring = replace(Similar.scoring, at_most=True)

    measure = vectors.euclidean
