"""contextual-precision: whether the documents that help come before those that do not.

Score: the mean, over the ranks k of the documents that help, of (helpful documents among the first k) / k. Source:
https://deepeval.com/docs/metrics-contextual-precision, ``deepeval/metrics/contextual_precision/``.
"""

from __future__ import annotations

from dataclasses import replace

from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import retrieval, verdicts
from gradegate.grading.metrics.metric import Measured
from gradegate.grading.metrics.shares import share_of_yes
from gradegate.values.conversation import Transcript


@GRADERS.register("contextual-precision")
@options
class ContextualPrecision(retrieval.Expecting):
    """The retrieved documents that help to answer come before those that do not."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """Weighted cumulative precision over the ranks; 0 when no document helps."""
        sources = retrieval.retrieved(transcript)
        judgements = judge.ask(
            "contextual-precision",
            verdicts.listed(count=len(sources.documents)),
            step="verdicts",
            images=sources.images,
            question=sources.question,
            expected=self.expected(transcript.vars),
            documents=list(sources.documents),
        )
        measured = share_of_yes(enumerate(judgements, 1), "rank", "{} of {} documents help", "document {rank} does not")
        return replace(measured, score=retrieval.precision([judgement.verdict == "yes" for judgement in judgements]))
