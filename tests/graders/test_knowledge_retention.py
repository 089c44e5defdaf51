import pytest

from support.conversations import Replies, between, case, config, turns

TALK = turns(("hello", "hi", ""), ("I am Ann", "welcome Ann", ""), ("what now?", "what is your name?", ""))


def facts(user: str) -> dict:
    return {"facts": ["the name is Ann"] if between(user, "message") == "I am Ann" else []}


def forgot(user: str) -> dict:
    asks = "your name" in between(user, "message")
    return {"reason": "asks for the name", "verdict": "yes" if asks else "no"}


def test_the_share_of_answers_that_forget_nothing(gate, llm):
    llm.reply = Replies(retention_facts=facts, retention_verdict=forgot)
    grade = gate(config(llm, case(TALK, "knowledge-retention"))).grades[0]
    assert (grade["outcome"], grade["score"]) == ("pass", 0.5)
    assert "turn 6 forgets what it was told: asks for the name" in grade["reason"]
    # The first answer had nothing to remember.
    assert (llm.reply.count("retention_facts"), llm.reply.count("retention_verdict")) == (3, 2)


def test_the_turns_of_a_failure_are_those_that_forget(gate, llm):
    llm.reply = Replies(retention_facts=facts, retention_verdict=forgot)
    assert gate(config(llm, case(TALK, "knowledge-retention"))).grades[0]["turns"] == []
    assert gate(config(llm, case(TALK, "knowledge-retention", threshold=0.8))).grades[0]["turns"] == [6]


def test_nothing_to_remember_is_said(gate, llm):
    llm.reply = Replies(retention_facts={"facts": []}, retention_verdict={})
    grade = gate(config(llm, case(TALK, "knowledge-retention"))).grades[0]
    assert (grade["score"], grade["reason"]) == (1.0, "the user told nothing that could be forgotten")


@pytest.mark.parametrize(("told", "verdict"), [("none", "{}"), ({"facts": ["x"]}, {"verdict": "idk"})])
def test_what_is_no_verdict(gate, llm, told, verdict):
    llm.reply = Replies(retention_facts=told, retention_verdict=verdict)
    assert gate(config(llm, case(TALK, "knowledge-retention"))).grades[0]["outcome"] == "error"
