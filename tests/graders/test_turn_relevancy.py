import pytest

from support.conversations import Replies, between, case, config, turns

THREE = turns(("q1", "a1", ""), ("q2", "a2", ""), ("q3", "a3", ""))


def verdict(user: str) -> dict:
    last = between(user, "conversation").splitlines()[-1]
    return {"reason": f"about {last}", "verdict": "no" if last == "a2" else "yes"}


@pytest.mark.parametrize(("size", "shown"), [(10, 3), (2, 2), (1, 1)])
def test_the_share_of_relevant_answers_one_call_each(gate, llm, size, shown):
    llm.reply = Replies(turn_relevancy=verdict)
    grade = gate(config(llm, case(THREE, "turn-relevancy", config={"window_size": size}))).grades[0]
    assert (grade["outcome"], grade["score"]) == ("pass", pytest.approx(2 / 3, abs=1e-6))
    assert grade["reason"] == "2 of 3 answers are relevant; turn 4 is not relevant: about a2"
    assert len(llm.requests) == 3
    assert max(user.count("user]") for _, user in llm.reply.prompts) == shown


@pytest.mark.parametrize("reply", ["", "yes", "{}", '{"verdict": "maybe"}', '{"verdict": "yes"} or {"verdict": "no"}', '{"verdict": null}'])
def test_what_is_no_verdict(gate, llm, reply):
    llm.reply = Replies(turn_relevancy=reply)
    assert gate(config(llm, case(THREE, "turn-relevancy"))).grades[0]["outcome"] == "error"
