import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import Unreadable
from gradegate.graders.closedqa import FORM
from support.each import table
from support.graded import Script, config, mistakes
from support.readers import read

TYPE = "model-graded-closedqa"


def graded(gate, llm, reply, kind=TYPE, **more):
    llm.reply = Script(reply)
    return gate(config(llm, {"type": kind, "value": "is brief", **more})).grades[0]


@pytest.mark.parametrize(("reply", "keys", "outcome", "score"), table(__file__, "yes_or_no"))
def test_yes_or_no(gate, llm, reply, keys, outcome, score):
    grade = graded(gate, llm, reply, **keys)
    assert (grade["outcome"], grade["score"]) == (outcome, score)


@pytest.mark.parametrize("kind", [TYPE, f"not-{TYPE}"])
@pytest.mark.parametrize(
    "reply",
    ["", "Maybe", "okaY", "Y because", "Y/N", "I would not say yes", '{"verdict": "maybe"}', '{"verdict": "yes"} {"verdict": "no"}'],
)
def test_neither_is_no_verdict(gate, llm, kind, reply):
    assert graded(gate, llm, reply, kind)["outcome"] == "error"


def test_what_came_before_the_verdict_is_the_reason(gate, llm):
    assert graded(gate, llm, "It has nine words.\nThat is brief.\nY")["reason"] == "It has nine words.\nThat is brief."


def test_a_value_is_needed(gate, llm):
    assert "has no `value`" in mistakes(gate(config(llm, {"type": TYPE})))


@given(st.text(st.characters(blacklist_characters="yYnN{")))
def test_text_without_the_letters_says_nothing(text):
    with pytest.raises(Unreadable):
        read(FORM, text)
