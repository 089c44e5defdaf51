"""What the metrics of retrieval share: the question, the expected answer, and the documents that were found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gradegate.errors import NoVerdict
from gradegate.metric import listed, question, split, turns_of
from gradegate.model import Transcript


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The documents that were retrieved for an answer, in rank order: the texts, and the images apart."""

    question: str
    documents: tuple[str, ...]
    images: tuple[str, ...] = ()


def retrieved(transcript: Transcript) -> Retrieved:
    """What was found for the last answer. Raises NoVerdict when there is no document of text."""
    turns = turns_of(transcript)
    documents, images = split(turns[-1].retrieval_context) if turns else ((), ())
    if not documents:  # a conversation may have them among its variables
        documents = listed(transcript, "retrieval_context", "context")
    if not documents:
        raise NoVerdict("there is no retrieval context; give the variable `retrieval_context` or `context`")
    return Retrieved(question(transcript), documents, images)


def expected(value: str, variables: Mapping[str, Any]) -> str:
    """The expected answer: ``value``, else the variable ``expected_output``; empty when there is none."""
    return value.strip() or str(variables.get("expected_output") or "").strip()


def precision(relevant: list[bool]) -> Fraction:
    """Mean, over the ranks k of relevant documents, of the share of relevant ones among the first k; 0 for none."""
    shares = [Fraction(sum(relevant[:rank]), rank) for rank, hit in enumerate(relevant, 1) if hit]
    return sum(shares, Fraction(0)) / len(shares) if shares else Fraction(0)
