"""contextual-relevancy: how much of what was retrieved has to do with the question.

Score: the statements of all documents that bear on the question, over all statements. Source:
https://deepeval.com/docs/metrics-contextual-relevancy, ``deepeval/metrics/contextual_relevancy/``.
"""

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms as verdicts
from gradegate.assertions.metrics import conversation as metric
from gradegate.assertions.metrics.conversation import Measured, Metric, ask_each, share_of_yes

_FORM = verdicts.listed()


@assertion("contextual-relevancy")
class ContextualRelevancy(Metric):
    """The statements of the retrieved documents have to do with the question."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        sources = metric.retrieved(transcript)
        beside = {"images": sources.images, "question": sources.question}
        asked = ask_each(
            judge,
            "contextual-relevancy",
            _FORM,
            sources.documents,
            lambda document: {**beside, "document": document},
        )
        pairs = [
            (rank, judgement)
            for rank, document in enumerate(sources.documents, 1)
            for judgement in asked[document]
        ]
        summary, none = "{} of {} statements are relevant", (0, "the documents state nothing")
        return share_of_yes(pairs, "document", summary, "document {document}", none)
