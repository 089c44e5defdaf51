"""``contextTransform`` in the forms that people use, and as a clear mistake in all others."""

import json

import pytest

from gradegate.errors import NoVerdict
from gradegate.templating.script import parse
from support.each import table
from support.graded import Script, config, mistakes

OUTPUT = {"context": "one", "citations": [{"text": "a", "meta": {"k": "x"}}, {"text": "b"}], "list": ["p", "q"], "odd-key": "o"}
VARS = {"docs": ["d", "e"], "x": "vx"}


@pytest.mark.parametrize(("written", "expected"), table(__file__, "paths"))
def test_paths(written, expected):
    assert parse(written).apply(json.dumps(OUTPUT), VARS, {"sources": "meta"}) == expected


def test_the_answer_itself():
    assert parse("output").apply("plain text", {}, {}) == "plain text"


@pytest.mark.parametrize(("written", "expected"), table(__file__, "what_is_no_path_runs_as_javascript"))
def test_what_is_no_path_runs_as_javascript(written, expected):
    found = parse(written)
    assert found.written == written
    assert found.apply(OUTPUT, VARS, {"sources": "meta"}) == expected


@pytest.mark.parametrize(("written", "words"), table(__file__, "what_cannot_run_is_a_mistake_at_its_line"))
def test_what_cannot_run_is_a_mistake_at_its_line(gate, llm, written, words):
    llm.reply = Script("x [Attributed]")
    text = mistakes(gate(config(llm, {"type": "context-recall", "value": "v", "contextTransform": written})))
    assert "promptfooconfig.yaml:9: `contextTransform` of `context-recall`: " in text
    assert words in text
    assert llm.requests == []


def test_what_throws_is_no_verdict():
    with pytest.raises(NoVerdict, match="contextTransform fails: it throws TypeError"):
        parse("output.a.b.c.trim()").apply({}, {}, {})


@pytest.mark.parametrize(("written", "output", "words"), table(__file__, "a_path_that_leads_nowhere_is_no_verdict"))
def test_a_path_that_leads_nowhere_is_no_verdict(written, output, words):
    with pytest.raises(NoVerdict) as raised:
        parse(written).apply(output or json.dumps(OUTPUT), VARS, {})
    assert words in str(raised.value)


@pytest.mark.parametrize("kind", ["context-recall", "context-relevance", "context-faithfulness"])
@pytest.mark.parametrize(("written", "output", "outcome"), table(__file__, "the_context_of_an_answer"))
def test_the_context_of_an_answer(gate, llm, kind, written, output, outcome):
    replies = {"context-recall": ["x. [Attributed]"], "context-relevance": ["The sky is blue."]}.get(kind, ["One.", "Yes."])
    llm.reply = Script(*replies)
    value = {"value": "v"} if kind == "context-recall" else {}
    text = output if isinstance(output, str) else json.dumps(output)
    grade = gate(config(llm, {"type": kind, "contextTransform": written, **value}, output=text, query="q")).grades[0]
    assert grade["outcome"] == outcome
    assert outcome == "error" or "The sky is blue." in llm.prompts[-1]
    assert outcome == "pass" or llm.requests == []


def test_it_wins_over_the_variable_and_a_missing_variable_shows_before_the_run(gate, llm):
    llm.reply = Script("x [Attributed]")
    assertion = {"type": "context-recall", "value": "v", "contextTransform": "context.vars.found"}
    gate(config(llm, assertion, context="the variable", found="what was found"))
    assert "what was found" in llm.prompts[0]
    assert "the variable" not in llm.prompts[0]
    assert "the variable `found` that contextTransform names is missing" in mistakes(gate(config(llm, assertion, context="c")))
    wrong = {"type": "contains", "value": "v", "contextTransform": "output.x"}
    assert "`contains` has no `contextTransform`" in mistakes(gate(config(llm, wrong)))
