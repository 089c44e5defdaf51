"""contextual-relevancy: how much of what was retrieved has to do with the question.

Score: the sentences of all documents that bear on the question, over all sentences. Source:
https://deepeval.com/docs/metrics-contextual-relevancy, ``deepeval/metrics/contextual_relevancy/``.
"""

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.context import units
from gradegate.assertions.metrics.conversation import (
    Measured,
    Metric,
    ask_once,
    retrieved,
    share_of_yes,
)


@assertion("contextual-relevancy")
class ContextualRelevancy(Metric):
    """The sentences of the retrieved documents have to do with the question."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        sources = retrieved(transcript)
        sentences = {document: units(document) for document in sources.documents}
        asked = ask_once(
            judge,
            sources.documents,
            lambda document: judge.ask(
                "contextual-relevancy",
                verdict_forms.numbered_verdicts_form(
                    verdict_forms.YES_NO, len(sentences[document])
                ),
                step="verdicts",
                document=document,
                sentences=sentences[document],
                question=sources.question,
                images=sources.images,
            ),
        )
        pairs = [
            (rank, judgement)
            for rank, document in enumerate(sources.documents, 1)
            for judgement in asked[document]
        ]
        return share_of_yes(
            pairs, "document", "{} of {} sentences are relevant", "document {document}"
        )
