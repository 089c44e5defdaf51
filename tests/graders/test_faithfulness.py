from support.conversations import config
from support.fake_llm import FakeLlm

FAITHFULNESS = {
    "vars": {"input": "q", "retrieval_context": ["doc1", "doc2"]},
    "options": {"disableVarExpansion": True},
    "providerOutput": "a1",
}


def test_own_prompts_for_each_step(gate, llm: FakeLlm):
    replies = {"LIST": '{"truths": ["t"]}', "TAKE": '{"claims": ["c"]}', "HOLD": '{"verdicts": [{"verdict": "no"}]}'}
    llm.reply = lambda path, body: replies[body["messages"][0]["content"][:4]]
    own = {"truths": "LIST {{documents}}", "claims": "TAKE {{answered}}", "verdicts": "HOLD {{claims}} {{truths}}"}
    grade = gate(config(llm, {**FAITHFULNESS, "assert": [{"type": "faithfulness", "rubricPrompt": own}]})).grades[0]
    assert (grade["outcome"], grade["score"]) == ("fail", 0.0)
    assert sorted(body["messages"][0]["content"] for body in llm.bodies) == ["HOLD c t", "LIST doc1\n\ndoc2", "TAKE a1"]
