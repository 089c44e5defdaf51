import pytest

from support.conversations import Replies, config, judged


def answered(context=("x1", "x2", "x3"), **assertion) -> dict:
    return {
        "vars": {"context": list(context)} if context else {},
        "options": {"disableVarExpansion": True},
        "providerOutput": "a",
        "assert": [{"type": "hallucination", **assertion}],
    }


@pytest.mark.parametrize(
    ("words", "score", "outcome"),
    [(("yes", "yes", "no"), 2 / 3, "pass"), (("no", "no", "yes"), 1 / 3, "fail"), (("yes",) * 3, 1.0, "pass")],
)
def test_the_share_of_texts_that_the_answer_agrees_with(gate, llm, words, score, outcome):
    llm.reply = Replies(hallucination=judged(*words))
    grade = gate(config(llm, answered())).grades[0]
    assert (grade["score"], grade["outcome"]) == (pytest.approx(score, abs=1e-6), outcome)


@pytest.mark.parametrize("reply", [judged("yes"), judged(), "{}", judged("yes", "yes", "idk")])
def test_a_verdict_for_each_text_or_none_at_all(gate, llm, reply):
    llm.reply = Replies(hallucination=reply)
    assert gate(config(llm, answered())).grades[0]["outcome"] == "error"


def test_the_texts_may_be_the_value_and_must_be_somewhere(gate, llm):
    llm.reply = Replies(hallucination=judged("yes", "yes"))
    assert gate(config(llm, answered(context=(), value=["y1", "y2"]))).code == 0
    assert "there is no context" in gate(config(llm, answered(context=()))).mistakes
