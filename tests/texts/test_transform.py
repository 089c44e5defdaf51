"""``contextTransform`` in the forms that people use, and as a clear mistake in all others."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import NoVerdict
from gradegate.texts.transform import parse
from support.each import table
from support.graded import Script, config, mistakes

OUTPUT = {"context": "one", "citations": [{"text": "a", "meta": {"k": "x"}}, {"text": "b"}], "list": ["p", "q"], "odd-key": "o"}
VARS = {"docs": ["d", "e"], "x": "vx"}


@pytest.mark.parametrize(("written", "expected"), table(__file__, "paths"))
def test_paths(written, expected):
    assert parse(written).apply(json.dumps(OUTPUT), VARS, {"sources": "meta"}) == expected


def test_the_answer_itself():
    assert parse("output").apply("plain text", {}, {}) == "plain text"


COMPUTED = [
    ("output.context + 'x'", "onex"),
    ("output.absent || 'none'", "none"),
    ("output.citations.filter(c => c.meta).map(c => c.text)", ["a"]),
    ("output.list.map(x => x.toUpperCase())", ["P", "Q"]),
    ("output.list.length", 2),
    ("(() => output.list)()", ["p", "q"]),
    ("const all = output.list;\nreturn all;", ["p", "q"]),
    ("({...context.vars})", VARS),
    ("context.metadata.sources + '!'", "meta!"),
    ("Object.keys(context).sort()", ["metadata", "vars"]),
]


@pytest.mark.parametrize(("written", "expected"), COMPUTED)
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


@pytest.mark.parametrize(
    ("written", "output", "words"),
    [
        ("output.other", OUTPUT, "there is no `other`"),
        ("output.citations[7]", OUTPUT, "there is no item [7]"),
        ("output.context.map(x => x.y)", OUTPUT, "`map` needs a list"),
        ("output.citations.join('')", OUTPUT, "`join` needs texts"),
        ("output.citations.map(c => c.meta)", OUTPUT, "there is no `meta`"),
        ("output.context", "no JSON", "needs an answer that is JSON"),
        ("output.context", [1], "there is no `context`"),
    ],
)
def test_a_path_that_leads_nowhere_is_no_verdict(written, output, words):
    with pytest.raises(NoVerdict) as raised:
        parse(written).apply(output if isinstance(output, str) else json.dumps(output), VARS, {})
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


@given(st.text(alphabet="outp.context[0]'\"()=>mapjoin ;?`{}", max_size=40))
def test_any_text_is_a_path_or_refused(text):
    try:
        found = parse(text)
    except ValueError:
        return
    assert found.written
    assert isinstance(found.variable, str)
