"""contextual-recall: how much of the expected answer the documents hold.

Score: the share of the expected answer's sentences that a document holds. Source:
https://deepeval.com/docs/metrics-contextual-recall, ``deepeval/metrics/contextual_recall/``.
"""

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.context import units
from gradegate.assertions.metrics.conversation import Expecting, Measured, retrieved, share_of_yes


@assertion("contextual-recall")
class ContextualRecall(Expecting):
    """The sentences of the expected answer can be found in the retrieved documents."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        sources = retrieved(transcript)
        expected = self.expected(transcript.vars)
        sentences = units(expected)
        judgements = judge.ask(
            "contextual-recall",
            verdict_forms.numbered_verdicts_form(verdict_forms.YES_NO, len(sentences)),
            step="verdicts",
            images=sources.images,
            expected=expected,
            sentences=sentences,
            documents=[*sources.documents],
        )
        summary = "{} of {} sentences of the expected answer are in the documents"
        return share_of_yes(
            enumerate(judgements, 1), "sentence", summary, "sentence {sentence} is not"
        )
