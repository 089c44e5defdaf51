"""Faithfulness to documents: truths, claims, one verdict on each claim, and the share of claims that hold.

The steps and the arithmetic of DeepEval's faithfulness metrics; where DeepEval fails open, this raises.
"""

from fractions import Fraction
from typing import Annotated, NamedTuple

from pydantic import Field

from gradegate.assertions.grading.evaluator import Judge, options
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import CountingMetric, asking, clipped, split
from gradegate.core.field_types import Whole

_TRUTHS = verdict_forms.texts_form("truths")
_CLAIMS = verdict_forms.texts_form("claims")


class ClaimSource(NamedTuple):
    """What claims are taken from: the answers, and the questions that say what words in them refer to."""

    questions: str
    answers: str
    images: tuple[str, ...] = ()


class HeldClaims(NamedTuple):
    """Claims with a verdict on each, and the truths that they were held against."""

    pairs: tuple[tuple[str, verdict_forms.Judgement[str]], ...]
    truths: tuple[str, ...]


@options
class FaithfulnessMetric(CountingMetric):
    """Base of the metrics that hold claims against documents. Each of its questions raises NoVerdict."""

    requires = asking("truths", "claims", "verdicts")

    truths_extraction_limit: Annotated[Whole, Field(ge=1)] | None = None
    penalize_ambiguous_claims: bool = False

    @property
    def bad(self) -> tuple[str, ...]:
        """The verdicts of claims that do not hold: "idk" holds unless it is penalized."""
        return ("no", "idk") if self.penalize_ambiguous_claims else ("no",)

    def share(self, judged_claims: HeldClaims) -> Fraction:
        """The share of claims that hold, 1 for no claims."""
        failures = sum(judgement.verdict in self.bad for _, judgement in judged_claims.pairs)
        return 1 - Fraction(failures, len(judged_claims.pairs) or 1)

    def asked_together(self, documents: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """The documents in groups whose truths are asked for in one question: a limit holds for each document apart."""
        if self.truths_extraction_limit:
            return tuple((document,) for document in documents)
        return (documents,)

    def ask_truths(self, judge: Judge, documents: tuple[str, ...]) -> tuple[str, ...]:
        """What the documents of one question say, at most as many truths as the limit. No document, no truth, no call."""
        if not documents:
            return ()
        texts, images = split(documents)
        limit = self.truths_extraction_limit
        truths = judge.ask(
            "faithfulness-truths",
            _TRUTHS,
            step="truths",
            images=images,
            documents="\n\n".join(texts),
            limit=limit or 0,
        )
        return truths[:limit]

    def ask_claims(self, judge: Judge, source: ClaimSource) -> tuple[str, ...]:
        """What the answers claim; may be nothing."""
        questions, answers, images = source
        return judge.ask(
            "faithfulness-claims",
            _CLAIMS,
            step="claims",
            images=images,
            asked=questions,
            answered=answers,
        )

    def ask_verdicts(
        self, judge: Judge, claims: tuple[str, ...], truths: tuple[str, ...]
    ) -> HeldClaims:
        """One verdict for each claim; no claim, no call."""
        if not claims:
            return HeldClaims((), truths)
        form = verdict_forms.verdict_list_form(verdict_forms.YES_NO_IDK, count=len(claims))
        judgements = judge.ask(
            "faithfulness-verdicts", form, step="verdicts", claims=list(claims), truths=list(truths)
        )
        return HeldClaims(tuple(zip(claims, judgements, strict=True)), truths)


def described(claim: str, judgement: verdict_forms.Judgement[str]) -> str:
    """A claim that does not hold, for a reason: which, and what it is contradicted by."""
    what = "is contradicted" if judgement.verdict == "no" else "cannot be verified"
    return f'"{clipped(claim)}" {what}' + (
        f" ({clipped(judgement.reason)})" if judgement.reason else ""
    )
