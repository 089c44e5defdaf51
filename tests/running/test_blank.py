"""What prints nothing, and what does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.running.transforms import is_blank

BLANK = [
    "",
    " \n\t\r\v\f",
    "\u00a0\u2003\u3000\u2028",  # spaces
    "\u200b\u200d\u2060\ufeff\u00ad\u061c\u180e\u202e",  # format characters
    "\u3164\uffa0\u115f\u1160",  # fillers of Hangul
    "\u2800\U0001d159\U00016fe4\U00013441",  # empty shapes
    "\u034f\u17b4\u17b5",
    "\ufe00\ufe0f\U000e0100\U000e01ef\U000e0041",  # variation selectors and tags
    "\u2065\U000e0fff\U0001bca0",  # ignorable, assigned or not
    "\x00\x07\x1b\x7f\x85",
    "\ue000\ufdd0\uffff",
    "\x1b[31m\x1b[0m",
    "\x1b]0;a title\x07 \x1b]8;;http://x.test\x1b\\",
    "\x1bPdata\x1b\\\x9b1;2m\x1b(B\x1bc",
    "\x1b]without an end",
]


@pytest.mark.parametrize("text", BLANK)
def test_what_prints_nothing_is_blank(text):
    assert is_blank(text)
    assert is_blank(text + " " + text)


SEEN = ["a", ".", "\u200b.", "\x1b[31mred\x1b[0m", "\x1b[31m.", "é", "日", "\u0301", "👍", "\ufffd", "```\n```", "<think>"]


@pytest.mark.parametrize("text", SEEN)
def test_what_prints_something_is_not(text):
    assert not is_blank(text)


@given(st.text(st.sampled_from("\x1b[]0;m\\\x07\x9b\u3164 a"), max_size=40))
def test_a_letter_outside_of_commands_is_seen(text):
    assert not is_blank(f"a{text}")


def test_long_texts_are_looked_at_in_a_moment():
    for text in ("\x1b" * 2_000_000, "\x1b]" * 1_000_000, "\x1b[0" * 700_000, "\u3164" * 2_000_000):
        assert is_blank(text)
