"""contextual-relevancy: how much of what was retrieved has to do with the question.

Score: the statements of all documents that bear on the question, over all statements. Source:
https://deepeval.com/docs/metrics-contextual-relevancy, ``deepeval/metrics/contextual_relevancy/``.
"""

from __future__ import annotations

from fractions import Fraction

from gradegate.conversation import Transcript
from gradegate.grading.grader import GRADERS, options
from gradegate.grading.judge import Judge
from gradegate.grading.metrics import retrieval, verdicts
from gradegate.grading.metrics.metric import Measured, Metric, ask_once, clipped
from gradegate.grading.metrics.verdicts import Given

_SCHEMA = verdicts.verdicts_schema(("yes", "no"))


@GRADERS.register("contextual-relevancy")
@options
class ContextualRelevancy(Metric):
    """The statements of the retrieved documents have to do with the question."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        """Relevant statements among all, over all documents; one call for each; 0 when none states anything."""
        found = retrieval.retrieved(transcript)

        def ask(document: str) -> tuple[Given, ...]:
            return judge.ask(
                "contextual-relevancy",
                verdicts.some,
                schema=_SCHEMA,
                step="verdicts",
                images=found.images,
                question=found.question,
                document=document,
            )

        asked = ask_once(judge, found.documents, ask)
        pairs = [(rank, one) for rank, document in enumerate(found.documents, 1) for one in asked[document]]
        held, total = sum(one.word == "yes" for _, one in pairs), len(pairs)
        rows = [{"document": rank, "verdict": one.word, "reason": one.reason} for rank, one in pairs]
        return Measured(
            Fraction(held, total) if total else Fraction(0),
            f"{held} of {total} statements are relevant" if total else "the documents state nothing",
            tuple(f"document {rank}: {clipped(one.reason)}" for rank, one in pairs if one.word == "no"),
            evidence={"verdicts": rows},
            steps=tuple(map(str, rows)),
        )
