"""Which words differ: whole texts in pieces, and nothing for texts that cannot be compared."""

from hypothesis import given
from hypothesis import strategies as st

from gradegate.reporting.case_view import Piece, difference
from support.each import each

WORDS = st.lists(st.sampled_from(["a", "b", "c", "\n", "  ", "d."]), max_size=30).map(" ".join)


def marked(expected: str, got: str) -> tuple[list[str], list[str]]:
    found = difference(expected, got)
    assert found is not None
    return [it.text for it in found.expected if it.differs], [it.text for it in found.got if it.differs]


def test_words_that_are_other_ones_are_marked_on_both_sides() -> None:
    assert marked("the red big house", "the blue big house") == (["red"], ["blue"])


def test_words_that_are_missing_are_marked_on_one_side() -> None:
    assert marked("open from nine to five", "open from nine") == (["to five"], [])


@each(
    ("expected", "got"),
    [
        ("the same", "the same"),
        ("Answers in at most ten words", "Salem, as you know"),
        ("", "something"),
        ("word " * 301, "word " * 300),
        ("a " * 200, "a " * 199),  # every word is like every other: it would take long, and say little
        ("x" * 100_000, "x" * 99_999),
    ],
)
def test_what_cannot_be_compared_is_not(expected: str, got: str) -> None:
    assert difference(expected, got) is None


@given(WORDS, WORDS)
def test_the_pieces_are_the_texts(expected: str, got: str) -> None:
    found = difference(expected, got)
    if found is not None:
        assert "".join(piece.text for piece in found.expected) == expected
        assert "".join(piece.text for piece in found.got) == got
        assert same(found.expected) == same(found.got)


def same(pieces: tuple[Piece, ...]) -> list[str]:
    return " ".join(piece.text for piece in pieces if not piece.differs).split()
