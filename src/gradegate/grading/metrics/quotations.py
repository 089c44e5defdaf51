"""Sentences of a context, and which of them a text quotes."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence

from gradegate.access.hiding import excerpt
from gradegate.errors import Unreadable

# promptfoo's rule, and the full stops of Chinese and Japanese, which no blank follows.
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_NUMBER = re.compile(r"\(?\d+[.)]?$")
_BLANKED = str.maketrans(dict.fromkeys("\"'“”‘’«»`*_.,;:…。，；：、", " "))
_MOST_SEARCHES = 200  # of parts of units that are quoted out of order
_LEAST_WORDS = 3  # what is shorter is not a quotation, unless it is a whole sentence


def units(text: str) -> list[str]:
    """The lines where there are two or more, else the sentences: promptfoo's units of a context."""
    rows = [line.strip() for line in text.splitlines() if line.strip()]
    if len(rows) > 1:
        return rows
    pieces = (piece.strip() for piece in _END.split(text))
    return [piece for piece in pieces if piece and not _NUMBER.match(piece)]


class Quotations:
    """A context with its units, to hold quotations against; a text and its quotation may differ in case and punctuation."""

    def __init__(self, text: str, units: Sequence[str]) -> None:
        self._whole = f" {_folded(text)} "
        self._units = tuple(units)
        self._starts: list[int] = []
        self._searches = 0
        self._places: dict[str, int] = {}  # of whole units, which may be quoted in any order
        position = 0
        for unit in units:
            found = self._whole.find(f" {_folded(unit)} ", position)
            position = max(found, position)
            self._starts.append(position)
            if found >= 0:
                self._places.setdefault(_folded(unit), found)

    def holds(self, text: str) -> bool:
        """Whether a text of at least one word stands in the context, word for word."""
        folded = _folded(text)
        if not folded or folded in self._places:
            return bool(folded)
        self._searches += 1
        return self._searches <= _MOST_SEARCHES and f" {folded} " in self._whole

    def covered(self, quotations: Sequence[str]) -> tuple[str, ...]:
        """The units that are quoted, in whole or in part, each once. Raises Unreadable for what the context does not hold."""
        covered: dict[int, None] = {}
        start = searches = 0
        for text in dict.fromkeys(map(_folded, quotations)):
            place = self._places.get(text, -1)
            if text and place < 0:
                place = self._whole.find(f" {text} ", start)  # mostly, the order is the context's
            if text and place < 0:
                searches += 1  # each over the whole context
                place = self._whole.find(f" {text} ") if searches <= _MOST_SEARCHES else -1
            start = place
            first = max(0, bisect.bisect_right(self._starts, start) - 1)
            end = bisect.bisect_left(self._starts, start + len(text))
            whole_unit = any(_folded(unit) == text for unit in self._units[first:end])
            if start < 0 or not (whole_unit or len(text.split()) >= _LEAST_WORDS):
                raise Unreadable(f"{excerpt(text, 80)!r} is not quoted from the context; copy sentences word for word, and add nothing")
            covered |= dict.fromkeys(range(first, max(end, first + 1)))
        return tuple(self._units[number] for number in sorted(covered))


def _folded(text: str) -> str:
    """A text for comparison: lower case, one blank between words, without quotes, brackets and punctuation."""
    return " ".join(text.lower().translate(_BLANKED).split())
