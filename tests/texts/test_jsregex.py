"""Expressions find what JavaScript finds: ``jsregex/expected.json`` was recorded from it by ``jsregex/record.js``."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.processes.evaluate import begin
from gradegate.texts import patterns
from support.each import table

RECORDED = json.loads((Path(__file__).parent / "jsregex" / "expected.json").read_text())


@pytest.fixture(autouse=True)
def _account():
    begin()


def finds(pattern: str, text: str) -> bool | None:
    try:
        patterns.check(pattern, javascript=True)
    except ValueError:
        return None
    return patterns.search(pattern, text, javascript=True)


def test_an_expression_finds_what_javascript_finds():
    assert [[pattern, text, finds(pattern, text)] for pattern, text, _ in RECORDED] == RECORDED


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
        patterns.check(pattern, javascript=True)


def test_a_backslash_before_a_letter_is_no_escape_of_it():
    assert finds(r"C:\\App", r"C:\App") is True


@pytest.mark.parametrize(
    ("pattern", "text", "said"),
    [("^(a|aa)+$", "a" * 100 + "b", "takes more than 2 seconds"), (r"(.*)*$\1z", "x" * 3_000_000, "needs more than 192 MiB")],
)
def test_an_expression_stays_within_the_limits(pattern, text, said):
    with pytest.raises(ValueError, match=said):
        patterns.search(pattern, text, javascript=True)


@given(st.text(alphabet="ab\\[]^$.*+?{}()|1,-dswSkux<>=!: ", max_size=12), st.text(max_size=6))
def test_any_text_is_an_expression_or_a_mistake(pattern, text):
    assert finds(pattern, text) in (True, False, None)
