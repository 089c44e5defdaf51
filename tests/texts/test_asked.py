import re

from hypothesis import given
from hypothesis import strategies as st

from gradegate.texts import engine
from gradegate.texts.template import asked_by, asks_for, stays

# What promptfoo looks for, as it writes it.
OPEN = re.compile(r"\{\{[^}\n]*$|\{%[^%\n]*$|\{#[^#\n]*$", re.MULTILINE)
USES = re.compile(r"\{[{%][^}]*\b_c\b")
TEXTS = st.lists(st.sampled_from(["{", "}", "%", "#", "a", " ", "\n", "_c", "|", "if "]), max_size=20).map("".join)


@given(TEXTS)
def test_open_braces_are_found_as_the_patterns_find_them(text):
    templated = re.search(r"\{[{%#]", text) is not None
    assert stays(text) == (templated and OPEN.search(text) is not None)


@given(TEXTS)
def test_a_name_is_found_as_the_pattern_finds_it(text):
    assert asks_for(text, "_c") == (USES.search(text) is not None)


@given(TEXTS)
def test_a_long_text_asks_for_the_same_as_a_short_one(text):
    assert asked_by(text + " " * 600) == engine.mentioned(text)
