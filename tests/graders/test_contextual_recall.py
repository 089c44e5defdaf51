import pytest

from support.conversations import Replies, config, judged


def answered(**assertion) -> dict:
    return {
        "vars": {"retrieval_context": "d1", "expected_output": "One. Two. Three."},
        "providerOutput": "a",
        "assert": [{"type": "contextual-recall", **assertion}],
    }


@pytest.mark.parametrize(("words", "score"), [(("yes", "no", "yes"), 2 / 3), (("yes",), 1.0), (("no", "no"), 0.0)])
def test_the_share_of_sentences_in_the_documents(gate, llm, words, score):
    llm.reply = Replies(contextual_recall=judged(*words))
    grade = gate(config(llm, answered())).grades[0]
    assert grade["score"] == pytest.approx(score, abs=1e-6)
    assert len(llm.requests) == 1


@pytest.mark.parametrize("reply", [judged(), "{}", judged("yes", "perhaps"), "yes"])
def test_what_is_no_verdict(gate, llm, reply):
    llm.reply = Replies(contextual_recall=reply)
    assert gate(config(llm, answered())).grades[0]["outcome"] == "error"


def test_the_value_is_the_expected_answer_before_the_variable(gate, llm):
    llm.reply = Replies(contextual_recall=judged("yes"))
    gate(config(llm, answered(value="Four.")))
    assert "Four." in llm.reply.prompts[0][1]
    assert "One." not in llm.reply.prompts[0][1]
