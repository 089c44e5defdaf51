import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import Unreadable
from gradegate.graders.factuality import FORM
from support.each import table
from support.graded import Script, config, mistakes
from support.readers import read

SCORES = {"subset": 0.5, "superset": 0, "agree": 1, "disagree": 0.1, "differButFactual": -1}


def graded(gate, llm, reply, kind="factuality", options=None, **more):
    llm.reply = Script(reply)
    return gate(config(llm, {"type": kind, "value": "the reference", **more}, options=options)).grades[0]


@pytest.mark.parametrize("kind", ["factuality", "model-graded-factuality"])
@pytest.mark.parametrize(("letter", "score"), [("A", 1), ("B", 1), ("C", 1), ("D", 0), ("E", 1)])
def test_each_category_has_its_score(gate, llm, kind, letter, score):
    grade = graded(gate, llm, {"reason": "because", "category": letter}, kind)
    assert (grade["outcome"], grade["score"], grade["reason"]) == ("pass" if score else "fail", score, f"({letter}) because")


@pytest.mark.parametrize(("letter", "keys", "outcome", "score"), table(__file__, "scores_of_the_test_threshold_and_not"))
def test_scores_of_the_test_threshold_and_not(gate, llm, letter, keys, outcome, score):
    grade = graded(gate, llm, letter, options={"factuality": SCORES}, **keys)
    assert (grade["outcome"], grade["score"]) == (outcome, score)


@pytest.mark.parametrize("kind", ["factuality", "not-factuality"])
@pytest.mark.parametrize(
    "reply",
    ["", "F", "A or B", "I am not sure", '{"category": "F"}', '{"category": "A or B"}', '{"category": ""}', '{"category": 1}', '{"category": "agree"}',
     '{"category": "A"} {"category": "D"}', '{"reason": "none"}', "A better answer names the state."],
)  # fmt: skip
def test_no_category_is_no_verdict(gate, llm, kind, reply):
    assert graded(gate, llm, reply, kind)["outcome"] == "error"


def test_mistakes(gate, llm):
    assert "has no `value`" in mistakes(gate(config(llm, {"type": "factuality"})))
    for wrong in ({"subsets": 1}, {"subset": "x"}, {"subset": None}):
        assert "`factuality`" in mistakes(gate(config(llm, {"type": "factuality", "value": "v"}, options={"factuality": wrong})))


@given(st.text(st.characters(blacklist_characters="abcdeABCDE{")))
def test_text_without_one_of_the_letters_is_no_category(text):
    with pytest.raises(Unreadable):
        read(FORM, text)
