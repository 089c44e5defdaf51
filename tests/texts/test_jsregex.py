"""Expressions find what JavaScript finds: ``jsregex/expected.json`` was recorded from it by ``jsregex/record.js``."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.bounded.begin import begin
from gradegate.texts import patterns
from gradegate.texts.jsregex import translated

RECORDED = json.loads((Path(__file__).parent / "jsregex" / "expected.json").read_text())


@pytest.fixture(autouse=True)
def _account():
    begin()


@pytest.mark.parametrize(("pattern", "text", "found"), RECORDED)
def test_an_expression_finds_what_javascript_finds(pattern, text, found):
    if found is None:
        with pytest.raises(ValueError, match=r"."):
            patterns.check_javascript(pattern)
    else:
        patterns.check_javascript(pattern)
        assert patterns.search_javascript(pattern, text) is found


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(?i)yes", "`(?i)` is no group of JavaScript's expressions: `[Aa]` is either letter"),
        ("(?P<n>a)", "`(?P<` is no group of JavaScript's expressions"),
        (r"\Ayes", r"`\A` is the letter A in JavaScript's expressions: write `^`"),
        (r"yes\Z", r"`\Z` is the letter Z in JavaScript's expressions: write `$`"),
        (r"\p{L}", r"`\p` is the letter p"),
        (r"[\p{L}]", r"`\p` is the letter p"),
        ("a++", "`+` at character 3 repeats nothing in JavaScript"),
    ],
)
def test_what_javascript_has_not_is_named(pattern, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        translated(pattern)


@given(st.text(alphabet="ab\\[]^$.*+?{}()|1,-dswSkux<>=!: ", max_size=12), st.text(max_size=6))
def test_any_text_is_an_expression_or_a_mistake(pattern, text):
    try:
        made = translated(pattern)
    except ValueError as e:
        assert str(e)  # noqa: PT017
        return
    try:
        assert isinstance(patterns.matches(made, text), bool)
    except ValueError as e:
        assert "is not a regular expression" in str(e)  # noqa: PT017
