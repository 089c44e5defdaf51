"""contextual-precision: whether the documents that help come before those that do not.

Score: the mean, over the ranks k of the documents that help, of (helpful documents among the first k) / k; 0 for none. Source:
https://deepeval.com/docs/metrics-contextual-precision, ``deepeval/metrics/contextual_precision/``.
"""

from fractions import Fraction

from gradegate.assertions.grading.evaluator import Judge, Transcript, assertion
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import Expecting, Measured, retrieved, share_of_yes
from gradegate.core.numbers import exact_mean
from gradegate.structs import replace


@assertion("contextual-precision")
class ContextualPrecision(Expecting):
    """The retrieved documents that help to answer come before those that do not."""

    def measure(self, transcript: Transcript, judge: Judge) -> Measured:
        sources = retrieved(transcript)
        judgements = judge.ask(
            "contextual-precision",
            verdict_forms.verdict_list_form(count=len(sources.documents)),
            step="verdicts",
            images=sources.images,
            question=sources.question,
            expected=self.expected(transcript.vars),
            documents=[*sources.documents],
        )
        helps = [judgement.verdict == "yes" for judgement in judgements]
        shares = [Fraction(sum(helps[:rank]), rank) for rank, hit in enumerate(helps, 1) if hit]
        measured = share_of_yes(
            enumerate(judgements, 1), "rank", "{} of {} documents help", "document {rank} does not"
        )
        return replace(measured, score=exact_mean(shares) if shares else Fraction(0))
