"""A reply of any length and shape is read in bounded time: what cannot be read soon is refused by counting, not by waiting."""

import time

import pytest

from gradegate.errors import Unreadable
from gradegate.grading.reading.answer import LONGEST, parse
from support.readers import READERS, read

SHAPES = ['{"', '{"a":', '{"a": "', '{"a": "x" "', '{"a": “x} ', "{a: x}", '{"a": 1} ', "[", "<a>", "<think>", "</think>", "~~", "~", "<!--", "-\n", "- - ", " ", "\n", "\u200b",
          '"', "*", "`", "yes\n", "C\n", "1. Yes\n", "x [Attributed]\n", "a: b\n", "/*", "{/*", "9", "Paris is the capital of France. "]  # fmt: skip


def test_more_than_a_mebibyte_is_no_verdict():
    with pytest.raises(Unreadable, match="at most 1048576 are read"):
        parse("x" * (LONGEST + 1))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_reply_without_end_is_bounded(shape):
    reply = (shape * (LONGEST // len(shape)))[: LONGEST - 20]
    for form in ("pass", "letter", "marked", "in order"):
        started = time.process_time()
        read(form, reply + '\n{"pass": true}')
        read(form, reply)
        assert time.process_time() - started < 30  # some take milliseconds, none the minutes of a search that goes back


@pytest.mark.parametrize(("reply", "words"), [('{"' * 80_000, "too many"), ("-\n" * 60_000, "at most 20000"), ("<a>" * 3000, "too many"), ("{a: x} " * 30, "cannot be read")])  # fmt: skip
def test_what_is_too_tangled_is_refused_by_count(reply, words):
    with pytest.raises(Unreadable, match=words):
        READERS["letter"](parse(reply))
