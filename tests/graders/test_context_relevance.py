import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import Unreadable
from gradegate.grading.metrics.quotations import Quotations, units
from support.each import each, table
from support.graded import Script, config, mistakes

CONTEXT = "The sky is blue. Grass is green. Snow is white. Coal is black."


def graded(gate, llm, reply, kind="context-relevance", context=CONTEXT, options=None, **more):
    llm.reply = Script(reply)
    assertion = {"type": kind, **more}
    return gate(config(llm, assertion, options=options, context=context, query="What colour?")).grades[0]


@each(("reply", "score"), table(__file__, "quoted_over_units"))
def test_quoted_over_units(gate, llm, reply, score):
    grade = graded(gate, llm, reply)
    assert (grade["outcome"], grade["score"]) == ("pass" if score >= 0.5 else "fail", pytest.approx(score))


@each("kind", ["context-relevance", "not-context-relevance"])
@each("reply", table(__file__, "what_quotes_nothing_is_no_verdict"))
def test_what_quotes_nothing_is_no_verdict(gate, llm, kind, reply):
    assert graded(gate, llm, reply, kind)["outcome"] == "error"


@each(("context", "reply", "score"), table(__file__, "units_are_chunks_lines_or_sentences"))
def test_units_are_chunks_lines_or_sentences(gate, llm, context, reply, score):
    grade = graded(gate, llm, reply, context=context, options={"disableVarExpansion": True})
    assert grade["score"] == pytest.approx(score)


def test_not_and_the_threshold(gate, llm):
    assert graded(gate, llm, "The sky is blue.", "not-context-relevance")["score"] == 0.75
    assert graded(gate, llm, "The sky is blue.", threshold=0.25)["outcome"] == "pass"
    assert graded(gate, llm, "The sky is blue.", threshold=0.26)["outcome"] == "fail"


def test_a_missing_query_is_a_mistake(gate, llm):
    for query, words in ((None, "is missing"), ("", "is empty"), (7, "is not text")):
        text = mistakes(gate(config(llm, {"type": "context-relevance"}, context="c", query=query)))
        assert f"the variable `query` {words}" in text
    assert "takes no `value`" in mistakes(gate(config(llm, {"type": "context-relevance", "value": 0.7}, context="c", query="q")))


WORDLESS = st.text(st.characters(blacklist_characters=set((CONTEXT + "insufficient").lower() + CONTEXT.upper())))


@given(WORDLESS, st.sampled_from(["The", "is", "sky is", "blue", "white"]))
def test_text_that_is_not_in_the_context_says_nothing(text, word):
    with pytest.raises(Unreadable):
        Quotations(CONTEXT, units(CONTEXT)).covered([f"{text} {word} {text}"])


def test_whole_units_are_quoted_in_any_order_and_parts_of_them_out_of_order_only_so_often():
    rows = [f"Thing {number} is blue and warm." for number in range(1000)]
    context = Quotations("\n".join(rows), rows)
    assert context.covered(rows[::-1]) == tuple(rows)
    parts = [f"thing {number} is blue" for number in range(1000)]
    assert context.covered(parts) == context.covered(parts[100::-1] + parts[101:]) == tuple(rows)
    with pytest.raises(Unreadable, match="not quoted"):
        context.covered(parts[::-1])
    assert [context.holds(text) for text in ("warm", "war", "")] == [True, False, False]
