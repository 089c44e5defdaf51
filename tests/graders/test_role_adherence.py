import pytest

from support.conversations import Replies, case, config, judged, turns

TALK = turns(("q1", "a1", ""), ("q2", "a2", ""), ("q3", "a3", ""))
ROLE = {"value": "a pirate"}


def test_the_share_of_messages_in_the_role(gate, llm):
    llm.reply = Replies(role_adherence=judged("yes", "no", "yes"))
    grade = gate(config(llm, case(TALK, "role-adherence", threshold=0.7, **ROLE))).grades[0]
    assert (grade["outcome"], grade["score"]) == ("fail", pytest.approx(2 / 3, abs=1e-6))
    assert "turn 4 breaks the role: r2" in grade["reason"]
    assert grade["turns"] == [4]
    assert len(llm.requests) == 1


@pytest.mark.parametrize("more", [ROLE, {"config": {"chatbot_role": "a pirate"}}])
def test_where_the_role_may_stand(gate, llm, more):
    llm.reply = Replies(role_adherence=judged("yes", "yes", "yes"))
    assert gate(config(llm, case(TALK, "role-adherence", **more))).code == 0
    assert "a pirate" in llm.reply.prompts[0][1]


def test_the_role_may_be_a_variable_and_must_be_somewhere(gate, llm):
    llm.reply = Replies(role_adherence=judged("yes", "yes", "yes"))
    test = {**case(TALK, "role-adherence"), "vars": {"chatbot_role": "a pirate"}}
    assert gate(config(llm, test)).code == 0
    assert "there is no role" in gate(config(llm, case(TALK, "role-adherence"))).mistakes


@pytest.mark.parametrize("reply", [judged("yes", "yes"), judged(), judged(*["yes"] * 4), judged("yes", "yes", "so-so")])
def test_a_verdict_for_each_message_or_none_at_all(gate, llm, reply):
    llm.reply = Replies(role_adherence=reply)
    assert gate(config(llm, case(TALK, "role-adherence", **ROLE))).grades[0]["outcome"] == "error"
