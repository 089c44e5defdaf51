"""contextual-relevancy: how much of what was retrieved has to do with the question.

Score: the statements of all documents that bear on the question, over all statements. Source:
https://deepeval.com/docs/metrics-contextual-relevancy, ``deepeval/metrics/contextual_relevancy/``.
"""

from __future__ import annotations

from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import retrieval, verdicts
from gradegate.grading.metrics.metric import Measured, Metric, ask_each
from gradegate.grading.metrics.shares import share_of_yes
from gradegate.values.conversation import Transcript

_FORM = verdicts.listed()


@GRADERS.register("contextual-relevancy")
@options
class ContextualRelevancy(Metric):
    """The statements of the retrieved documents have to do with the question."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """Relevant statements among all, over all documents; one call for each; 0 when none states anything."""
        sources = retrieval.retrieved(transcript)
        beside = {"images": sources.images, "question": sources.question}
        asked = ask_each(judge, "contextual-relevancy", _FORM, sources.documents, lambda document: {**beside, "document": document})
        pairs = [(rank, judgement) for rank, document in enumerate(sources.documents, 1) for judgement in asked[document]]
        none = (0, "the documents state nothing")
        return share_of_yes(pairs, "document", "{} of {} statements are relevant", "document {document}", none)
