"""Hidden characters are written out, and texts are cut to what is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.reporting.visible import clip, encodable, one_line, visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb\rc", "a\nb\\x0dc"),
        ("\x00\x1b[0m\x7f\x85", "\\x00\\x1b[0m\\x7f\\x85"),
        ("\u202eabc\u2066\u200b\ufeff", "\\u202eabc\\u2066\\u200b\\ufeff"),
        ("\ud800x\udfff", "\\ud800x\\udfff"),
        ("\U000e0041", "\\U000e0041"),
        ("می\u200cخواهم 👩\u200d🔬 ❤\ufe0f", "می\u200cخواهم 👩\u200d🔬 ❤\ufe0f"),
        ("a\u200db @\ufe0fc", "a\\u200db @\\ufe0fc"),
    ],
)
def test_what_hides_is_written_out(text: str, seen: str) -> None:
    assert visible(text) == seen


@given(st.text(st.characters()))
def test_what_is_visible_stays_and_can_be_written(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    visible(text).encode()
    encodable(text).encode()


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc… (1 more character)"),
        ("ab  " + "x" * 2000, 4, "ab… (2,000 more characters)"),
    ],
)
def test_a_cut_says_how_much_is_gone(text: str, limit: int, cut: str) -> None:
    assert clip(text, limit) == cut


@pytest.mark.parametrize(
    ("text", "line"),
    [("  a\n\n b\u2028c ", "a b c"), ("abcdefgh", "abcde…"), ("x" * 10**7, "xxxxx…"), ("", ""), (" " * 500 + "a", "…")],
)
def test_a_line_is_one_line(text: str, line: str) -> None:
    assert one_line(text, 5) == line
