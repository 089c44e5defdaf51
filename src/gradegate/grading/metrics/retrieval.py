"""What the metrics of retrieval share: the question, the expected answer, and the documents that were retrieved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gradegate.errors import NoVerdict
from gradegate.grading.grader import options
from gradegate.grading.metrics.metric import Metric, documents_of, question, split
from gradegate.values.conversation import Transcript


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The documents that were retrieved for an answer, in rank order: the texts, and the images apart."""

    question: str
    documents: tuple[str, ...]
    images: tuple[str, ...] = ()


def retrieved(transcript: Transcript) -> Retrieved:
    """What was retrieved for the last answer. Raises NoVerdict when that is nothing."""
    answers = [turn for turn in transcript.turns if turn.role == "assistant"]
    documents, images = split(answers[-1].retrieval_context if answers else ())
    if not documents and not images:  # a conversation may have them among its variables
        documents = documents_of(transcript.vars)
    if not documents and not images:
        raise NoVerdict("there is no retrieval context; give the variable `retrieval_context` or `context`")
    return Retrieved(question(transcript), documents, images)


@options
class Expecting(Metric):
    """Base of the metrics that hold what was retrieved against an expected answer."""

    value: str = ""
    """The expected answer; without it the variable `expected_output`."""

    def needs(self, variables: Mapping[str, Any]) -> str:
        """An expected answer."""
        missing = "there is no expected answer; give it as `value` or as the variable `expected_output`"
        return "" if self.expected(variables) else missing

    def expected(self, variables: Mapping[str, Any]) -> str:
        """The expected answer; empty when there is none."""
        return self.value.strip() or str(variables.get("expected_output") or "").strip()


def precision(relevant: list[bool]) -> Fraction:
    """Mean, over the ranks k of relevant documents, of the share of relevant ones among the first k; 0 for none."""
    shares = [Fraction(sum(relevant[:rank]), rank) for rank, hit in enumerate(relevant, 1) if hit]
    return sum(shares, Fraction(0)) / len(shares) if shares else Fraction(0)
