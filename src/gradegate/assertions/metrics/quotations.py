"""The units of a text, such as its sentences, and the units that a grader quotes word for word."""

import bisect
import re
from collections.abc import Sequence

from gradegate.errors import Unreadable
from gradegate.security.redaction import excerpt

# The end of a sentence in promptfoo, and the full stops of Chinese and Japanese, which no blank follows
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
# The number of a list item, which is no sentence: `3.`, `(3)`
_NUMBER = re.compile(r"\(?\d+[.)]?$")
_PUNCTUATION = str.maketrans(dict.fromkeys("\"'“”‘’«»`*_.,;:…。，；：、", " "))
# Searches of a whole context. Each costs time, and a grader could quote any number of texts.
_MAX_SEARCHES = 200
_MIN_WORDS = 3  # of a quotation that is not a whole unit


def split_units(text: str) -> list[str]:
    """The units of a text as in promptfoo: the lines if there are at least two, else the sentences."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1:
        return lines
    sentences = [sentence.strip() for sentence in _SENTENCE_END.split(text)]
    return [sentence for sentence in sentences if sentence and not _NUMBER.match(sentence)]


class QuotationFinder:
    """Finds the places of quotations in a context. A quotation may differ in case and punctuation."""

    def __init__(self, context: str, units: Sequence[str]) -> None:
        self._context = f" {_fold(context)} "
        self._units = tuple(units)
        self._searches = 0
        # Where each unit begins, in order. A unit that is not found begins where the one before it does.
        self._starts: list[int] = []
        # The first place of each folded unit, because whole units may be quoted in any order
        self._unit_places: dict[str, int] = {}

        position = 0
        for unit in units:
            folded = _fold(unit)
            place = self._find(folded, position)
            if place is not None:
                position = place
                self._unit_places.setdefault(folded, place)
            self._starts.append(position)

    def contains(self, text: str) -> bool:
        """Whether a text of at least one word is in the context, word for word."""
        folded = _fold(text)
        if not folded:
            return False
        if folded in self._unit_places:
            return True
        self._searches += 1
        return self._searches <= _MAX_SEARCHES and self._find(folded, 0) is not None

    def quoted_units(self, quotations: Sequence[str]) -> tuple[str, ...]:
        """The distinct units that are quoted, in whole or in part, in the order of the context.

        Raises Unreadable if a text is not in the context, or is shorter than a unit and than three words.
        """
        quoted_numbers = set[int]()
        searches = 0
        previous_place = 0
        for text in dict.fromkeys(map(_fold, quotations)):
            place = self._unit_places.get(text)
            if place is None and len(text.split()) >= _MIN_WORDS:
                # Most graders quote in the order of the context.
                place = self._find(text, previous_place)
                if place is None and searches < _MAX_SEARCHES:
                    searches += 1
                    place = self._find(text, 0)

            if place is None:
                raise Unreadable(
                    f"{excerpt(text, 80)!r} is not quoted from the context; copy sentences word for word, and add nothing"
                )
            quoted_numbers.update(self._unit_numbers(place, place + len(text)))
            previous_place = place
        return tuple(self._units[number] for number in sorted(quoted_numbers))

    def _find(self, text: str, start: int) -> int | None:
        """The first place of a folded text from ``start`` on. None if there is none."""
        place = self._context.find(f" {text} ", start)
        return None if place < 0 else place

    def _unit_numbers(self, start: int, end: int) -> range:
        """The numbers, from 0, of the units that a part of the context touches."""
        first = max(0, bisect.bisect_right(self._starts, start) - 1)
        behind = bisect.bisect_left(self._starts, end)
        return range(first, max(behind, first + 1))


def _fold(text: str) -> str:
    """A text for comparison: lower case, one blank between words, without quotation marks and punctuation."""
    return " ".join(text.lower().translate(_PUNCTUATION).split())
