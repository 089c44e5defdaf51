"""contextual-precision: whether the retrieved documents that help come before those that do not.

Score: the mean of (helpful documents among the first k) / k over the ranks k of the helpful documents, or 0 if no document
helps. Modes: those of ``Metric``. Source: https://deepeval.com/docs/metrics-contextual-precision, ``deepeval/metrics/contextual_precision/``.
"""

from fractions import Fraction

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    ExpectedAnswerMetric,
    Measurement,
    find_retrieval,
    measure_share_of_yes,
)
from gradegate.core.numbers import exact_mean
from gradegate.structs import replace


@assertion("contextual-precision")
class ContextualPrecision(ExpectedAnswerMetric):
    """The retrieved documents that help to answer come before those that do not."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        retrieval = find_retrieval(transcript)
        judgements = judge.ask(
            "contextual-precision",
            verdict_forms.verdict_list_form(count=len(retrieval.documents)),
            step="verdicts",
            images=retrieval.images,
            question=retrieval.question,
            expected=self.expected_answer(transcript.vars),
            documents=list(retrieval.documents),
        )

        precisions: list[Fraction] = []  # at the rank of each helpful document
        for rank, judgement in enumerate(judgements, 1):
            if judgement.verdict == "yes":
                helpful = len(precisions) + 1
                precisions.append(Fraction(helpful, rank))

        measurement = measure_share_of_yes(
            enumerate(judgements, 1), "rank", "{} of {} documents help", "document {rank} does not"
        )
        score = exact_mean(precisions) if precisions else Fraction(0)
        return replace(measurement, score=score)
