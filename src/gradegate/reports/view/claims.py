"""Reads the claims in the evidence of a grader, and finds the sentence of the sources that is most like each.

Evidence is read by its shape: lists of mappings with a text and a verdict. No grader says which sentence a claim was checked
against. The nearest sentence by its words is shown for people, and decides nothing.
"""

import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gradegate.results.grades import Grade
from gradegate.results.rows import Row
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject, replace

_MOST_CLAIMS = 40  # of a grade
_MOST_SENTENCES = 200  # that claims are compared with
_MOST_SOURCES = 100_000  # characters of the sources that are read
_LEAST_NEAR = 0.34  # share of a claim's words that the nearest sentence must have
_SOURCES = ("retrieval_context", "context")  # variables that contain documents
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w{2,}")


class ClaimVerdict(enum.Enum):
    """What a grader says of a claim, in the order in which reports list claims."""

    NO = "contradicted"
    UNKNOWN = "not verified"
    YES = "holds"


# The keys under which graders write a claim and its verdict, and the words of a verdict.
_CLAIM_KEYS = ("claim", "statement", "sentence")
_VERDICT_KEYS = ("verdict", "supported", "attributed", "outcome")
_VERDICTS: Mapping[Any, ClaimVerdict] = {
    **dict.fromkeys(("yes", "true", True), ClaimVerdict.YES),
    **dict.fromkeys(("no", "false", False), ClaimVerdict.NO),
    **dict.fromkeys(("idk", "tie", "unknown"), ClaimVerdict.UNKNOWN),
}
# Lists with a name that is the verdict on all their claims.
_VERDICTS_OF_LISTS = {
    "contradicted": ClaimVerdict.NO,
    "false_details": ClaimVerdict.NO,
    "ambiguous": ClaimVerdict.UNKNOWN,
    "unknown_details": ClaimVerdict.UNKNOWN,
}


class Claim(FrozenStruct):
    """A claim with its verdict. ``nearest`` is the most similar sentence of the sources, if one is similar enough."""

    text: str
    verdict: ClaimVerdict
    reason: str = ""
    nearest: str = ""
    turn: int = 0  # the number of the message with the claim, 0 if it is not known


def grade_claims(row: Row, grade: Grade) -> list[Claim]:
    """The claims in the evidence of a grade, contradicted ones first."""
    # A claim may be in several lists. The first decides, and the first reason is kept.
    claims: dict[str, Claim] = {}
    for claim in _read_claims(grade.evidence):
        first = claims.get(claim.text, claim)
        claims[claim.text] = replace(first, reason=first.reason or claim.reason)
        if len(claims) > _MOST_CLAIMS:
            break
    if not claims:
        return []

    order = list(ClaimVerdict)
    shown_claims = list(claims.values())[:_MOST_CLAIMS]
    shown_claims.sort(key=lambda claim: order.index(claim.verdict))
    sentences = {sentence: _distinct_words(sentence) for sentence in _source_sentences(row, grade)}
    return [
        replace(claim, nearest=_nearest_sentence(claim.text, sentences)) for claim in shown_claims
    ]


# --- claims -------------------------------------------------------------------------------------------------------------


def _read_claims(evidence: JsonObject) -> Iterator[Claim]:
    for key, items in evidence.items():
        if not isinstance(items, list | tuple):
            continue
        for item in items:
            claim = _read_claim(key, item) if isinstance(item, Mapping) else None
            if claim:
                yield claim


def _read_claim(list_name: str, item: JsonObject) -> Claim | None:
    """The claim in an item of a list. None for an item without a text or a verdict."""
    text = _first_of_type(item, _CLAIM_KEYS, str)
    word = _first_of_type(item, _VERDICT_KEYS, (str, bool))
    verdict = _VERDICTS.get(word) or _VERDICTS_OF_LISTS.get(list_name)
    if not text or not text.strip() or not verdict:
        return None

    reason = item.get("reason")
    turn = item.get("turn")
    return Claim(
        text.strip(),
        verdict,
        reason if isinstance(reason, str) else "",
        turn=turn if type(turn) is int else 0,
    )


def _first_of_type(item: JsonObject, keys: Sequence[str], types: Any) -> Any:
    """The first value of one of the types under these keys; None if there is none."""
    for key in keys:
        if isinstance(item.get(key), types):
            return item[key]
    return None


# --- sources ------------------------------------------------------------------------------------------------------------


def _source_sentences(row: Row, grade: Grade) -> list[str]:
    """What the grader took from the documents, or the sentences of the documents. Each once."""
    texts = grade.evidence.get("truths")
    if not isinstance(texts, list | tuple) or not texts:
        texts = _documents(row)

    sentences: dict[str, None] = {}
    room = _MOST_SOURCES
    for text in texts:
        if not isinstance(text, str):
            continue
        for sentence in _SENTENCE_END.split(text[:room]):
            sentences[sentence.strip()] = None
        room -= len(text)
        if room <= 0 or len(sentences) > _MOST_SENTENCES:
            break
    sentences.pop("", None)
    return list(sentences)[:_MOST_SENTENCES]


def _documents(row: Row) -> list[Any]:
    """The documents of the conversation and of the variables. A variable may contain anything."""
    documents: list[Any] = []
    for turn in row.turns:
        documents += turn.retrieval_context
    for name in _SOURCES:
        value = row.vars.get(name)
        if isinstance(value, str):
            documents.append(value)
        elif isinstance(value, Sequence):
            documents += value
    return documents


def _nearest_sentence(claim: str, sentences: Mapping[str, frozenset[str]]) -> str:
    """The sentence that has most words of a claim. Empty if no sentence has enough of them.

    ``sentences`` has the words of each sentence.
    """
    words = _distinct_words(claim)
    nearest = ""
    most = _LEAST_NEAR
    for sentence, sentence_words in sentences.items():
        share = len(words & sentence_words) / max(1, len(words))
        if share > most:
            nearest = sentence
            most = share
    return nearest


def _distinct_words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(excerpt(text, 4000).lower()))
