"""Any value becomes data, text that people can read, or pieces that differ; hidden characters are written out."""

import datetime as dt
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gradegate.files.documents import encodable
from gradegate.reports.format.escape import clip, one_line, outline, spread_values, visible
from gradegate.reports.view.differences import Piece, compare_words
from gradegate.results.encoding import finite_or_none, to_plain_data
from gradegate.results.rows import format_value
from support.each import each, table

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary() | st.dates(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()) | st.integers(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_any_value_is_valid_json(value: Any) -> None:
    text = json.dumps(to_plain_data(value), allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode()) == to_plain_data(value)
    format_value(value).encode("utf-8", "surrogatepass")


@each(
    ("value", "data"),
    [
        ({1: (2, {3})}, {"1": [2, [3]]}),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (10**400, hex(10**400)),
        ("\ud800", "\\ud800"),
        (b"\xffok", "\\xffok"),
        (dt.date(2026, 11, 2), "2026-11-02"),
        (True, True),
    ],
)
def test_what_json_does_not_know_becomes_text(value: Any, data: Any) -> None:
    assert to_plain_data(value) == data


def test_data_without_end_is_cut() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert json.dumps(to_plain_data(endless)).count("[") == 40


@each(("number", "kept"), [(0.5, 0.5), (None, None), (float("nan"), None), (float("inf"), None)])
def test_only_finite_numbers_are_numbers(number: float | None, kept: float | None) -> None:
    assert finite_or_none(number) == kept


def test_a_mapping_reads_as_lines() -> None:
    assert spread_values({"a": "x", "b": "1\n2", "c": [1], "d": None}) == "a: x\nb:\n1\n2\nc:\n[\n  1\n]\nd: "


def test_data_reads_as_an_outline() -> None:
    data = {
        "details": [{"claim": "a", "reason": "1\n2"}, {"claim": "b"}],
        "texts": ["x", "two\nlines"],
        "few": ["one", "two"],
        "nothing": [],
        "absent": None,
        "share": 0.5,
        "deep": {"votes": {"first": ["true", "idk"]}},
        "long": "1\n2",
    }
    assert (
        outline(data, 1000)
        == """details:
  - claim: a
    reason:
      1
      2
  - claim: b
texts:
  - x
  - two
    lines
few: one, two
nothing: none
absent: none
share: 0.5
deep:
  votes:
    first: true, idk
long:
  1
  2"""
    )


@each("value", [{}, [], {"a": float("nan")}, {"": {"b": [[], [[1]]]}}, [None, "", False, 0]])
def test_an_outline_holds_every_text(value: Any) -> None:
    assert isinstance(outline(value, 1000), str)


def test_an_outline_ends_at_its_limit_and_says_so() -> None:
    data = {"texts": ["ten letters"] * 50, "text": "x" * 5000}
    whole = outline(data, 10_000)
    assert whole.count("ten letters") == 50
    assert whole.endswith("x" * 5000)
    short = outline(data, 300)
    assert len(short) <= 300
    assert short.splitlines()[-1] == "… (the rest is left out)"
    (line,) = outline({"text": "x" * 5000}, 300).splitlines()
    assert line.endswith("more characters)")
    assert len(line) <= 300


# --- visible --------------------------------------------------------------------------------------------------


@each(("text", "seen"), table(__file__, "what_hides_is_written_out"))
def test_what_hides_is_written_out(text: str, seen: str) -> None:
    assert visible(text) == seen


@given(st.text(st.characters()))
def test_what_is_visible_stays_and_can_be_written(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    visible(text).encode()
    encodable(text).encode()


@each(
    ("text", "limit", "cut"),
    [("abc", 3, "abc"), ("abcd", 3, "abc… (1 more character)"), ("ab  " + "x" * 2000, 4, "ab… (2,000 more characters)")],
)
def test_a_cut_says_how_much_is_gone(text: str, limit: int, cut: str) -> None:
    assert clip(text, limit) == cut


@each(("text", "line"), [("  a\n\n b\u2028c ", "a b c"), ("abcdefgh", "abcde…"), ("x" * 10**7, "xxxxx…"), ("", ""), (" " * 500 + "a", "…")])
def test_a_line_is_one_line(text: str, line: str) -> None:
    assert one_line(text, 5) == line


# --- differences ----------------------------------------------------------------------------------------------
WORDS = st.lists(st.sampled_from(["a", "b", "c", "\n", "  ", "d."]), max_size=30).map(" ".join)


def marked(expected: str, got: str) -> tuple[list[str], list[str]]:
    found = compare_words(expected, got)
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
    assert compare_words(expected, got) is None


@given(WORDS, WORDS)
def test_the_pieces_are_the_texts(expected: str, got: str) -> None:
    found = compare_words(expected, got)
    if found is not None:
        assert "".join(piece.text for piece in found.expected) == expected
        assert "".join(piece.text for piece in found.got) == got
        assert same(found.expected) == same(found.got)


def same(pieces: tuple[Piece, ...]) -> list[str]:
    return " ".join(piece.text for piece in pieces if not piece.differs).split()
