"""Calls against the schemas of the target's tools, and against the names that are expected."""

import json
import shutil

import pytest
import yaml

from support.each import table
from support.fake_llm import chat
from support.graded import mistakes

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}, {"type": "function", "function": {"name": "now"}}]


def call(name="weather", arguments='{"city": "Bern"}'):
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}


def graded(gate, llm, *calls, kind="is-valid-openai-tools-call", tools=TOOLS, text=None, **more):
    message = {"content": text, **({"tool_calls": [*calls]} if calls else {})}
    llm.reply = lambda path, body: chat("", message=message)
    config = {
        "prompts": ["x"],
        "providers": [llm.spec(**({"tools": tools} if tools else {}))],
        "tests": [{"assert": [{"type": kind, **more}]}],
    }
    return gate(config).grades[0]


@pytest.mark.parametrize("kind", ["is-valid-openai-tools-call", "is-valid-openai-function-call", "is-valid-function-call"])
@pytest.mark.parametrize(
    ("calls", "outcome", "said"),
    [
        *table(__file__, "each_call_is_one_of_the_tools_with_arguments_of_its_schema"),
        ([call(), call("now", "{}")], "pass", "now"),
        ([call(), call("hack", "{}")], "fail", "`hack` was called"),
    ],
)
def test_each_call_is_one_of_the_tools_with_arguments_of_its_schema(gate, llm, kind, calls, outcome, said):
    grade = graded(gate, llm, *calls, kind=kind, text=None if calls else "It rains.")
    assert grade["outcome"] == outcome
    assert said in grade["reason"]


def test_with_not_a_valid_call_must_not_be_made(gate, llm):
    assert graded(gate, llm, call(), kind="not-is-valid-openai-tools-call")["outcome"] == "fail"
    assert graded(gate, llm, text="no", kind="not-is-valid-openai-tools-call")["outcome"] == "pass"


def test_tools_come_from_files_that_the_config_names(gate, llm, tmp_path):
    (tmp_path / "weather.json").write_text(json.dumps(TOOLS[:1]))
    (tmp_path / "now.yaml").write_text("- type: function\n  function: {name: now}\n")
    for tools in ("file://weather.json", ["file://weather.json", "file://now.yaml"]):
        assert graded(gate, llm, call(), tools=tools)["outcome"] == "pass"
    assert llm.bodies[-1]["tools"] == TOOLS


@pytest.mark.parametrize(("tools", "said"), table(__file__, "tools_that_cannot_be_had_are_a_mistake_before_any_call"))
def test_tools_that_cannot_be_had_are_a_mistake_before_any_call(gate, llm, tools, said):
    config = {
        "prompts": ["x"],
        "providers": [llm.spec(**({"tools": tools} if tools else {}))],
        "tests": [{"assert": [{"type": "is-valid-openai-tools-call"}]}],
    }
    assert said in mistakes(gate(config))
    assert llm.requests == []


def test_a_recorded_answer_is_checked_by_tools_of_the_assertion(gate, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(TOOLS))
    named = {"type": "is-valid-function-call", "config": {"tools": "file://t.json"}}
    assert gate({"tests": [{"providerOutput": [call()], "assert": [named]}]}).grades[0]["outcome"] == "pass"
    asserted = {"type": "is-valid-function-call", "config": {"tools": TOOLS}}
    test = {"providerOutput": {"tool_calls": [call()]}, "assert": [asserted]}
    assert gate({"tests": [test]}).grades[0]["outcome"] == "pass"
    test["providerOutput"] = "It rains."
    assert gate({"tests": [test]}).grades[0]["outcome"] == "fail"


@pytest.mark.parametrize(("value", "score", "outcome"), table(__file__, "f1_of_the_names"))
def test_f1_of_the_names(gate, llm, value, score, outcome):
    grade = graded(gate, llm, call(), call(), call("now", "{}"), kind="tool-call-f1", value=value)
    assert grade["outcome"] == outcome
    assert grade["score"] == pytest.approx(score)


@pytest.mark.parametrize(("text", "outcome"), table(__file__, "f1_reads_calls_that_a_text_quotes"))
def test_f1_reads_calls_that_a_text_quotes(gate, text, outcome):
    test = {"providerOutput": text, "assert": [{"type": "tool-call-f1", "value": ["weather"]}]}
    assert gate({"tests": [test]}).grades[0]["outcome"] == outcome


def test_a_text_of_many_objects_is_read_in_a_moment(gate):
    test = {"providerOutput": "{} " * 200_000, "assert": [{"type": "tool-call-f1", "value": ["weather"]}]}
    assert gate({"tests": [test]}).grades[0]["outcome"] == "fail"


@pytest.mark.parametrize(("value", "config", "score"), table(__file__, "the_share_of_the_expected_tools"))
def test_the_share_of_the_expected_tools(gate, llm, value, config, score):
    grade = graded(gate, llm, call(), call("now", "{}"), kind="tool-correctness", value=value, config=config)
    assert grade["score"] == score


@pytest.mark.parametrize(("expected", "outcome"), [(["weather", "now"], "pass"), (["weather", "map"], "fail")])
def test_strict_mode_is_all_or_nothing(gate, llm, expected, outcome):
    strict = {"kind": "tool-correctness", "value": expected, "config": {"strict_mode": True, "threshold": 0.1}}
    grade = graded(gate, llm, call(), call("now", "{}"), **strict)
    assert (grade["outcome"], grade["score"]) == (outcome, float(outcome == "pass"))


def test_tools_are_part_of_what_is_compared_with_the_base(gate, llm, tmp_path):
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    config = {
        "prompts": ["x"],
        "providers": [llm.spec(tools="file://tools.json")],
        "tests": [{"assert": [{"type": "is-valid-function-call"}]}],
    }
    (tmp_path / "base").mkdir()
    shutil.copy(tmp_path / "tools.json", tmp_path / "base/tools.json")
    (tmp_path / "base/promptfooconfig.yaml").write_text(yaml.safe_dump(config))
    (tmp_path / "tools.json").write_text(json.dumps([{"type": "function", "function": {"name": "weather", "parameters": {}}}]))
    llm.reply = lambda path, body: chat("", message={"content": None, "tool_calls": [call(arguments='{"x": 1}')]})
    ran = gate(config, "--base", "base")
    assert any("tools" in change["text"] for change in ran.results["gate_changes"]), ran.results["gate_changes"]


@pytest.mark.parametrize(
    ("arguments", "outcome", "said"),
    [
        *table(__file__, "arguments_beyond_a_limit_are_neither_valid_nor_invalid"),
        ('{"city": ' + "[" * 30_000 + "]" * 30_000 + "}", "error", "deeper than 64 levels"),
        ('{"city": ' + "9" * 5_000 + "}", "error", "too many digits"),
    ],
)
def test_arguments_beyond_a_limit_are_neither_valid_nor_invalid(gate, llm, arguments, outcome, said):
    grade = graded(gate, llm, call(arguments=arguments), kind="not-is-valid-openai-tools-call")
    assert grade["outcome"] == outcome
    assert said in grade["reason"]
