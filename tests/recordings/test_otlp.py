"""Traces in several files and with gaps: a call of a tool that is anywhere in them is never left out."""

import json

import pytest

from gradegate.config.context import Context
from gradegate.core.settings import Settings
from gradegate.recordings.parsing.reader import load_recordings
from support.answered import cases, config, jsonl
from support.traces import genai, make_trace, span

NEVER = {"type": "not-trajectory:tool-used", "value": "refund"}
ASKED = {"vars": {"q": "Is it open?"}, "assert": [NEVER]}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund"}


@pytest.fixture
def grade(gate):
    """Run a config with files of rows that ``make`` makes of the id of its one case."""

    def run(make):
        folder = gate(config(ASKED), "--answers", "none.jsonl").folder
        (case,) = cases(folder)
        named = []
        for number, rows in enumerate(make(case["id"])):
            (folder / f"{number}.jsonl").write_text(jsonl(rows))
            named += ["--answers", f"{number}.jsonl"]
        return gate(None, *named)

    return run


def root(case, number=1, parent=0):
    return span(number, genai("x", "hi", **{"gradegate.case": case}), parent=parent)


def outcome(ran):
    assert ran.cases, ran.err
    return ran.grades[0]["outcome"]


def test_without_a_call_anywhere_none_was_made(grade):
    assert outcome(grade(lambda case: [[make_trace(root(case), span(2, {"http.url": "/"}, parent=1))]])) == "pass"


@pytest.mark.parametrize("swapped", [False, True])
def test_spans_of_one_trace_may_stand_in_several_files(grade, swapped):
    def make(case):
        files = [[make_trace(root(case))], [make_trace(span(2, TOOL, parent=1))]]
        return files[::-1] if swapped else files

    assert outcome(grade(make)) == "fail"


def test_ids_are_equal_in_either_case(grade):
    def make(case):
        one, two = root(case, 10), span(11, TOOL, parent=10)
        for it in (one, two):
            it["traceId"] = "ab" * 16
        two |= {"traceId": "AB" * 16, "parentSpanId": two["parentSpanId"].upper()}
        return [[make_trace(one), make_trace(two)]]

    assert outcome(grade(make)) == "fail"


CONTENTS = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.contents.0.message_content.type": "tool_use"}

NAMELESS = {"llm.output_messages.0.message.tool_calls.0.tool_call.id": "1"}


def told(name, **attributes):
    listed = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    return span(3, {}, parent=1) | {"events": [{"name": name, "attributes": listed}]}


LOST = [
    ("below a span that is not there", [span(3, TOOL, parent=9)], "a span of the trace calls a tool"),
    ("without a parent", [span(3, TOOL)], "a span of the trace calls a tool"),
    ("a tool below what is not there", [span(3, {"http.url": "/"}, parent=9)], "lies below one that is not there"),
    ("another root with a call", [span(3, {}), span(4, TOOL, parent=3)], "a span of the trace calls a tool"),
    ("a tool without a name", [span(3, {"openinference.span.kind": "TOOL"}, parent=1)], "does not name it"),
    ("OpenLLMetry", [span(3, {"traceloop.span.kind": "tool"}, parent=1)], "does not name it"),
    ("cut messages", [span(3, {"gen_ai.output.messages": '[{"role": "assi'}, parent=1)], "cannot be read"),
    ("dropped", [span(3, {}, parent=1) | {"droppedAttributesCount": 2}], "were dropped"),
    ("LangSmith", [span(3, {"langsmith.span.kind": "tool"}, parent=1)], "does not name it"),
    ("Langfuse", [span(3, {"langfuse.observation.type": "tool"}, parent=1)], "does not name it"),
    ("MLflow", [span(3, {"mlflow.spanType": '"TOOL"'}, parent=1)], "does not name it"),
    ("MCP", [span(3, {"mcp.method.name": "tools/call"}, parent=1)], "does not name it"),
    ("AI SDK", [span(3, {"ai.toolCall.name": "refund"}, parent=1)], "`ai.toolCall.name` of a span tells of a tool"),
    ("completions", [span(3, {"gen_ai.completion.0.tool_calls.0.name": "refund"}, parent=1)], "is of no convention that is read"),
    ("nameless", [span(3, NAMELESS, parent=1)], "a tool call without a name"),
    ("a choice", [told("gen_ai.choice", message='{"tool_calls": [{"id": "1"}]}')], "an event of a span contains a call"),
    ("a message", [told("gen_ai.assistant.message", tool_calls="[]")], "an event of a span contains a call"),
    ("a result", [told("gen_ai.tool.message", content="done")], "an event of a span contains a call"),
    ("contents", [span(3, CONTENTS, parent=1)], "a part of the type `tool_use`"),
]


@pytest.mark.parametrize(("spans", "said"), [it[1:] for it in LOST], ids=[it[0] for it in LOST])
def test_what_may_hide_a_call_leaves_the_calls_unknown(grade, spans, said):
    ran = grade(lambda case: [[make_trace(root(case), *spans)]])
    assert outcome(ran) == "error"
    assert said in ran.grades[0]["reason"]


def parts(*listed):
    return {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [*listed]}])}


def test_parts_that_are_not_known_may_be_calls(grade):
    call = {"type": "vendor_tool", "name": "refund"}
    assert outcome(grade(lambda case: [[make_trace(root(case), span(2, parts(call), parent=1))]])) == "error"
    typeless = {"type": "", "name": "refund"}
    assert outcome(grade(lambda case: [[make_trace(root(case), span(2, parts(typeless, call), parent=1))]])) == "error"
    nameless = {"type": "tool_call", "arguments": {}}
    assert outcome(grade(lambda case: [[make_trace(root(case), span(2, parts(nameless), parent=1))]])) == "error"


FORMS = [
    parts({"type": "server_tool_call", "name": "refund", "server_tool_call": {"type": "x"}}),
    {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.function_call_name": "refund"},
    {"openinference.span.kind": "TOOL", "tool.name": "refund"},
    {
        "gen_ai.input.messages": json.dumps(
            [
                {"role": "user", "parts": [{"type": "text", "content": "x"}]},
                {"role": "assistant", "parts": [{"type": "tool_call", "name": "refund", "arguments": {}}]},
                {"role": "user", "parts": [{"type": "tool_call_response", "response": "done"}]},
            ]
        )
    },
]


@pytest.mark.parametrize("attributes", FORMS)
def test_calls_of_every_convention_are_read(grade, attributes):
    assert outcome(grade(lambda case: [[make_trace(root(case), span(2, attributes, parent=1))]])) == "fail"


@pytest.mark.parametrize("name", ["execute_tool refund", "tools/call refund"])
def test_the_name_of_a_span_names_its_tool(grade, name):
    assert outcome(grade(lambda case: [[make_trace(root(case), span(2, {}, parent=1) | {"name": name})]])) == "fail"


def test_an_event_that_tells_of_no_call_hides_none(grade):
    said = told("gen_ai.choice", message='{"content": "hi"}', finish_reason="stop")
    assert outcome(grade(lambda case: [[make_trace(root(case), said)]])) == "pass"


SILENT = [
    ("GenAI", {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}),
    ("an operation that is not known", {"gen_ai.operation.name": "plan"}),
    ("OpenInference", {"openinference.span.kind": "LLM", "output.value": "hi"}),
    ("two kinds", {"openinference.span.kind": "CHAIN", "gen_ai.operation.name": "chat"}),
    ("Langfuse", {"langfuse.observation.type": "generation"}),
    ("a name", {"gen_ai.response.model": "m"}),
]


@pytest.mark.parametrize("attributes", [it[1] for it in SILENT], ids=[it[0] for it in SILENT])
def test_a_model_without_output_messages_leaves_the_calls_unknown(grade, attributes):
    ran = grade(lambda case: [[make_trace(root(case), span(2, attributes, parent=1))]])
    assert outcome(ran) == "error"
    assert ran.grades[0]["reason"].endswith("a span of a model has no output messages")
    ran = grade(lambda case: [[make_trace(root(case), span(2, attributes))]])
    assert outcome(ran) == "error"
    assert "has no output messages and is below no span with the case" in ran.grades[0]["reason"]


def test_spans_of_tools_tell_what_a_silent_model_called(grade):
    other = {**TOOL, "gen_ai.tool.name": "look"}
    for tool, expected in ((TOOL, "fail"), (other, "pass")):
        model = span(2, {"gen_ai.operation.name": "chat"}, parent=1)
        spans = [model, span(3, tool, parent=1)]
        assert outcome(grade(lambda case, spans=spans: [[make_trace(root(case), *spans)]])) == expected


MESSAGES = {key: value for key, value in genai("x", "hi").items() if key.endswith(".messages")}


@pytest.mark.parametrize(
    "agent", [{"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m"}, {"openinference.span.kind": "AGENT"}]
)
def test_the_models_of_an_agent_show_its_calls(grade, agent):
    def make(case, *spans):
        return [[make_trace(span(1, {**MESSAGES, **agent, "gradegate.case": case}), *spans)]]

    assert outcome(grade(make)) == "error"
    assert outcome(grade(lambda case: make(case, span(2, {"gen_ai.operation.name": "chat"}, parent=1)))) == "error"
    assert outcome(grade(lambda case: make(case, span(2, genai("x", "hi"), parent=1)))) == "pass"
    assert (
        outcome(grade(lambda case: make(case, span(2, {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "m"}, parent=1))))
        == "error"
    )


def test_calls_before_the_question_are_none_of_the_answer(grade):
    history = [
        {"role": "assistant", "parts": [{"type": "tool_call", "name": "refund", "arguments": {}}]},
        {"role": "user", "parts": [{"type": "text", "content": "and now?"}]},
    ]
    heard = {"gen_ai.input.messages": json.dumps(history)}
    assert outcome(grade(lambda case: [[make_trace(root(case), span(2, heard, parent=1))]])) == "pass"


def test_a_tool_that_no_message_asked_for_is_a_call(grade):
    asked = parts({"type": "tool_call", "id": "1", "name": "look", "arguments": {}})
    spans = [span(2, asked, parent=1), span(3, TOOL, parent=1)]
    assert outcome(grade(lambda case: [[make_trace(root(case), *spans)]])) == "fail"


def test_what_lies_above_a_case_may_have_a_parent_elsewhere(grade):
    above = span(5, {"input.value": "the whole batch"}, parent=9)
    assert outcome(grade(lambda case: [[make_trace(root(case, parent=5), above)]])) == "pass"


def test_a_span_that_was_written_twice_is_one(grade, gate):
    def make(case):
        tool = parts({"type": "tool_call", "name": "refund", "arguments": {}})
        return [[make_trace(root(case), span(2, tool, parent=1))], [make_trace(span(2, tool, parent=1))]]

    ran = grade(make)
    assert outcome(ran) == "fail"
    assert len(ran.cases[0]["metadata"]["tool_calls"]) == 1
    other = grade(lambda case: [[make_trace(root(case), span(2, TOOL, parent=1))], [make_trace(span(2, {}, parent=1))]])
    assert other.code == 2
    assert "1.jsonl:1: the trace has two spans of one id: the other is at 0.jsonl:1" in other.err


def test_spans_without_ids_are_spans_of_their_own(tmp_path):
    bare = [span(n, {"gradegate.case": f"c{n}", "output.value": "x"}) | {"spanId": ""} for n in (1, 2)]
    (tmp_path / "a.jsonl").write_text(jsonl([make_trace(*bare)]))
    assert [it.id for it in load_recordings(Context(Settings(answers=("a.jsonl",), cwd=tmp_path))).answers] == ["c1", "c2"]
