"""Finds the words in which an answer differs from what was expected, so that a report can mark them."""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from gradegate.structs import FrozenStruct

_MOST_WORDS = 300  # of each text; longer texts are not compared
_MOST_PAIRS = 3000  # of equal words; the time of the comparison grows with them
# Share of the words that both texts have. Below it, nearly every word would be marked.
_LEAST_COMMON = 0.4
# A word with the gap before it, or the gap at the end: "a", "  cup", "\n".
_WORD_WITH_GAP = re.compile(r"\s*\S+|\s+$")


class Piece(FrozenStruct):
    """Consecutive words. ``differs``: the other text does not have them there."""

    text: str
    differs: bool


class Difference(FrozenStruct):
    """Two texts in pieces. The pieces of a text, joined, are the text."""

    expected: tuple[Piece, ...]
    got: tuple[Piece, ...]


def compare_words(expected: str, got: str) -> Difference | None:
    """Find the words that differ. None for equal texts, long texts, and texts with little in common."""
    if expected == got or max(len(expected), len(got)) > 20 * _MOST_WORDS:
        return None
    expected_words = _WORD_WITH_GAP.findall(expected)
    got_words = _WORD_WITH_GAP.findall(got)

    # Gaps do not count: a text may only be wrapped in another way.
    plain_expected = [word.strip() for word in expected_words]
    plain_got = [word.strip() for word in got_words]
    if not _are_comparable(plain_expected, plain_got):
        return None

    expected_pieces: list[Piece] = []
    got_pieces: list[Piece] = []
    matcher = SequenceMatcher(None, plain_expected, plain_got, autojunk=False)
    for step, start, end, got_start, got_end in matcher.get_opcodes():
        differs = step != "equal"
        expected_pieces += _join_words(expected_words[start:end], differs)
        got_pieces += _join_words(got_words[got_start:got_end], differs)
    return Difference(tuple(expected_pieces), tuple(got_pieces))


def _are_comparable(expected: Sequence[str], got: Sequence[str]) -> bool:
    """Whether two lists of words can be compared in little time, and have enough words in common."""
    if max(len(expected), len(got)) > _MOST_WORDS:
        return False
    expected_counts = Counter(expected)
    got_counts = Counter(got)
    common = (expected_counts & got_counts).total()
    share = 2 * common / max(1, len(expected) + len(got))
    pairs = sum(count * got_counts[word] for word, count in expected_counts.items())
    return share >= _LEAST_COMMON and pairs <= _MOST_PAIRS


def _join_words(words: Sequence[str], differs: bool) -> list[Piece]:
    """The words as one piece. A gap before words that differ is a piece of its own, which is not marked."""
    text = "".join(words)
    marked_text = text.lstrip() if differs else text
    gap = text.removesuffix(marked_text)
    pieces = []
    if gap:
        pieces.append(Piece(gap, False))
    if marked_text:
        pieces.append(Piece(marked_text, differs))
    return pieces
