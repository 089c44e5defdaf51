"""Which words of an expected and of a given text differ; bounded, since both may be of any length."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

_WORDS = 300  # of each text; what is longer is not compared
_PAIRS = 3000  # of equal words: what the comparison takes grows with them
_ALIKE = 0.4  # of the words are in both: below, every word would be marked, which says nothing
_WORD = re.compile(r"\s*\S+|\s+$")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some words in a row; ``differs`` where the other text does not have them there."""

    text: str
    differs: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """Both texts in pieces that, joined, are the texts."""

    expected: tuple[Piece, ...]
    got: tuple[Piece, ...]


def difference(expected: str, got: str) -> Difference | None:
    """The words that differ; None for equal texts, for long ones and for those that have too little in common."""
    if expected == got or max(len(expected), len(got)) > 20 * _WORDS:
        return None
    left, right = _WORD.findall(expected), _WORD.findall(got)
    plain = [word.strip() for word in left], [word.strip() for word in right]
    if max(map(len, plain)) > _WORDS or not _comparable(*plain):
        return None
    steps = SequenceMatcher(None, *plain, autojunk=False).get_opcodes()
    ours = _pieces(left, [(step != "equal", start, end) for step, start, end, _, _ in steps])
    theirs = _pieces(right, [(step != "equal", start, end) for step, _, _, start, end in steps])
    return Difference(tuple(ours), tuple(theirs))


def _comparable(left: list[str], right: list[str]) -> bool:
    here, there = Counter(left), Counter(right)
    pairs = sum(count * there[word] for word, count in here.items())
    alike = 2 * sum((here & there).values()) / max(1, len(left) + len(right))
    return alike >= _ALIKE and pairs <= _PAIRS


def _pieces(words: list[str], spans: list[tuple[bool, int, int]]) -> Iterator[Piece]:
    for differs, start, end in spans:
        text = "".join(words[start:end])
        space = text[: len(text) - len(text.lstrip())] if differs else ""  # no gap is marked, only words
        yield from [Piece(space, differs=False)] if space else []
        yield from [Piece(text[len(space) :], differs)] if text[len(space) :] else []
