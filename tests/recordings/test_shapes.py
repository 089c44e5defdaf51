"""Answers in the shapes of others: each is recognised by what it holds, and joined by an id or by the question.

The samples are our own; the vendors' types and schemas say that they are of that shape.
"""

import json
from pathlib import Path

import pytest

from gradegate.config.context import Context
from gradegate.core.settings import Settings
from gradegate.files.documents import at_line
from gradegate.recordings.parsing.reader import load_recordings
from gradegate.recordings.parsing.recorded_answer import FORMATS
from support.answered import cases, config, jsonl
from support.scenes import scenes
from support.traces import genai, make_trace, span

test_a_scene = scenes(__file__)

ROOT = Path(__file__).resolve().parents[2]

QUESTION = "Is it open?"
TESTS = ({"description": "one", "vars": {"q": QUESTION}}, {"description": "two", "vars": {"q": "And now?"}})
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"x": 1}'}}


@pytest.fixture
def grade(gate):
    """Run a config with the file that ``make`` makes of its cases: rows of JSON lines, or a document."""

    def run(make, content=None, name="answers.jsonl"):
        folder = gate(content or config(*TESTS), "--answers", "none.jsonl").folder
        made = make(cases(folder))
        (folder / name).write_text(jsonl(made) if isinstance(made, list) else json.dumps(made, indent=1))
        return gate(None, "--answers", name)

    return run


def outcomes(ran):
    assert ran.cases, ran.err
    return [(case["output"], case["outcome"]) for case in ran.cases]


def one(tmp_path, row):
    """The answer that a row is read as."""
    (tmp_path / "a.jsonl").write_text(jsonl([row]))
    recording = load_recordings(Context(Settings(answers=("a.jsonl",), cwd=tmp_path)))
    assert not recording.mistakes, recording.mistakes
    return recording.answers[0]


# --- promptfoo ------------------------------------------------------------------------------------------------


def result(prompt, variables, provider, output, **keys):
    return {
        "testIdx": 0,
        "testCase": {"vars": variables, "assert": []},
        "prompt": {"raw": prompt, "label": prompt},
        "provider": {"id": provider, "label": ""},
        "vars": {**variables, "sessionId": "added while it ran"},
        "response": {"output": output, "tokenUsage": {"prompt": 3, "completion": 2, "total": 5}},
        "success": True,
        "failureReason": 0,
        "latencyMs": 120,
        "cost": 0.25,
        **keys,
    }


def results(found):
    return [result(case["prompt"], case["vars"], case["provider"], f"hi {case['vars']['q']}") for case in found]


def test_promptfoo_joins_by_prompt_variables_and_provider(grade):
    content = config(*TESTS, providers=["file://app.py", "file://other.py"], prompts=["Answer: {{q}}", "Same words"])
    expected = outcomes(grade(results, content))
    assert len(expected) == 8
    assert {outcome for _, outcome in expected} == {"pass"}
    document = {"evalId": "e", "results": {"version": 3, "results": []}, "config": {}}

    def backwards(found):
        return {**document, "results": {"version": 3, "results": results(found)[::-1]}}

    assert outcomes(grade(backwards, content, "eval.json")) == expected


def test_promptfoo_gives_latency_cost_and_tokens(tmp_path):
    usage = one(tmp_path, result("p", {}, "x", "hi")).usage
    assert (usage.seconds, usage.cost, usage.prompt_tokens, usage.completion_tokens) == (0.12, 0.25, 3, 2)
    assert not usage.untimed
    cached = result("p", {}, "x", "hi")
    cached["response"]["cached"] = True
    assert one(tmp_path, cached).usage.untimed == 1  # how long a cache took says nothing of the application


# --- OpenAI Batch ---------------------------------------------------------------------------------------------


def batched(identity, body, **keys):
    return {"id": "b", "custom_id": identity, "response": {"status_code": 200, "request_id": "r", "body": body}, "error": None, **keys}


def completion(content, finish="stop", **message):
    from openai.types.chat import ChatCompletion

    said = {"role": "assistant", "content": content, "refusal": None, **message}
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "logprobs": None, "message": said}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11},
    }
    return ChatCompletion.model_validate(body).model_dump()


def response(*items, **keys):
    from openai.types.responses import Response

    body = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": list(items), "status": "completed"}
    more = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], **keys}
    return Response.model_validate({**body, **more}).model_dump()


def message(text):
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def test_openai_batch_joins_by_custom_id(grade):
    def make(found):
        return [batched(found[1]["id"], response(message("hi two"))), batched(found[0]["id"], completion("hi one"))]

    assert outcomes(grade(make)) == [("hi one", "pass"), ("hi two", "pass")]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (lambda it: batched(it, {}, response=None, error={"code": "batch_expired", "message": "not done in time"}), "not done in time"),
        (lambda it: batched(it, {}, response={"status_code": 429, "body": {"error": {"message": "slow down"}}}), "slow down"),
        (lambda it: batched(it, {}, response={"status_code": 500, "body": {}}), "status 500"),
        (lambda it: batched(it, completion("", "content_filter")), "content filter"),
        (lambda it: batched(it, completion("")), "empty text"),
        (lambda it: batched(it, {"object": "chat.completion", "choices": []}), "without a message"),
        (lambda it: batched(it, response(message("hi"), status="failed")), "did not finish"),
        (
            lambda it: batched(it, response(message("hi"), status="incomplete", incomplete_details={"reason": "content_filter"})),
            "content filter",
        ),
    ],
)
def test_openai_batch_that_failed_is_an_error(grade, row, said):
    ran = grade(lambda found: [row(found[0]["id"])], config(TESTS[0]))
    assert ran.cases[0]["outcome"] == "error", ran.err
    assert said in ran.cases[0]["error"]


def test_openai_batch_has_tool_calls(tmp_path):
    called = one(tmp_path, batched("x", completion(None, "tool_calls", tool_calls=[CALL])))
    assert called.tool_calls == (CALL,)
    item = {"id": "f", "type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"x": 1}'}
    assert one(tmp_path, batched("x", response(item))).tool_calls == (CALL,)


# --- Ragas and DeepEval ---------------------------------------------------------------------------------------


def golden(asked, output):
    columns = dict.fromkeys(("expected_output", "retrieval_context", "context", "name", "comments", "source_file"))
    return {"input": asked, "actual_output": output, **columns}


# --- traces ---------------------------------------------------------------------------------------------------


def openinference(asked, answered):
    """Attributes of a chain, a retriever and a model by OpenInference."""
    from openinference.semconv.trace import DocumentAttributes, MessageAttributes, SpanAttributes

    chain = {"openinference.span.kind": "CHAIN", SpanAttributes.INPUT_VALUE: asked, SpanAttributes.OUTPUT_VALUE: answered}
    document = f"{SpanAttributes.RETRIEVAL_DOCUMENTS}.0.{DocumentAttributes.DOCUMENT_CONTENT}"
    first = f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0."
    called = f"{first}{MessageAttributes.MESSAGE_TOOL_CALLS}.0."
    model = {
        f"{first}{MessageAttributes.MESSAGE_ROLE}": "assistant",
        f"{called}tool_call.id": "c1",
        f"{called}tool_call.function.name": "look",
        f"{called}tool_call.function.arguments": '{"x": 1}',
        SpanAttributes.LLM_TOKEN_COUNT_PROMPT: 11,
        SpanAttributes.LLM_TOKEN_COUNT_COMPLETION: 6,
        SpanAttributes.LLM_COST_TOTAL: 0.5,
    }
    return chain, {document: "retrieved text"}, model


def test_spans_are_joined_by_the_attribute_of_their_case(grade):
    def make(found):
        first, second = found
        inner = span(2, genai("rewritten question", "hi one"), parent=1)
        other = span(4, genai("x", "hi two", **{"gradegate.case": second["id"]}), trace=2)
        return [
            make_trace(other),
            make_trace(span(1, {"gradegate.case": first["id"]})),
            make_trace(inner, span(5, {"http.url": "/"}, trace=3)),
        ]

    ran = grade(make)
    assert outcomes(ran) == [("hi one", "pass"), ("hi two", "pass")]
    assert outcomes(grade(lambda found: make(found)[::-1])) == outcomes(ran)


def test_spans_are_joined_by_the_conversation_or_the_question(grade):
    def make(found):
        named = genai("rewritten", "hi two", **{"gen_ai.conversation.id": found[1]["id"]})
        return [make_trace(span(1, genai(QUESTION, "hi one"))), make_trace(span(2, named, trace=2))]

    assert outcomes(grade(make)) == [("hi one", "pass"), ("hi two", "pass")]


def test_several_cases_of_one_trace_are_told_apart(grade):
    def make(found):
        each = [span(n + 2, genai("x", f"hi {n}", **{"gradegate.case": case["id"]}), parent=1) for n, case in enumerate(found)]
        return [make_trace(span(1, {"input.value": "the whole batch", "output.value": "done"}), *each)]

    assert outcomes(grade(make)) == [("hi 0", "pass"), ("hi 1", "pass")]


def test_openinference_gives_documents_tools_and_cost(tmp_path):
    chain, retriever, model = openinference("asked", "answered")
    row = make_trace(span(1, chain), span(2, retriever, parent=1), span(3, model, parent=1))
    answer = one(tmp_path, row)
    assert (answer.question.text, answer.output) == ("asked", "answered")
    assert answer.retrieval_context == ("retrieved text",)
    assert answer.tool_calls == (CALL,)
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.cost) == (11, 6, 0.5)
    assert answer.usage.seconds == pytest.approx(2)


def test_genai_gives_tools_and_the_end(tmp_path):
    call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {"x": 1}}
    said = json.dumps([{"role": "assistant", "parts": [call], "finish_reason": "tool_call"}])
    answer = one(tmp_path, make_trace(span(1, {"gen_ai.output.messages": said, "gradegate.case": "a"})))
    assert answer.tool_calls == (CALL,)
    assert answer.finish_reason == "tool_call"


def test_a_span_that_failed_is_an_error(grade):
    def make(found):
        failed = span(1, {"gradegate.case": found[0]["id"], "output.value": "hi"}, status={"code": 2, "message": "timed out"})
        return [make_trace(failed), make_trace(span(2, {"gradegate.case": found[1]["id"]}, trace=2))]

    ran = grade(make)
    assert [case["outcome"] for case in ran.cases] == ["error", "error"]
    assert "timed out" in ran.cases[0]["error"]
    assert "the spans hold no output" in ran.cases[1]["error"]


def test_spans_that_lead_in_a_circle_or_a_long_line_are_read(tmp_path):
    circle = [span(1, {"input.value": "a", "output.value": "x"}, parent=2), span(2, {}, parent=1)]
    assert one(tmp_path, make_trace(*circle)).output == "x"
    bare = [{"traceId": "t", "spanId": str(n), "parentSpanId": str(n - 1), "attributes": []} for n in range(30_000)]
    bare[0] = span(0, {"gradegate.case": "a", "output.value": "x"}) | {"traceId": "t", "spanId": "0"}
    assert one(tmp_path, make_trace(*bare[::-1])).id == "a"


# --- which tools were called ------------------------------------------------------------------------------------


def test_openai_batch_has_what_the_vendor_ran_itself(tmp_path):
    search = {"id": "w", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x", "queries": ["x"]}}
    (called,) = one(tmp_path, batched("x", response(search, message("hi")))).tool_calls
    assert (called["type"], called["function"]["name"]) == ("web_search_call", "web_search")
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    (called,) = one(tmp_path, batched("x", completion("hi", tool_calls=[custom]))).tool_calls
    assert called["function"] == {"name": "sql", "arguments": "select 1"}


CALLED = {"role": "assistant", "content": "hi"}
STRANGE = [
    {**CALLED, "toolCalls": [CALL]},
    {**CALLED, "content": [{"type": "text", "text": "hi"}, {"type": "invocation", "name": "look"}]},
    {**CALLED, "executed_tools": [{"name": "look"}]},
]


@pytest.mark.parametrize("said", STRANGE)
@pytest.mark.parametrize("kind", ["", "not-"])
def test_openai_batch_with_what_may_be_a_call_leaves_the_calls_unknown(grade, said, kind):
    body = {**completion("hi"), "choices": [{"index": 0, "finish_reason": "stop", "message": said}]}
    asked = {**TESTS[0], "assert": [{"type": f"{kind}trajectory:tool-used", "value": "look"}]}
    ran = grade(lambda found: [batched(found[0]["id"], body)], config(asked))
    assert (ran.cases[0]["output"], ran.cases[0]["outcome"]) == ("hi", "error")
    assert "that is not known" in ran.grades[0]["reason"] or "unknown key" in ran.grades[0]["reason"]
    body = {"object": "response", "status": "completed", "output": [message("hi"), {"type": "invocation"}]}
    ran = grade(lambda found: [batched(found[0]["id"], body)], config(asked))
    assert "an item of the type `invocation`, which is not known" in ran.grades[0]["reason"]
    ran = grade(lambda found: [batched(found[0]["id"], completion("hi"))], config(asked))
    assert ran.cases[0]["outcome"] == ("pass" if kind else "fail")


def test_openai_batch_with_a_call_that_cannot_be_read_has_no_answer(tmp_path):
    body = completion("hi")
    body["choices"][0]["message"]["tool_calls"] = ["look"]
    assert one(tmp_path, batched("x", body)).error == "the API answered with a tool call that is not an object"


def test_openai_batch_keeps_the_calls_of_an_answer_that_declines(tmp_path):
    found = one(tmp_path, batched("x", completion(None, refusal="no", tool_calls=[CALL])))
    assert (found.output, found.tool_calls) == ("no", (CALL,))


def test_promptfoo_says_nothing_of_calls(tmp_path):
    answer = one(tmp_path, result("p", {}, "x", "hi", response={"output": "hi", "finishReason": "stop"}))
    assert answer.tool_calls is None
    assert answer.finish_reason == "stop"


# --- all of them ----------------------------------------------------------------------------------------------

SAMPLES = {
    "lines": {"id": "a", "output": "x"},
    "promptfoo": result("p", {}, "x", "hi"),
    "openai-batch": batched("a", completion("x")),
    "ragas": {"user_input": "a", "response": "b"},
    "deepeval": golden("a", "b"),
    "otlp": make_trace(span(1, genai("a", "b"))),
}


def test_each_shape_is_recognised_by_itself_alone():
    assert set(SAMPLES) == set(FORMATS.names())
    for name, sample in SAMPLES.items():
        row = at_line(json.loads(json.dumps(sample)), 1)
        assert [other for other, shape in FORMATS if shape.recognises(row)] == [name]


@pytest.mark.parametrize("name", SAMPLES)
def test_no_answer_decides_by_what_it_says_of_itself(tmp_path, name):
    """A file may say of its answers that they passed, and by which score: nothing of that is read."""
    row = {**SAMPLES[name], **({} if name == "lines" else {"success": True, "score": 1, "pass": True, "grades": []})}
    answer = one(tmp_path, row)
    assert not {"success", "score", "pass", "grades"} & set(answer.metadata)


def test_the_page_of_answers_has_a_row_for_each_shape_of_others():
    words = {
        "promptfoo": "promptfoo's results",
        "openai-batch": "OpenAI's Batch API",
        "ragas": "Ragas",
        "deepeval": "DeepEval",
        "otlp": "OTLP",
    }
    section = (ROOT / "docs" / "answers.md").read_text().partition("### Other files")[2].partition("## ")[0]
    files = [line.split("|")[1] for line in section.splitlines() if line.startswith("| ")][1:]
    found = sorted(next(name for name, word in words.items() if word in file) for file in files)
    assert found == sorted(set(FORMATS.names()) - {"lines"})
