"""Expressions find what JavaScript finds: ``jsregex/expected.json`` was recorded from it by ``jsregex/record.js``."""

import json
import re
from pathlib import Path

import pytest

from gradegate.sandbox.evaluate import LimitExceeded, reset_accounts
from gradegate.templating import regex as patterns
from support.each import table

RECORDED = json.loads((Path(__file__).parent / "jsregex" / "expected.json").read_text())


@pytest.fixture(autouse=True)
def new_accounts():
    reset_accounts()


def has_javascript_match(pattern: str, text: str) -> bool | None:
    try:
        patterns.check_pattern(pattern)
    except ValueError:
        return None
    return patterns.has_match(pattern, text, javascript=True)


def test_an_expression_finds_what_javascript_finds():
    assert [[pattern, text, has_javascript_match(pattern, text)] for pattern, text, _ in RECORDED] == RECORDED


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        *table(__file__, "what_javascript_has_not_is_a_mistake"),
        ("(.*)*" * 5000, "has more than 20,000 characters"),
        ("(" * 3000 + ")" * 3000, "too many captures"),
    ],
)
def test_what_javascript_has_not_is_a_mistake(pattern, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        patterns.check_pattern(pattern)


def test_a_backslash_before_a_letter_is_no_escape_of_it():
    assert has_javascript_match(r"C:\\App", r"C:\App") is True


@pytest.mark.parametrize(
    ("pattern", "text", "said"),
    [("^(a|aa)+$", "a" * 100 + "b", "takes more than 2 seconds"), (r"(.*)*$\1z", "x" * 3_000_000, "needs more than 192 MiB")],
)
def test_an_expression_stays_within_the_limits(pattern, text, said):
    with pytest.raises(ValueError, match=said):
        patterns.has_match(pattern, text, javascript=True)


# --- Python's own, in the worker --------------------------------------------------------------------------------


def test_patterns_find():
    assert patterns.has_match(r"\d+", "a12")
    assert not patterns.has_match(r"\d+", "a")
    assert patterns.match_texts("^a", ["ab", "ba", ""]) == [True, False, False]


@pytest.mark.parametrize("pattern", ["(", "[", "a{1,99999999999999999999}", "(?P<a", "(" * 3000 + ")" * 3000])
def test_what_is_no_pattern_is_refused(pattern):
    with pytest.raises((ValueError, LimitExceeded), match=r"expression|too deeply"):
        patterns.match_texts(pattern, ["a"])


def test_a_pattern_has_a_greatest_length():
    with pytest.raises(ValueError, match="has more than 20,000 characters"):
        patterns.check_pattern("a" * 30_000)


def test_a_pattern_that_backtracks_is_stopped():
    with pytest.raises(LimitExceeded, match="takes more than 2 seconds"):
        patterns.has_match("^(a|aa)+$", "a" * 100 + "b")
