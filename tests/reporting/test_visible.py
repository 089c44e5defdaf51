"""Hidden characters are written out, and texts are cut to what is shown."""

from hypothesis import given
from hypothesis import strategies as st

from gradegate.reporting.visible import clip, one_line, visible
from gradegate.results.mapping import encodable
from support.each import each, table


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
