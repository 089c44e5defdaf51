import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import Unreadable
from gradegate.graders.conversation_relevance import FORM
from support.each import table
from support.graded import Script, config, mistakes, models
from support.readers import read

TALK = [("Hi", "Hello!"), ("What is gravity?", "A force."), ("And magnetism?", "I like cheese.")]


def turns(talk=TALK):
    return [{"role": role, "content": text} for pair in talk for role, text in zip(("user", "assistant"), pair, strict=True)]


def talk(llm, *pairs, kind="conversation-relevance", **assertion):
    test = {"turns": turns(pairs or TALK), "assert": [{"type": kind, **assertion}], "options": {"provider": models(llm)}}
    return {"providers": ["echo"], "tests": [test]}


def last(asked):
    """Yes, but for an answer about cheese."""
    said = asked.rsplit("[assistant]", 1)[1]
    return '{"reason": "off topic", "verdict": "no"}' if "cheese" in said else '{"reason": "fits", "verdict": "yes"}'


def test_the_share_of_relevant_answers(gate, llm):
    llm.reply = Script(last)
    grade = gate(talk(llm)).grades[0]
    assert (grade["outcome"], grade["score"]) == ("pass", pytest.approx(2 / 3))
    assert grade["reason"] == "2 of 3 answers are relevant; not turn 6: off topic"
    assert len(llm.requests) == 3


@pytest.mark.parametrize(("size", "sees"), [(1, [False, False, False]), (2, [True, True, False]), (5, [True, True, True])])
def test_a_window_holds_so_many_exchanges(gate, llm, size, sees):
    llm.reply = Script(last)
    gate(talk(llm, config={"windowSize": size}))
    by_end = sorted(llm.prompts, key=lambda asked: ("cheese" in asked and 3) or ("A force" in asked and 2) or 1)
    assert ["Hello!" in asked for asked in by_end] == [True, *sees[1:]]


def test_a_single_answer_is_a_conversation_of_one(gate, llm):
    llm.reply = Script("Yes")
    assert gate(config(llm, {"type": "conversation-relevance"})).grades[0]["score"] == 1
    assert len(llm.requests) == 1


def test_the_turns_of_a_failure_are_those_off_topic(gate, llm):
    llm.reply = Script(last)
    assert gate(talk(llm, threshold=0.9)).grades[0]["turns"] == [6]
    assert gate(talk(llm, kind="not-conversation-relevance", threshold=0.9)).grades[0]["turns"] == []


def test_not_turns_the_score_round(gate, llm):
    llm.reply = Script(last)
    grade = gate(talk(llm, kind="not-conversation-relevance", threshold=0.7)).grades[0]
    assert (grade["outcome"], grade["score"]) == ("pass", pytest.approx(1 / 3))


@pytest.mark.parametrize("kind", ["conversation-relevance", "not-conversation-relevance"])
@pytest.mark.parametrize("reply", [*table(__file__, "no_verdict_on_one_turn_is_no_verdict"), (503, {})])
def test_no_verdict_on_one_turn_is_no_verdict(gate, llm, kind, reply):
    llm.reply = Script('{"verdict": "yes"}', reply)
    assert gate(talk(llm, kind=kind)).grades[0]["outcome"] == "error"


@pytest.mark.parametrize(("reply", "score"), [("Yes.", 1), ("**No**", 0), ({"verdict": "YES"}, 1), ("{verdict: 'no'}", 0)])
def test_verdicts_in_other_words(gate, llm, reply, score):
    llm.reply = Script(reply)
    assert gate(talk(llm)).grades[0]["score"] == score


def test_mistakes(gate, llm):
    for wrong in ({"windowSize": 0}, {"windowSize": "x"}, {"window": 3}):
        assert "`conversation-relevance`" in mistakes(gate(talk(llm, config=wrong)))


@given(st.text(st.characters(blacklist_characters="yYnN{")))
def test_text_without_the_letters_says_nothing(text):
    with pytest.raises(Unreadable):
        read(FORM, text)
