"""A target that gives no answer is an ERROR for its row, whatever is asserted of the answer."""

import gzip
import zlib

import pytest

from support.each import table
from support.fake_llm import FakeLlm, chat
from support.vendors import made

CALL = {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
# Each of these would pass for an answer without the word.
ASSERTIONS = [{"type": "not-contains", "value": "secret"}, {"type": "not-icontains-any", "value": ["secret"]}]


def run(gate, provider: dict | str, **files: str):
    config = {"prompts": ["hi"], "providers": [provider], "tests": [{"assert": ASSERTIONS}]}
    return gate(config, **files)


def one(llm: FakeLlm, provider_id: str) -> dict:
    base = llm.base.removesuffix("/v1") if provider_id.startswith(("anthropic", "ollama")) else llm.base
    return {"id": provider_id, "config": {"apiBaseUrl": base, "apiKey": "k"}}


def http(llm: FakeLlm, **config) -> dict:
    return {"id": "http", "config": {"url": llm.base, "method": "POST", "body": {"q": "{{prompt}}"}, **config}}


def no_answer(ran, words: str) -> None:
    assert ran.code == 3, ran.out + ran.err
    assert [grade["outcome"] for grade in ran.grades] == ["error", "error"]
    assert all(words in grade["reason"] for grade in ran.grades), ran.grades[0]["reason"]
    summary = ran.results["summary"]
    assert (summary["planned"], summary["passed"], summary["failed"], summary["errored"]) == (2, 0, 0, 2)


@pytest.mark.parametrize(("words", "provider_id", "answer"), table(__file__, "no_answer"))
def test_what_a_model_says_without_an_answer(gate, llm: FakeLlm, words: str, provider_id: str, answer: dict):
    llm.reply = lambda path, body: made(answer)
    no_answer(run(gate, one(llm, provider_id)), f"127.0.0.1:{llm.port} {words}" if words.startswith("answered") else words)


@pytest.mark.parametrize(
    "text", ["<think>It is secret.</think>\n", "It is so.</think>", "<think>hm</think> <THINK>and", "[THINK]so[/THINK]", "◁think▷"]
)
def test_reasoning_alone(gate, llm: FakeLlm, text: str):
    llm.reply = lambda path, body: chat(text)
    no_answer(run(gate, one(llm, "openai:chat:m")), f"127.0.0.1:{llm.port} answered with reasoning alone")


@pytest.mark.parametrize("text", ["<think>hm</think>Yes.", "What <think> means", "<analysis>All is well.</analysis>", "<b>thinking</b>"])
def test_more_than_reasoning(gate, llm: FakeLlm, text: str):
    llm.reply = lambda path, body: chat(text)
    assert run(gate, one(llm, "openai:chat:m")).code == 0


@pytest.mark.parametrize("where", ["provider", "test", "assertion"])
@pytest.mark.parametrize("code", ["output.match(/refund/)?.[0] || ''", "'\u200b \\n'", "undefined"])
def test_a_transform_that_comes_out_empty(gate, llm: FakeLlm, where: str, code: str):
    llm.reply = lambda path, body: "A long answer"
    own = {"transform": code}
    test = {"assert": [{**it, **(own if where == "assertion" else {})} for it in ASSERTIONS], "options": own if where == "test" else {}}
    provider = {**one(llm, "openai:chat:m"), **(own if where == "provider" else {})}
    ran = gate({"prompts": ["hi"], "providers": [provider], "tests": [test]})
    no_answer(ran, "return a word such as NONE to test for nothing")


def test_a_tool_call_that_is_none(gate, llm: FakeLlm):
    llm.reply = lambda path, body: chat("", message={"tool_calls": [None]})
    no_answer(run(gate, one(llm, "openai:chat:m")), "answered with a tool call that is no object")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        *table(__file__, "an_application_that_answers_200_and_says_nothing"),
        (b"", "answered with an empty body"),
        (b" \r\n", "answered with an empty body"),
        (b'{"answer": "The beg', "answered JSON that is cut or broken"),
        (b'{"answer": ', "answered JSON that is cut or broken"),
        (b'["a", ', "answered JSON that is cut or broken"),
        (b'""', "answered with an empty text"),
    ],
)
def test_an_application_that_answers_200_and_says_nothing(gate, llm: FakeLlm, body, words: str):
    llm.reply = lambda path, request: (200, body)
    no_answer(run(gate, http(llm)), words)


@pytest.mark.parametrize("transform", ["json.answer", "text", "json.error"])
def test_an_error_is_one_wherever_the_answer_would_stand(gate, llm: FakeLlm, transform: str):
    llm.reply = lambda path, request: (200, {"error": "out of memory"})
    no_answer(run(gate, http(llm, transformResponse=transform)), "answered with an error: out of memory")


def test_an_output_that_is_empty(gate, llm: FakeLlm):
    llm.reply = lambda path, request: (200, {"answer": "", "sources": ["a"]})
    no_answer(run(gate, http(llm, transformResponse="json.answer")), "answered with an empty text")


def test_a_body_that_stops_short(gate, llm: FakeLlm):
    llm.reply = lambda path, request: b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nThe beg"
    no_answer(run(gate, http(llm)), "cannot be reached")


def test_a_turn_of_a_conversation(gate, llm: FakeLlm):
    answers = iter(["Hello.", ""])
    llm.reply = lambda path, body: next(answers)
    turns = [{"role": "user", "content": "hi"}, {"role": "user", "content": "and?"}]
    config = {"providers": [one(llm, "openai:chat:m")], "tests": [{"turns": turns, "assert": ASSERTIONS}]}
    no_answer(gate(config), "answered with an empty text")


def test_a_script_that_says_nothing(gate):
    no_answer(run(gate, "scripted:r.yaml", **{"r.yaml": "- reply: ''\n"}), "answered with an empty text")


# --- what is an answer ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("provider_id", "answer"), table(__file__, "refusals_in_words_cut_answers_and_tool_calls"))
def test_refusals_in_words_cut_answers_and_tool_calls(gate, llm: FakeLlm, provider_id: str, answer: dict):
    llm.reply = lambda path, body: made(answer)
    ran = run(gate, one(llm, provider_id))
    assert (ran.code, [grade["outcome"] for grade in ran.grades]) == (0, ["pass", "pass"])


@pytest.mark.parametrize(
    "body", [*table(__file__, "bodies_that_say_something"), b'{"a": 1}\n{"b": 2}\n', b"{curly} words", b"plain words", b"0", b"[]"]
)
def test_bodies_that_say_something(gate, llm: FakeLlm, body):
    llm.reply = lambda path, request: body_as_text(body) if isinstance(body, bytes) and body.startswith(b"{curly") else (200, body)
    assert run(gate, http(llm)).code == 0


def body_as_text(body: bytes) -> bytes:
    """A whole response that does not call itself JSON."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def test_an_empty_answer_that_the_config_records(gate):
    test = {"providerOutput": "", "assert": ASSERTIONS}
    assert gate({"prompts": ["hi"], "providers": ["echo"], "tests": [test]}).code == 0


def test_tool_calls_are_at_hand_for_a_transform(gate, llm: FakeLlm):
    judge = '{"sentences": ["f"]}'
    looking = chat("Let me look.", message=CALL, finish_reason="tool_calls")
    llm.reply = lambda path, body: judge if "CONTEXT" in str(body).upper() else looking
    path = "context.metadata.tool_calls[0].function.name"
    assertion = {"type": "context-relevance", "contextTransform": path, "threshold": 1, "provider": llm.spec("judge")}
    test = {"vars": {"query": "which?"}, "assert": [assertion]}
    ran = gate({"prompts": ["hi"], "providers": [one(llm, "openai:chat:m")], "tests": [test]})
    assert ran.code == 0, ran.grades
    assert any("\nf\n" in prompt for prompt in llm.prompts)


PACKED = {
    "gzip": gzip.compress(b"the answer " * 99),
    "deflate": zlib.compress(b"the answer " * 99),
    "raw deflate": zlib.compress(b"the answer " * 99)[2:-4],
}


def packed(encoding: str, body: bytes) -> bytes:
    encoding = encoding.removeprefix("raw ")
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


@pytest.mark.parametrize("encoding", PACKED)
def test_a_packed_answer_is_whole_or_none(gate, llm: FakeLlm, encoding: str):
    body = PACKED[encoding]
    llm.reply = lambda path, content: packed(encoding, body)
    assert run(gate, http(llm, transformResponse="text")).code == 0
    for cut in (len(body) // 2, len(body) - 1):
        llm.reply = lambda path, content, cut=cut: packed(encoding, body[:cut])
        no_answer(run(gate, http(llm, transformResponse="text")), "cannot be unpacked: it ends too early")


def test_an_encoding_that_was_not_asked_for_is_no_answer(gate, llm: FakeLlm):
    llm.reply = lambda path, content: packed("br", b"the answer")
    no_answer(run(gate, http(llm, transformResponse="text")), "cannot be unpacked: its encoding is 'br'")


def test_a_body_of_json_null_is_no_answer(gate, llm: FakeLlm):
    llm.reply = lambda path, content: None
    no_answer(run(gate, http(llm)), "answered with an empty body")
