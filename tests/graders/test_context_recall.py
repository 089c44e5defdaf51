import pytest

from support.each import table
from support.graded import Script, config, mistakes

CONTEXT = "The sky is blue. Grass is green."


def graded(gate, llm, reply, kind="context-recall", options=None, **more):
    llm.reply = Script(reply)
    variables = {"context": CONTEXT} | more.pop("variables", {})
    return gate(config(llm, {"type": kind, "value": "It is so. A cat, b and c.", **more}, options=options, **variables)).grades[0]


@pytest.mark.parametrize(("reply", "score"), table(__file__, "attributed_over_classified"))
def test_attributed_over_classified(gate, llm, reply, score):
    grade = graded(gate, llm, reply)
    assert (grade["outcome"], grade["score"]) == ("pass" if score >= 0.5 else "fail", pytest.approx(score))


@pytest.mark.parametrize("kind", ["context-recall", "not-context-recall"])
@pytest.mark.parametrize("reply", table(__file__, "no_mark_or_both_is_no_verdict"))
def test_no_mark_or_both_is_no_verdict(gate, llm, kind, reply):
    assert graded(gate, llm, reply, kind)["outcome"] == "error"


def test_not_turns_the_score_round(gate, llm):
    grade = graded(gate, llm, "- a [Attributed]\n- b [Not Attributed]\n- c [Not Attributed]", "not-context-recall")
    assert (grade["outcome"], grade["score"]) == ("pass", pytest.approx(2 / 3))


def test_the_grader_sees_the_chunks_and_the_expected_answer(gate, llm):
    grade = graded(gate, llm, "a. [Attributed]", options={"disableVarExpansion": True}, variables={"context": ["one", "two"]})
    assert grade["outcome"] == "pass"
    assert "one\n\ntwo" in llm.prompts[0]
    assert "It is so." in llm.prompts[0]


@pytest.mark.parametrize(("variables", "options", "words"), table(__file__, "a_context_that_is_none_is_a_mistake_at_its_line"))
def test_a_context_that_is_none_is_a_mistake_at_its_line(gate, llm, variables, options, words):
    llm.reply = Script("a [Attributed]")
    text = mistakes(gate(config(llm, {"type": "context-recall", "value": "v"}, options=options, **variables)))
    assert words in text
    assert "promptfooconfig.yaml:" in text
    assert llm.requests == []


def test_a_value_is_needed(gate, llm):
    assert "`context-recall` has no `value`" in mistakes(gate(config(llm, {"type": "context-recall"}, context="c")))
