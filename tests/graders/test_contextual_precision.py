import pytest

from support.conversations import Replies, config, judged
from support.each import table


def answered(kind="contextual-precision", documents=("d1", "d2", "d3"), variables=None, **assertion) -> dict:
    return {
        "vars": {"input": "q", "retrieval_context": list(documents), **({"expected_output": "e"} if variables is None else variables)},
        "options": {"disableVarExpansion": True},
        "providerOutput": "a",
        "assert": [{"type": kind, **assertion}],
    }


@pytest.mark.parametrize(("words", "score"), table(__file__, "relevant_documents_count_more_the_higher_they_stand"))
def test_relevant_documents_count_more_the_higher_they_stand(gate, llm, words, score):
    llm.reply = Replies(contextual_precision=judged(*words))
    grade = gate(config(llm, answered())).grades[0]
    assert grade["score"] == pytest.approx(score, abs=1e-6)
    assert grade["outcome"] == ("pass" if score >= 0.5 else "fail")


@pytest.mark.parametrize("reply", [judged("yes", "yes"), judged(), judged(*["yes"] * 4), judged("yes", "no", "idk"), "{}"])
def test_a_verdict_for_each_document_or_none_at_all(gate, llm, reply):
    llm.reply = Replies(contextual_precision=reply)
    assert gate(config(llm, answered())).grades[0]["outcome"] == "error"


def test_an_expected_answer_is_needed_and_documents_are(gate, llm):
    assert "there is no expected answer" in gate(config(llm, answered(variables={}))).mistakes
    grade = gate(config(llm, answered(documents=(), variables={}, value="e"))).grades[0]
    assert (grade["outcome"], llm.requests) == ("error", [])
