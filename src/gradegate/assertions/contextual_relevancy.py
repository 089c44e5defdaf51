"""contextual-relevancy: how much of the retrieved documents is about the question.

Score: relevant sentences of all documents / all sentences of all documents. Modes: those of ``Metric``. Source:
https://deepeval.com/docs/metrics-contextual-relevancy, ``deepeval/metrics/contextual_relevancy/``.
"""

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    Measurement,
    Metric,
    ask_distinct,
    find_retrieval,
    measure_share_of_yes,
)
from gradegate.assertions.metrics.quotations import split_units


@assertion("contextual-relevancy")
class ContextualRelevancy(Metric):
    """The sentences of the retrieved documents have to do with the question."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measurement:
        retrieval = find_retrieval(transcript)

        def judge_sentences(document: str) -> verdict_forms.Judgements:
            sentences = split_units(document)
            return judge.ask(
                "contextual-relevancy",
                verdict_forms.numbered_verdicts_form(verdict_forms.YES_NO, len(sentences)),
                step="verdicts",
                document=document,
                sentences=sentences,
                question=retrieval.question,
                images=retrieval.images,
            )

        judgements = ask_distinct(judge, retrieval.documents, judge_sentences)

        # Equal documents count as often as they were retrieved.
        ranked_judgements: list[tuple[int, verdict_forms.Judgement[str]]] = []
        for rank, document in enumerate(retrieval.documents, 1):
            ranked_judgements += [(rank, judgement) for judgement in judgements[document]]
        return measure_share_of_yes(
            ranked_judgements,
            "document",
            "{} of {} sentences are relevant",
            "document {document}",
        )
