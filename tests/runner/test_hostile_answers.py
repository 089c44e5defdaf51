"""Answers that a hostile model gives to fill or stop the gate: each is an error of its row, and the rest is decided."""

import json

import pytest

from gradegate.files import limits as bounds
from support.fake_llm import FakeLlm, chat


def run(gate, llm: FakeLlm, *assertions, **more):
    tests = [{"vars": {"p": "x"}, "assert": list(assertions) or [{"type": "contains", "value": "x"}]}]
    return gate({"prompts": ["{{p}}"], "providers": [llm.spec(), "echo"], "tests": tests, **more})


@pytest.mark.parametrize("depth", [90, 500, 900])
@pytest.mark.parametrize("brackets", ["[]", ('{"a":', "}")])
def test_arguments_of_a_tool_that_are_nested_deeply(gate, llm: FakeLlm, depth, brackets):
    nested = brackets[0] * depth + ("1" if brackets != "[]" else "") + brackets[1] * depth
    called = chat("x", message={"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": 0}}]})
    text = json.dumps(called).replace('"arguments": 0', f'"arguments": {nested}').encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode()
    llm.reply = lambda path, body: head + text
    ran = run(gate, llm, {"type": "equals", "value": "nothing"})
    assert ran.code == 1, ran.err
    assert [case["outcome"] for case in ran.cases] == ["error" if depth > 90 else "fail", "fail"]


def test_more_values_than_an_answer_has(gate, llm: FakeLlm):
    llm.reply = lambda path, body: {**chat("x"), "x": [0] * (bounds.MAX_BODY_VALUES + 1)}
    assert "JSON with more than 200,000 values" in run(gate, llm).out


def test_all_answers_together_have_a_limit(gate, llm: FakeLlm, monkeypatch):
    monkeypatch.setattr("gradegate.files.limits.MAX_ANSWER_CHARACTERS", 50)
    llm.reply = lambda path, body: "x" * 60
    ran = run(gate, llm)
    assert ran.cases[0]["outcome"] == "error"
    assert "the answers of this run have more than" in ran.out


@pytest.mark.parametrize(
    ("assertion", "answer"),
    [({"type": "contains-json"}, "{/*" * 300_000), ({"type": "contains-json"}, '{"a"/*' * 200_000), ({"type": "is-json"}, "[" * 1_000_000)],
)
def test_what_takes_the_square_of_its_length_elsewhere_is_decided(gate, llm: FakeLlm, assertion, answer):
    llm.reply = lambda path, body: answer
    assert run(gate, llm, assertion).cases[0]["outcome"] == "fail"


def test_many_texts_in_a_long_answer_are_an_error(gate, llm: FakeLlm):
    llm.reply = lambda path, body: "b" * 1_000_000
    ran = run(gate, llm, {"type": "contains-any", "value": [f"a{number}" for number in range(2000)]})
    assert ran.cases[0]["outcome"] == "error"
