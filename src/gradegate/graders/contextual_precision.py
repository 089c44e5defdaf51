"""contextual-precision: whether the documents that help stand before those that do not.

Score: the mean, over the ranks k of the documents that help, of (helpful documents among the first k) / k. Source:
https://deepeval.com/docs/metrics-contextual-precision, ``deepeval/metrics/contextual_precision/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from gradegate.conversation import Transcript
from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import retrieval, verdicts
from gradegate.grading.metrics.metric import Measured, Metric, clipped

_SCHEMA = verdicts.verdicts_schema(("yes", "no"))


@GRADERS.register("contextual-precision")
@options
class ContextualPrecision(Metric):
    """The retrieved documents that help to answer stand before those that do not."""

    value: str = ""

    def needs(self, variables: Mapping[str, Any]) -> str:
        """An expected answer."""
        known = retrieval.expected(self.value, variables)
        return "" if known else "there is no expected answer; give it as `value` or as the variable `expected_output`"

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """Weighted cumulative precision over the ranks; 0 when no document helps."""
        found = retrieval.retrieved(transcript)
        given = judge.ask(
            "contextual-precision",
            partial(verdicts.counted, count=len(found.documents)),
            schema=_SCHEMA,
            step="verdicts",
            images=found.images,
            question=found.question,
            expected=retrieval.expected(self.value, transcript.vars),
            documents=list(found.documents),
        )
        helps = [one.word == "yes" for one in given]
        rows = [{"rank": rank, "verdict": one.word, "reason": one.reason} for rank, one in enumerate(given, 1)]
        return Measured(
            retrieval.precision(helps),
            f"{sum(helps)} of {len(helps)} documents help",
            tuple(
                f"document {rank} does not: {clipped(g.reason)}" for rank, g in enumerate(given, 1) if g.word == "no"
            ),
            evidence={"verdicts": rows},
            steps=tuple(map(str, rows)),
        )
