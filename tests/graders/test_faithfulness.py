import pytest

from support.conversations import Script, config
from support.each import table
from support.fake_llm import FakeLlm


def answered(documents=("doc1", "doc2"), **assertion) -> dict:
    return {
        "vars": {"input": "q", "retrieval_context": list(documents)},
        "options": {"disableVarExpansion": True},
        "providerOutput": "a1",
        "assert": [{"type": "faithfulness", **assertion}],
    }


@pytest.mark.parametrize(("options", "score", "outcome"), table(__file__, "the_share_of_claims_that_hold_in_three_calls"))
def test_the_share_of_claims_that_hold_in_three_calls(gate, llm: FakeLlm, options, score, outcome):
    llm.reply = Script(claims=lambda text: ["c1", "c2", "c3", "c4"], words={"c3": "no", "c4": "idk"})
    grade = gate(config(llm, answered(config=options))).grades[0]
    assert (grade["score"], grade["outcome"]) == (score, outcome)
    assert '"c3" is contradicted (about c3)' in grade["reason"]
    assert llm.reply.calls == {"truths": 1, "claims": 1, "verdicts": 1}


def test_an_answer_that_claims_nothing_holds_and_that_is_said(gate, llm: FakeLlm):
    llm.reply = Script(claims=lambda text: [])
    grade = gate(config(llm, answered())).grades[0]
    assert (grade["score"], grade["reason"]) == (1.0, "the answer claims nothing")


def test_without_documents_nothing_can_be_told(gate, llm: FakeLlm):
    grade = gate(config(llm, answered(documents=()))).grades[0]
    assert grade["outcome"] == "error"
    assert "there is no retrieval context" in grade["reason"]
    assert llm.requests == []


@pytest.mark.parametrize("reply", ['{"verdicts": []}', "{}", "fine", '{"verdicts": [{"verdict": "yes"}]}'])
def test_another_number_of_verdicts_is_an_error(gate, llm: FakeLlm, reply):
    llm.reply = Script(claims=lambda text: ["c1", "c2"], replies={"verdicts": reply})
    assert gate(config(llm, answered())).grades[0]["outcome"] == "error"


def test_documents_in_the_answer(gate, llm: FakeLlm):
    llm.reply = Script(claims=lambda text: ["c1"])
    test = answered(documents=(), contextTransform="JSON.parse(output).found")
    gate(config(llm, {**test, "providerOutput": '{"text": "a1", "found": ["from the answer"]}'}))
    assert "from the answer" in dict(llm.reply.prompts)["truths"]


def test_own_prompts_for_each_step(gate, llm: FakeLlm):
    replies = {"LIST": '{"truths": ["t"]}', "TAKE": '{"claims": ["c"]}', "HOLD": '{"verdicts": [{"verdict": "no"}]}'}
    llm.reply = lambda path, body: replies[body["messages"][0]["content"][:4]]
    own = {"truths": "LIST {{documents}}", "claims": "TAKE {{answered}}", "verdicts": "HOLD {{claims}} {{truths}}"}
    grade = gate(config(llm, answered(rubricPrompt=own))).grades[0]
    assert (grade["outcome"], grade["score"]) == ("fail", 0.0)
    assert sorted(body["messages"][0]["content"] for body in llm.bodies) == ["HOLD c t", "LIST doc1\n\ndoc2", "TAKE a1"]
