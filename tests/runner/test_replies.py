"""Which ends of an answer are ends, which texts are texts, and what prints nothing: one rule, for live answers and recorded ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.conversation import Reply
from gradegate.errors import ProviderError
from gradegate.files.limits import MAX_BODY, READ
from gradegate.providers.api.chat_api import normalize_finish
from gradegate.runner import transforms
from gradegate.runner.transforms import is_blank
from support.each import each, table

ENDS = table(__file__, "ends")


@pytest.fixture(autouse=True)
def anew():
    READ.start_anew()


@each("word", [*ENDS["whole"].split(), *ENDS["spelled"]])
def test_known_words_end_an_answer_however_they_are_spelled(word):
    transforms.check_reply(Reply("hi", finish_reason=word), "app")


@each(("word", "meant"), table(__file__, "words_have_one_meaning"))
def test_words_have_one_meaning(word, meant):
    assert normalize_finish(word) == meant


@each("word", ENDS["filtered"].split())
def test_a_filter_gives_no_answer(word):
    with pytest.raises(ProviderError, match="a content filter stopped the answer"):
        transforms.check_reply(Reply("hi", finish_reason=word), "app")


@each("word", ENDS["broken"].split())
def test_any_other_word_is_said_and_is_no_end(word):
    with pytest.raises(ProviderError, match=f"did not finish its answer .finish reason {word.lower()}"):
        transforms.check_reply(Reply("hi", finish_reason=word), "app")


@each("text", ["", " \n", "\u3164", "\u2800", "\ufe0f", "\x1b[31m\x1b[0m"])
def test_what_nobody_sees_is_no_answer_unless_it_calls_tools(text):
    with pytest.raises(ProviderError, match="empty text"):
        transforms.check_reply(Reply(text), "app")
    transforms.check_reply(Reply(text, metadata={"tool_calls": [{"id": "1"}]}), "app")


def test_one_answer_has_a_limit():
    transforms.check_reply(Reply("x" * MAX_BODY), "app")
    with pytest.raises(ProviderError, match="more than 4 Mi characters"):
        transforms.check_reply(Reply("x" * (MAX_BODY + 1)), "app")


@each(("text", "blank"), [*((it, True) for it in table(__file__, "blank")), *((it, False) for it in table(__file__, "seen"))])
def test_what_prints_nothing_is_blank(text, blank):
    assert is_blank(text) is blank
    assert is_blank(text + " " + text) is blank


@given(st.text(st.sampled_from("\x1b[]0;m\\\x07\x9b\u3164 a"), max_size=40))
def test_a_letter_outside_of_commands_is_seen(text):
    assert not is_blank(f"a{text}")


def test_long_texts_are_looked_at_in_a_moment():
    for text in ("\x1b" * 2_000_000, "\x1b]" * 1_000_000, "\x1b[0" * 700_000, "\u3164" * 2_000_000):
        assert is_blank(text)
