"""similar: how near the embedding of the answer is to the embedding of an expected text.

Score: the cosine or the dot product of the embeddings, or 1 / (1 + their Euclidean distance). As in promptfoo:
https://www.promptfoo.dev/docs/configuration/expected-outputs/similar/, ``src/matchers/similarity.ts``.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, NamedTuple

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


class _Comparison(NamedTuple):
    """A text, and the similarity or distance that the answer has to it."""

    measured: float
    text: str


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
        comparisons = self._compare(transcript.output, values, judge)

        nearest = max(comparisons, key=lambda comparison: self._score(comparison.measured))
        chosen = nearest
        for comparison in comparisons:
            if self._is_near(comparison.measured, limit):
                chosen = comparison
                break
        is_near = self._is_near(chosen.measured, limit)
        verdict = self._verdict(chosen, is_near, len(values))

        # Under `not-` a measure that is equal to the limit passes as well: it is both near and far.
        is_far = self._is_near(limit, nearest.measured)
        reverse = self._verdict(nearest, not is_far, len(values))
        return replace(verdict, reverse=reverse)

    def _compare(
        self,
        output: str,
        texts: Sequence[str],
        judge: Judge,
    ) -> list[_Comparison]:
        """Compare the answer with each text."""
        if not judge.models["embedding"].vectors:
            return [_Comparison(judge.compare(text, output), text) for text in texts]
        output_vector, *vectors_of_texts = judge.embed([output, *texts])
        return [
            _Comparison(type(self).measure(output_vector, vector), text)
            for vector, text in zip(vectors_of_texts, texts, strict=True)
        ]

    def _verdict(self, comparison: _Comparison, is_near: bool, text_count: int) -> Verdict:
        """The verdict on the answer by one of ``text_count`` texts."""
        measured, text = comparison
        kind = "distance" if self.scoring.at_most else "similarity"
        name = f"{type(self).measure.__name__} {kind}"  # "cosine similarity"
        reason = f"{name} {measured:.4g}"
        if text_count > 1:
            reason += f" of {text_count} texts, {excerpt(text, 80)!r}"
        evidence = {"compared with": text, name: measured}
        return Verdict(self._score(measured), is_near, reason, evidence)

    def _score(self, measured: float) -> float:
        """The similarity, or a score from 0 to 1 that falls with the distance."""
        return 1 / (1 + measured) if self.scoring.at_most else measured

    def _is_near(self, measured: float, limit: float) -> bool:
        """Whether a similarity is at least the limit, or a distance at most the limit."""
        if self.scoring.at_most:
            return meets(limit, measured, self.scoring.tolerance)
        return meets(measured, limit, self.scoring.tolerance)


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
