"""No reply keeps a reader busy: while a pattern tries its ways, the process heeds no signal and no deadline."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import Unreadable
from gradegate.grading.metrics import verdicts
from gradegate.grading.reading import echo, lists, questions
from gradegate.grading.reading.answer import parse
from support.readers import READERS

FORMS: dict[str, Callable[[str], object]] = {
    **{form: (lambda text, read=read: read(parse(text))) for form, read in READERS.items()},  # type: ignore[misc]
    "texts": lambda text: lists.texts(parse(text), "claims"),
    "question": lambda text: questions.question(parse(text)),
    "listed": lambda text: verdicts.listed(parse(text)),
    "echo": lambda text: echo.stands_in("C", READERS["letter"], [text]),
}
# What is repeated, and what stands around it: where a form takes it for a reason, a value, a line, a fence or a thought.
UNITS = (
    *(" ", "\n", "\t", " \n", '"', "'", "`", "\\", "(", "[", "{", "<", "~", "*", "_", "-", ".", ";", ":", "|", "#", "$", "“", "«", "…"),
    *("0", "1.", "1/", "a", "é", "不", "\u200b", "\u202e", "yes ", "no\n", "y ", "(A)", "A) ", "B: ", "a:", "a-", "is ", "I ", "not "),
    *('{"', '{"a":', '{"a":1}', '{"a":"', "{'a':", "[[", "[{", "/*", "//", "# ", "</", "<a ", "<think>", "</think>", "~~", "~~a", "```"),
    *("<!--", "&lt;", "&#0", "\\u003c", '\\"', "<|", "<                   ", "attributed ", "[Attributed]\n", "Verdict: yes ", "the answer is "),
    *("score: 1 ", "out of ", "because ", "wait ", "if ", "1. a\n", "- a\n", "| a ", "> a\n", "a? ", "a. ", "“a", "(a", "a\t", "\x00", "++"),
)  # fmt: skip
AROUND = (
    ("", ""),
    ("(C) ", " x"),
    ("", "\n(C)"),
    ('{"reason": "', '", "pass": true, "score": 1, "verdict": "yes", "category": "C", "index": 1}'),
    ('{"a": 1}', '{"pass": true, "score": 1, "verdict": "yes"}'),
    ("```", "x"),
    ("Final verdict for each statement in order: ", " Yes. Yes."),
    ("1. ", " [Attributed]"),
)
LONG = 200_000  # characters
SHORT = 19_000  # of a line and of a reason that are still read
MOST = 10.0  # seconds of any one reply: far more than it takes, far less than one that backtracks


def seconds(form: str, text: str) -> float:
    started = time.process_time()
    with contextlib.suppress(Unreadable):
        FORMS[form](text)
    return time.process_time() - started


def repeated(unit: str, around: tuple[str, str], length: int) -> str:
    return around[0] + unit * (length // len(unit)) + around[1]


@pytest.mark.parametrize("form", FORMS)
def test_a_long_reply_is_read_in_time(form: str) -> None:
    for number, unit in enumerate(UNITS):
        around = AROUND[number % len(AROUND)]
        assert seconds(form, repeated(unit, around, SHORT)) < MOST, (unit, around)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_no_reply_takes_longer_than_its_length_allows(form: str) -> None:
    for number, unit in enumerate(UNITS):
        around = AROUND[(number + 3) % len(AROUND)]
        short, long = (seconds(form, repeated(unit, around, length)) for length in (SHORT, LONG))
        assert long < MOST, (unit, around)
        # A little over ten times the length; a pattern that tries its ways would take a hundred times as long.
        assert long < 40 * short + 0.5, (unit, around, short, long)


@given(st.text(st.characters(), max_size=300) | st.lists(st.sampled_from(UNITS), max_size=60).map("".join))
def test_whatever_is_written_is_read_or_unreadable(text: str) -> None:
    for form in FORMS:
        seconds(form, text)  # nothing but Unreadable is caught
