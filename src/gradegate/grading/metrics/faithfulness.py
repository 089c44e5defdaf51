"""Faithfulness to documents: truths, claims, one verdict on each claim, and the share of claims that hold.

The steps and the arithmetic of DeepEval's faithfulness metrics; where DeepEval fails open, this raises.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from gradegate.grading.judge import Judge
from gradegate.grading.metrics import verdicts
from gradegate.grading.metrics.metric import clipped, images_in, split
from gradegate.grading.metrics.verdicts import Judgement
from gradegate.grading.numbers import Whole
from gradegate.values.conversation import Numbered

STEPS = ("truths", "claims", "verdicts", "reason")
Limit = Annotated[Whole, Field(ge=1)] | None
_TRUTHS = verdicts.texts("truths")
_CLAIMS = verdicts.texts("claims")
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ClaimSource:
    """What claims are taken from: the answers, and the questions that say what words in them refer to."""

    asked: str
    answered: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldClaims:
    """Claims with a verdict on each, and the truths that they were held against."""

    claims: tuple[str, ...]
    judgements: tuple[Judgement[str], ...]
    truths: tuple[str, ...] = ()

    def score(self, penalize: bool) -> Fraction:
        """The share of claims that hold, 1 for no claims; "idk" holds unless it is penalized."""
        failures = sum(judgement.verdict in bad(penalize) for judgement in self.judgements)
        return 1 - Fraction(failures, len(self.judgements) or 1)


def bad(penalize: bool) -> tuple[str, ...]:
    """The verdicts of claims that do not hold."""
    return ("no", "idk") if penalize else ("no",)


def claim_source(turns: Sequence[Numbered]) -> ClaimSource:
    """The messages of a window: the user's and the assistant's apart, as DeepEval asks for claims."""
    asked = "\n".join(turn.content for _, turn in turns if turn.role == "user")
    answered = "\n".join(turn.content for _, turn in turns if turn.role == "assistant")
    return ClaimSource(asked, answered, images_in(turn for _, turn in turns))


def asked_together(documents: tuple[str, ...], limit: int | None) -> tuple[tuple[str, ...], ...]:
    """The documents in groups whose truths are asked for in one question: a limit holds for each document apart."""
    return tuple((document,) for document in documents) if limit else (documents,)


def ask_truths(judge: Judge, limit: int | None, documents: tuple[str, ...]) -> tuple[str, ...]:
    """What the documents of one question say, at most ``limit`` truths. No document, no truth, no call.

    Raises NoVerdict.
    """
    if not documents:
        return ()
    texts, images = split(documents)
    truths = judge.ask("faithfulness-truths", _TRUTHS, step="truths", images=images, documents="\n\n".join(texts), limit=limit or 0)
    return truths[:limit]


def ask_claims(judge: Judge, source: ClaimSource) -> tuple[str, ...]:
    """What the answers claim; may be nothing. Raises NoVerdict."""
    return judge.ask("faithfulness-claims", _CLAIMS, step="claims", images=source.images, asked=source.asked, answered=source.answered)


def ask_verdicts(judge: Judge, claims: tuple[str, ...], truths: tuple[str, ...]) -> tuple[Judgement[str], ...]:
    """One verdict for each claim; no claim, no call. Raises NoVerdict, also for another number of verdicts."""
    if not claims:
        return ()
    form = verdicts.listed(verdicts.YES_NO_IDK, len(claims))
    return judge.ask("faithfulness-verdicts", form, step="verdicts", claims=list(claims), truths=list(truths))


def likely_turn(claim: str, turns: Sequence[Numbered]) -> int:
    """The number of the answer that a claim was most likely taken from: most of its words are there.

    Claims are asked for once a window, so that the grader does not say where each is from. This is for evidence alone.
    """
    words = set(_WORDS.findall(claim.lower()))
    answers = [numbered for numbered in turns if numbered.turn.role == "assistant"]

    def shared(numbered: Numbered) -> int:
        return len(words & set(_WORDS.findall(numbered.turn.content.lower())))

    return max(answers, key=shared).number


def described(claim: str, judgement: Judgement[str], turn: int | None = None) -> str:
    """A claim that does not hold, for a reason: which, of which turn, and what it is contradicted by."""
    what = "is contradicted" if judgement.verdict == "no" else "cannot be verified"
    where = f"turn {turn}: " if turn else ""
    return f'{where}"{clipped(claim)}" {what}' + (f" ({clipped(judgement.reason)})" if judgement.reason else "")
