import pytest

from support.conversations import Replies, case, config, turns

TALK = turns(("q1", "a1", ""))
STEPS = {"config": {"evaluation_steps": ["look", "decide"]}}


@pytest.mark.parametrize(
    ("score", "threshold", "expected", "outcome"),
    [(7, None, 0.7, "pass"), (4, None, 0.4, "fail"), (5, None, 0.5, "pass"), ("8.5", 0.9, 0.85, "fail"), (0, None, 0, "fail")],
)
def test_the_score_is_a_share_of_ten(gate, llm, score, threshold, expected, outcome):
    llm.reply = Replies(conversational_g_eval={"reason": "because", "score": score})
    more = {} if threshold is None else {"threshold": threshold}
    grade = gate(config(llm, case(TALK, "conversational-g-eval", **STEPS, **more))).grades[0]
    assert (grade["score"], grade["outcome"]) == (pytest.approx(expected), outcome)
    assert grade["reason"].endswith("because")
    assert len(llm.requests) == 1


def test_steps_are_asked_for_when_only_criteria_are_given(gate, llm):
    llm.reply = Replies(conversational_g_eval_steps={"steps": ["first look"]}, conversational_g_eval={"reason": "r", "score": 10})
    test = {**case(TALK, "conversational-g-eval", value="is polite"), "vars": {"scenario": "a shop"}}
    grade = gate(config(llm, test)).grades[0]
    assert (grade["score"], grade["evidence"]["steps_of_evaluation"]) == (1.0, ["first look"])
    asked = dict(llm.reply.prompts)
    assert "is polite" in asked["conversational_g_eval_steps"]
    assert "1. first look" in asked["conversational_g_eval"]
    assert "a shop" in asked["conversational_g_eval"]


def test_strict_mode_wants_perfection(gate, llm):
    llm.reply = Replies(conversational_g_eval={"reason": "r", "score": 9})
    more = {"config": {**STEPS["config"], "strict_mode": True}}
    grade = gate(config(llm, case(TALK, "conversational-g-eval", **more))).grades[0]
    assert (grade["score"], grade["outcome"], grade["threshold"]) == (0.0, "fail", 1)


@pytest.mark.parametrize(
    "reply", ["7", "{}", {"score": None}, {"score": 11}, {"score": -1}, {"score": "high"}, '{"score": 3} {"score": 4}']
)
def test_what_is_no_score(gate, llm, reply):
    llm.reply = Replies(conversational_g_eval=reply)
    assert gate(config(llm, case(TALK, "conversational-g-eval", **STEPS))).grades[0]["outcome"] == "error"


def test_without_criteria_there_is_nothing_to_judge(gate, llm):
    assert "there are no criteria" in gate(config(llm, case(TALK, "conversational-g-eval"))).mistakes
