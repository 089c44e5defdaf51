"""contextual-recall: how much of the expected answer the documents hold.

Score: the share of the expected answer's sentences that a document holds. Source:
https://deepeval.com/docs/metrics-contextual-recall, ``deepeval/metrics/contextual_recall/``.
"""

from __future__ import annotations

from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import retrieval, verdicts
from gradegate.grading.metrics.metric import Measured
from gradegate.grading.metrics.shares import share_of_yes
from gradegate.values.conversation import Transcript

_FORM = verdicts.listed(least=1)


@GRADERS.register("contextual-recall")
@options
class ContextualRecall(retrieval.Expecting):
    """The sentences of the expected answer can be found in the retrieved documents."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """The share of the expected answer's sentences that a document holds."""
        sources = retrieval.retrieved(transcript)
        judgements = judge.ask(
            "contextual-recall",
            _FORM,
            step="verdicts",
            images=sources.images,
            expected=self.expected(transcript.vars),
            documents=list(sources.documents),
        )
        summary = "{} of {} sentences of the expected answer are in the documents"
        return share_of_yes(enumerate(judgements, 1), "sentence", summary, "sentence {sentence} is not")
