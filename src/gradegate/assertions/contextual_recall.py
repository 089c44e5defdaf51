"""contextual-recall: how much of the expected answer the documents hold.

Score: the share of the expected answer's sentences that a document holds. Source:
https://deepeval.com/docs/metrics-contextual-recall, ``deepeval/metrics/contextual_recall/``.
"""

from typing import Any

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms as verdicts
from gradegate.assertions.metrics import conversation as metric
from gradegate.assertions.metrics.conversation import Measured, share_of_yes

_FORM = verdicts.listed(least=1)


@assertion("contextual-recall")
class ContextualRecall(metric.Expecting):
    """The sentences of the expected answer can be found in the retrieved documents."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        sources = metric.retrieved(transcript)
        told: dict[str, Any] = {
            "expected": self.expected(transcript.vars),
            "documents": [*sources.documents],
        }
        judgements = judge.ask(
            "contextual-recall", _FORM, step="verdicts", images=sources.images, **told
        )
        summary = "{} of {} sentences of the expected answer are in the documents"
        return share_of_yes(
            enumerate(judgements, 1), "sentence", summary, "sentence {sentence} is not"
        )
