"""contextual-recall: how much of the expected answer is in the retrieved documents.

Score: sentences of the expected answer that are in a document / all sentences of it. Modes: those of ``Metric``. Source:
https://deepeval.com/docs/metrics-contextual-recall, ``deepeval/metrics/contextual_recall/``.
"""

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    ExpectedAnswerMetric,
    Measurement,
    find_retrieval,
    measure_share_of_yes,
)
from gradegate.assertions.metrics.quotations import split_units


@assertion("contextual-recall")
class ContextualRecall(ExpectedAnswerMetric):
    """The sentences of the expected answer can be found in the retrieved documents."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        retrieval = find_retrieval(transcript)
        expected = self.expected_answer(transcript.vars)
        sentences = split_units(expected)
        judgements = judge.ask(
            "contextual-recall",
            verdict_forms.numbered_verdicts_form(verdict_forms.YES_NO, len(sentences)),
            step="verdicts",
            images=retrieval.images,
            expected=expected,
            sentences=sentences,
            documents=list(retrieval.documents),
        )
        return measure_share_of_yes(
            enumerate(judgements, 1),
            "sentence",
            "{} of {} sentences of the expected answer are in the documents",
            "sentence {sentence} is not",
        )
