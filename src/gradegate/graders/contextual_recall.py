"""contextual-recall: how much of the expected answer the documents hold.

Score: the share of the expected answer's sentences that a document holds. Source:
https://deepeval.com/docs/metrics-contextual-recall, ``deepeval/metrics/contextual_recall/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from gradegate.conversation import Transcript
from gradegate.errors import Unreadable
from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import retrieval, verdicts
from gradegate.grading.metrics.metric import Measured, Metric, clipped
from gradegate.grading.metrics.verdicts import Given
from gradegate.grading.reading.answer import Answer

_SCHEMA = verdicts.verdicts_schema(("yes", "no"))


@GRADERS.register("contextual-recall")
@options
class ContextualRecall(Metric):
    """The sentences of the expected answer can be found in the retrieved documents."""

    value: str = ""

    def needs(self, variables: Mapping[str, Any]) -> str:
        """An expected answer."""
        known = retrieval.expected(self.value, variables)
        return "" if known else "there is no expected answer; give it as `value` or as the variable `expected_output`"

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """The share of the expected answer's sentences that a document holds."""
        found = retrieval.retrieved(transcript)
        given = judge.ask(
            "contextual-recall",
            _read,
            schema=_SCHEMA,
            step="verdicts",
            images=found.images,
            expected=retrieval.expected(self.value, transcript.vars),
            documents=list(found.documents),
        )
        held = sum(one.word == "yes" for one in given)
        rows = [{"sentence": n, "verdict": one.word, "reason": one.reason} for n, one in enumerate(given, 1)]
        return Measured(
            Fraction(held, len(given)),
            f"{held} of {len(given)} sentences of the expected answer are in the documents",
            tuple(f"sentence {n} is not: {clipped(one.reason)}" for n, one in enumerate(given, 1) if one.word == "no"),
            evidence={"verdicts": rows},
            steps=tuple(map(str, rows)),
        )


def _read(answer: Answer) -> tuple[Given, ...]:
    found = verdicts.some(answer)
    if not found:
        raise Unreadable("it holds no verdict on any sentence of the expected answer")
    return found
