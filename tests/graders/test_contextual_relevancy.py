import pytest

from support.conversations import Replies, between, config, judged

WORDS = {"d1": ("yes", "no"), "d2": ("yes", "yes", "yes"), "d3": ()}


def answered(*documents: str) -> dict:
    return {
        "vars": {"input": "q", "retrieval_context": list(documents)},
        "options": {"disableVarExpansion": True},
        "providerOutput": "a",
        "assert": [{"type": "contextual-relevancy"}],
    }


@pytest.mark.parametrize(
    ("documents", "score", "calls"), [(("d1", "d2"), 0.8, 2), (("d1", "d3"), 0.5, 2), (("d1", "d1", "d2"), 5 / 7, 2), (("d2",), 1.0, 1)]
)
def test_statements_are_pooled_over_documents(gate, llm, documents, score, calls):
    llm.reply = Replies(contextual_relevancy=lambda user: judged(*WORDS[between(user, "document")]))
    grade = gate(config(llm, answered(*documents))).grades[0]
    assert grade["score"] == pytest.approx(score, abs=1e-6)
    assert len(llm.requests) == calls


def test_documents_that_state_nothing_are_not_relevant_and_that_is_said(gate, llm):
    llm.reply = Replies(contextual_relevancy=judged())
    grade = gate(config(llm, answered("d3"))).grades[0]
    assert (grade["outcome"], grade["score"]) == ("fail", 0.0)
    assert "the documents state nothing" in grade["reason"]


@pytest.mark.parametrize("reply", ["{}", "none", judged("maybe")])
def test_what_is_no_verdict(gate, llm, reply):
    llm.reply = Replies(contextual_relevancy=reply)
    assert gate(config(llm, answered("d1"))).grades[0]["outcome"] == "error"
