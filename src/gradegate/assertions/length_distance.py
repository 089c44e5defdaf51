"""word-count, levenshtein and finish-reason: how long the answer is, how far from a text, and why it ended.

As in promptfoo: https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/#word-count, #levenshtein-distance and
#finish-reason, ``src/assertions/wordCount.ts``, ``levenshtein.ts`` and ``finishReason.ts``.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from gradegate.assertions.grading.evaluator import (
    Evaluator,
    Judge,
    NoVerdict,
    Requirements,
    Scoring,
    TextEvaluator,
    Transcript,
    Verdict,
    assertion,
    pass_or_fail,
)
from gradegate.core.field_types import Bounds, missed_bound

MOST = 2_000_000  # numbers that a distance may take: a second


def _parse_bounds(value: Any) -> Any:
    """The bounds of a count: a number stands for both. Raises ValueError."""
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return {"min": value, "max": value}
    if not isinstance(value, dict | Bounds):
        raise ValueError("is neither a number nor `{min, max}`")
    return value


@assertion("word-count")
class WordCount(TextEvaluator):
    """The answer has so many words."""

    value: Annotated[Bounds, BeforeValidator(_parse_bounds)]
    """The number of words, or `{min: N, max: N}`."""

    def check(self, output: str) -> Verdict:
        count = len(output.split())
        limit = missed_bound(count, self.value.min, self.value.max)
        return pass_or_fail(not limit, f"the answer has {count} words{limit}", count=count)


@assertion("levenshtein")
class Levenshtein(TextEvaluator):
    """The answer becomes a text by at most so many insertions, deletions and replacements of a character."""

    scoring = Scoring(decides=True, at_most=True, share=False)

    value: str
    """The text that the answer is compared with."""
    threshold: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 5

    def check(self, output: str) -> Verdict:
        limit = int(self.threshold)
        distance = _distance(output, self.value, limit)
        passed = distance <= limit
        shown_distance = distance if passed else f"more than {limit}"
        return pass_or_fail(
            passed, f"the distance is {shown_distance}, and at most {self.threshold:g} is asked for"
        )


def _distance(first: str, second: str, limit: int) -> int:
    """The Levenshtein distance, or any larger number than ``limit`` if the distance is above it.

    This is the table of Wagner and Fischer, a row for each character of the longer text. Only the cells within ``limit`` of
    the diagonal are computed, because all others are above the limit. Raises NoVerdict if these cells are too many.
    """
    shorter, longer = sorted((first, second), key=len)
    too_far = limit + 1
    if len(longer) - len(shorter) > limit:
        return too_far
    if len(longer) * min(2 * limit + 1, len(shorter) + 1) > MOST:
        raise NoVerdict("the texts are too long to be compared at this threshold")

    row = [min(column, too_far) for column in range(len(shorter) + 1)]
    for line, character in enumerate(longer, 1):
        low = max(1, line - limit)
        high = min(len(shorter), line + limit)
        diagonal = row[low - 1]
        row[low - 1] = line if low == 1 else too_far
        for column in range(low, high + 1):
            above = row[column]
            left = row[column - 1]
            is_replaced = shorter[column - 1] != character
            row[column] = min(diagonal + is_replaced, above + 1, left + 1)
            diagonal = above
        if high < len(shorter):
            row[high + 1] = too_far
    return row[-1]


@assertion("finish-reason")
class FinishReason(Evaluator):
    """The answer ended for this reason: stop, length, tool_calls."""

    requires = Requirements(tools=True)

    value: str
    """The reason: stop, length, tool_calls or content_filter."""

    def grade(self, transcript: Transcript, judge: Judge) -> Verdict:
        reason = transcript.metadata.get("finish_reason")
        if not isinstance(reason, str) or not reason:
            raise NoVerdict("the answer does not say why it ended")
        same = reason.lower() == self.value.strip().lower()
        return pass_or_fail(same, f'the answer ended with "{reason}"')
