import pytest

from support.graded import Script, config, mistakes

CONTEXT = "The sky is blue. Grass is green."


def graded(gate, llm, reply, kind="context-recall", options=None, **more):
    llm.reply = Script(reply)
    variables = {"context": CONTEXT} | more.pop("variables", {})
    return gate(config(llm, {"type": kind, "value": "It is so. A cat, b and c.", **more}, options=options, **variables)).grades[0]


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("1. The sky is blue. [Attributed]\n2. Grass is red. [Not Attributed]", 0.5),
        ("a. [attributed]\nb! [NOT ATTRIBUTED]\n(cat) [Attributed]", 2 / 3),
        ("- a **[Attributed]**\n- b **[Not Attributed]**", 0.5),
        ("<think>a. [Not Attributed]</think>a. [Attributed]", 1),
        ({"verdicts": [{"sentence": "a", "reason": "r", "verdict": "attributed"}, {"verdict": "Not Attributed"}]}, 0.5),
        ('```json\n{"verdicts": [{"verdict": "attributed"}]}\n```', 1),
        ("x. [Not Attributed]", 0),
    ],
)
def test_attributed_over_classified(gate, llm, reply, score):
    grade = graded(gate, llm, reply)
    assert (grade["outcome"], grade["score"]) == ("pass" if score >= 0.5 else "fail", pytest.approx(score))


@pytest.mark.parametrize("kind", ["context-recall", "not-context-recall"])
@pytest.mark.parametrize(
    "reply",
    [
        "",
        "nothing to see",
        "All sentences are attributed.",
        "None of them can be attributed",
        "x [Attributed]",
        "x. [Attributed] [Not Attributed]",
        "x. [Unattributed] [Attributed]",
        "1. x [Attributed]\nDone.",
        "The following are wrong:\n1. x [Attributed]",
        "1. x: [Attributed]",
        "~~x.~~ [Attributed]",
        "I mark each sentence [Attributed] or [Not Attributed].\na [Attributed]",
        "a [Partially Attributed]",
        "a [Attributed] because 'x' says so",
        "Attributed:\n- a\n- b\nNot Attributed:\n- c",
        "[Attributed]:\n- a\n- b\n[Not Attributed]:\n- c",
        "a [Attributed to the context]",
        '{"verdicts": []}',
        '{"verdicts": [{"verdict": "partly"}]}',
        '{"verdicts": [{"sentence": "a"}]}',
        '{"verdicts": "attributed"}',
    ],
)
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


@pytest.mark.parametrize(
    ("variables", "options", "words"),
    [
        ({"context": None}, {}, "`context` is missing"),
        ({"context": ""}, {}, "`context` is empty"),
        ({"context": " \n"}, {}, "`context` is empty"),
        ({"context": {"a": "b"}}, {}, "`context` is missing"),
        ({"context": 7}, {}, "neither a text nor a list of texts"),
        ({"context": ["a", ""]}, {"disableVarExpansion": True}, "holds an empty text"),
        ({"context": ["a", 7]}, {"disableVarExpansion": True}, "neither a text nor a list of texts"),
        ({"context": []}, {"disableVarExpansion": True}, "`context` is empty"),
    ],
)
def test_a_context_that_is_none_is_a_mistake_at_its_line(gate, llm, variables, options, words):
    llm.reply = Script("a [Attributed]")
    text = mistakes(gate(config(llm, {"type": "context-recall", "value": "v"}, options=options, **variables)))
    assert words in text
    assert "promptfooconfig.yaml:" in text
    assert llm.requests == []


def test_a_value_is_needed(gate, llm):
    assert "`context-recall` has no `value`" in mistakes(gate(config(llm, {"type": "context-recall"}, context="c")))
