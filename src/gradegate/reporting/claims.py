"""Claims that a grader found, each with its verdict and the sentence of the sources that it is most like.

What a grader keeps as evidence is read by its shape: lists of mappings with a text and a verdict. Of a claim no grader
says which sentence it was held against, so that the nearest by its words is shown: that is for people, and decides nothing.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gradegate.access.hiding import excerpt
from gradegate.values.result import Grade, Row

_TEXTS = ("claim", "statement", "sentence")
_VERDICTS = ("verdict", "supported", "attributed", "outcome")
_SOURCES = ("retrieval_context", "context")  # variables that hold documents
_MOST, _SENTENCES = 40, 200  # claims of a grade, sentences that they are held against
_LONGEST = 100_000  # characters of the sources that are looked at
_NEAR = 0.34  # of a claim's words are in a sentence that is shown beside it
_BREAK = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w{2,}")


class Holds(enum.Enum):
    """What a grader says of a claim."""

    YES = "holds"
    NO = "contradicted"
    UNKNOWN = "not verified"


_SAID: Mapping[Any, Holds] = {
    **dict.fromkeys(("yes", "true", True), Holds.YES),
    **dict.fromkeys(("no", "false", False), Holds.NO),
    **dict.fromkeys(("idk", "tie", "unknown"), Holds.UNKNOWN),
}
# Lists whose name is the verdict on all that they hold.
_LISTS = {"contradicted": Holds.NO, "false_details": Holds.NO, "ambiguous": Holds.UNKNOWN, "unknown_details": Holds.UNKNOWN}


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim with the verdict on it; ``near`` is the sentence that it is most like, empty where there is none.

    ``turn`` is the number of the message that it is from, 0 where that is not told.
    """

    text: str
    holds: Holds
    reason: str = ""
    near: str = ""
    turn: int = 0


def claims(row: Row, grade: Grade) -> list[Claim]:
    """The claims of a grade's evidence, those that do not hold first."""
    found: dict[str, Claim] = {}
    for claim in _found(grade.evidence):
        known = found.get(claim.text)
        found[claim.text] = replace(known, reason=known.reason or claim.reason) if known else claim
        if len(found) > _MOST:
            break
    if not found:
        return []
    sources = [(text, _words(text)) for text in _sentences(row, grade)]
    listed = sorted([*found.values()][:_MOST], key=lambda claim: [*Holds].index(claim.holds) or 9)
    return [replace(claim, near=_nearest(claim.text, sources)) for claim in listed]


def _found(evidence: Mapping[str, Any]) -> Iterator[Claim]:
    for key, items in evidence.items():
        for item in items if isinstance(items, list | tuple) else ():
            if isinstance(item, Mapping) and (claim := _claim(item, _LISTS.get(key))):
                yield claim


def _claim(item: Mapping[str, Any], named: Holds | None) -> Claim | None:
    text = next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), "").strip()
    said = next((_SAID.get(item[key]) for key in _VERDICTS if isinstance(item.get(key), str | bool)), None)
    holds, reason, turn = said or named, item.get("reason"), item.get("turn")
    if not text or holds is None:
        return None
    return Claim(text, holds, reason if isinstance(reason, str) else "", turn=turn if type(turn) is int else 0)


def _sentences(row: Row, grade: Grade) -> list[str]:
    """What the grader took from the documents, else the sentences of the documents themselves."""
    truths = grade.evidence.get("truths")
    texts = truths if isinstance(truths, list | tuple) and truths else _documents(row)
    found: dict[str, None] = {}
    left = _LONGEST
    for text in texts:
        if not isinstance(text, str):
            continue
        found |= dict.fromkeys(filter(None, map(str.strip, _BREAK.split(text[:left]))))
        left -= len(text)
        if left <= 0 or len(found) >= _SENTENCES:
            break
    return [*found][:_SENTENCES]


def _documents(row: Row) -> Iterator[str]:
    for turn in row.turns:
        yield from turn.retrieval_context
    for name in _SOURCES:
        value = row.vars.get(name)
        yield from [value] if isinstance(value, str) else value if isinstance(value, Sequence) else ()


def _nearest(claim: str, sources: Iterable[tuple[str, frozenset[str]]]) -> str:
    words = _words(claim)
    best, share = "", _NEAR
    for text, others in sources:
        alike = len(words & others) / max(1, len(words))
        if alike > share:
            best, share = text, alike
    return best


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(excerpt(text, 4000).lower()))
