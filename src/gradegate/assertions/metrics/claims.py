"""Faithfulness to documents: truths, claims, a verdict on each claim, and the share of claims that hold.

The grader lists the truths that documents state, and the claims that answers make. Then it compares each claim with the
truths. Steps and formula are those of DeepEval's faithfulness metrics. Where DeepEval passes without a verdict, this raises.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, NamedTuple

from pydantic import Field

from gradegate.assertions.grading.evaluator import Judge, options
from gradegate.assertions.judge import verdict_forms
from gradegate.assertions.metrics.conversation import (
    CountingMetric,
    require_questions,
    separate_images,
    shorten,
)
from gradegate.core.field_types import Whole

_TRUTHS_FORM = verdict_forms.texts_form("truths")
_CLAIMS_FORM = verdict_forms.texts_form("claims")


class ClaimSource(NamedTuple):
    """The answers that claims are taken from, and the questions that say what words in the answers refer to."""

    questions: str
    answers: str
    images: tuple[str, ...] = ()


class JudgedClaims(NamedTuple):
    """Claims with a verdict on each, and the truths that the claims were compared with."""

    pairs: tuple[tuple[str, verdict_forms.Judgement[str]], ...]
    truths: tuple[str, ...]


@options
class FaithfulnessMetric(CountingMetric):
    """Base of the metrics that compare claims with documents. Each question raises NoVerdict and ProviderError."""

    requires = require_questions("truths", "claims", "verdicts")

    truths_extraction_limit: Annotated[Whole, Field(ge=1)] | None = None
    penalize_ambiguous_claims: bool = False

    def is_failure(self, judgement: verdict_forms.Judgement[str]) -> bool:
        """Whether a claim with this judgement does not hold. "idk" holds unless ambiguous claims are penalized."""
        if judgement.verdict == "idk":
            return self.penalize_ambiguous_claims
        return judgement.verdict == "no"

    def share_of_holding_claims(self, claims: JudgedClaims) -> Fraction:
        """The share of claims that hold, 1 if there are no claims."""
        failures = sum(self.is_failure(judgement) for _, judgement in claims.pairs)
        return 1 - Fraction(failures, len(claims.pairs) or 1)

    def group_documents(
        self,
        documents: tuple[str, ...],
    ) -> tuple[tuple[str, ...], ...]:
        """Group documents by question: all in one, or one for each document, because a limit holds for each."""
        if self.truths_extraction_limit:
            return tuple((document,) for document in documents)
        return (documents,)

    def ask_truths(
        self,
        judge: Judge,
        documents: tuple[str, ...],
    ) -> tuple[str, ...]:
        """Ask for the truths in a group of documents, at most as many as the limit. No documents cost no call."""
        if not documents:
            return ()
        texts, images = separate_images(documents)
        limit = self.truths_extraction_limit
        truths = judge.ask(
            "faithfulness-truths",
            _TRUTHS_FORM,
            step="truths",
            images=images,
            documents="\n\n".join(texts),
            limit=limit or 0,
        )
        return truths[:limit]

    def ask_claims(self, judge: Judge, source: ClaimSource) -> tuple[str, ...]:
        """Ask for the claims in the answers. There may be none."""
        return judge.ask(
            "faithfulness-claims",
            _CLAIMS_FORM,
            step="claims",
            images=source.images,
            asked=source.questions,
            answered=source.answers,
        )

    def ask_verdicts(
        self, judge: Judge, claims: Sequence[str], truths: tuple[str, ...]
    ) -> JudgedClaims:
        """Ask for a verdict on each claim. No claims cost no call."""
        if not claims:
            return JudgedClaims((), truths)
        form = verdict_forms.verdict_list_form(verdict_forms.YES_NO_IDK, count=len(claims))
        judgements = judge.ask(
            "faithfulness-verdicts", form, step="verdicts", claims=list(claims), truths=list(truths)
        )
        return JudgedClaims(tuple(zip(claims, judgements, strict=True)), truths)


def describe_failure(claim: str, judgement: verdict_forms.Judgement[str]) -> str:
    """A sentence for a reason: the claim that does not hold, and the reason of the grader."""
    problem = "is contradicted" if judgement.verdict == "no" else "cannot be verified"
    reason = f" ({shorten(judgement.reason)})" if judgement.reason else ""
    return f'"{shorten(claim)}" {problem}{reason}'
