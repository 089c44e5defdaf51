from support.fake_llm import FakeLlm


def test_a_failing_rubric_blocks_with_the_graders_reason(gate, llm: FakeLlm):
    llm.reply = lambda path, body: '{"reason": "it is rude", "pass": false, "score": 0.1}'
    ran = gate(
        {
            "prompts": ["{{text}}"],
            "providers": ["echo"],
            "defaultTest": {"options": {"provider": llm.spec()}},
            "tests": [{"vars": {"text": "go away"}, "assert": [{"type": "llm-rubric", "value": "is polite"}]}],
        }
    )
    assert (ran.code, ran.results["outcome"]) == (1, "blocked")
    assert ran.grades[0]["reason"] == "it is rude"
    assert ran.grades[0]["source"] == {"file": "promptfooconfig.yaml", "line": 16}
