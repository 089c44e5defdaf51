"""contextual-precision: whether the documents that help come before those that do not.

Score: the mean, over the ranks k of the documents that help, of (helpful documents among the first k) / k. Source:
https://deepeval.com/docs/metrics-contextual-precision, ``deepeval/metrics/contextual_precision/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import retrieval, verdicts
from gradegate.grading.metrics.metric import Measured, Metric, clipped
from gradegate.values.conversation import Transcript


@GRADERS.register("contextual-precision")
@options
class ContextualPrecision(Metric):
    """The retrieved documents that help to answer come before those that do not."""

    value: str = ""
    """The expected answer; without it the variable `expected_output`."""

    def needs(self, variables: Mapping[str, Any]) -> str:
        """An expected answer."""
        return retrieval.lacks_expected(self.value, variables)

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """Weighted cumulative precision over the ranks; 0 when no document helps."""
        sources = retrieval.retrieved(transcript)
        judgements = judge.ask(
            "contextual-precision",
            verdicts.listed(count=len(sources.documents)),
            step="verdicts",
            images=sources.images,
            question=sources.question,
            expected=retrieval.expected(self.value, transcript.vars),
            documents=list(sources.documents),
        )
        helps = [judgement.verdict == "yes" for judgement in judgements]
        rows = [{"rank": rank, "verdict": judgement.verdict, "reason": judgement.reason} for rank, judgement in enumerate(judgements, 1)]
        return Measured(
            retrieval.precision(helps),
            f"{sum(helps)} of {len(helps)} documents help",
            tuple(
                f"document {rank} does not: {clipped(judgement.reason)}"
                for rank, judgement in enumerate(judgements, 1)
                if judgement.verdict == "no"
            ),
            evidence={"verdicts": rows},
            steps=tuple(map(str, rows)),
        )
