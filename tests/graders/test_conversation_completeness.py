import pytest

from support.conversations import Replies, between, case, config, turns

TALK = turns(("book a table", "done", ""), ("and a taxi", "sorry", ""))


def test_the_share_of_intentions_that_were_satisfied(gate, llm):
    llm.reply = Replies(
        completeness_intentions={"intentions": ["a table", "a taxi"]},
        completeness_verdict=lambda user: {"reason": "turn 4", "verdict": "yes" if between(user, "intention") == "a table" else "no"},
    )
    grade = gate(config(llm, case(TALK, "conversation-completeness", threshold=0.6))).grades[0]
    assert (grade["outcome"], grade["score"]) == ("fail", 0.5)
    assert '"a taxi" was not satisfied: turn 4' in grade["reason"]
    assert len(llm.requests) == 3


def test_an_intention_that_is_listed_twice_is_asked_about_once_and_reported_twice(gate, llm):
    verdict = {"reason": "turn 2", "verdict": "no"}
    llm.reply = Replies(completeness_intentions={"intentions": ["a taxi", "a taxi"]}, completeness_verdict=verdict)
    grade = gate(config(llm, case(TALK, "conversation-completeness"))).grades[0]
    assert len(grade["evidence"]["intentions"]) == 2
    assert "0 of 2 intentions were satisfied" in grade["reason"]
    assert len(llm.requests) == 2


def test_a_user_who_wants_nothing_is_satisfied_and_that_is_said(gate, llm):
    llm.reply = Replies(completeness_intentions={"intentions": []}, completeness_verdict={})
    grade = gate(config(llm, case(TALK, "conversation-completeness"))).grades[0]
    assert (grade["score"], grade["reason"]) == (1.0, "the user wanted nothing")


@pytest.mark.parametrize(
    ("intentions", "verdict"), [("{}", "{}"), ({"intentions": ["x"]}, "{}"), ({"intentions": [1]}, {"verdict": "yes"})]
)
def test_what_is_no_verdict(gate, llm, intentions, verdict):
    llm.reply = Replies(completeness_intentions=intentions, completeness_verdict=verdict)
    assert gate(config(llm, case(TALK, "conversation-completeness"))).grades[0]["outcome"] == "error"
