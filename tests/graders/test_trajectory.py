"""Which tools an answer called, over calls of chat APIs and of recorded answers."""

import json

import pytest

from support.each import table
from support.fake_llm import chat
from support.graded import mistakes


def call(name, **arguments):
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


CALLS = [call("search_flights", to="Rome", on="2026-12-01"), call("book", seat={"row": 4, "aisle": True}), call("search_hotels")]


def outcome(gate, llm, kind, value, calls=CALLS):
    message = {"content": None, "tool_calls": calls} if calls else {"content": "nothing to do"}
    llm.reply = lambda path, body: chat("", message=message, finish_reason="tool_calls" if calls else "stop")
    ran = gate({"prompts": ["go"], "providers": [llm.spec()], "tests": [{"assert": [{"type": kind, "value": value}]}]})
    return ran.grades[0]["outcome"]


@pytest.mark.parametrize(("value", "expected", "negated"), table(__file__, "tool_used"))
def test_tool_used(gate, llm, value, expected, negated):
    assert outcome(gate, llm, "trajectory:tool-used", value) == expected
    assert outcome(gate, llm, "not-trajectory:tool-used", value) == negated


@pytest.mark.parametrize(("value", "expected"), table(__file__, "tool_sequence"))
def test_tool_sequence(gate, llm, value, expected):
    assert outcome(gate, llm, "trajectory:tool-sequence", value) == expected
    assert outcome(gate, llm, "not-trajectory:tool-sequence", value) == {"pass": "fail", "fail": "pass"}[expected]


@pytest.mark.parametrize(("value", "expected"), table(__file__, "tool_args_match"))
def test_tool_args_match(gate, llm, value, expected):
    assert outcome(gate, llm, "trajectory:tool-args-match", value) == expected


SHELL = [call("shell", command=["ls", "-la"]), call("shell"), call("exec_command", cmd="pytest -q")]


@pytest.mark.parametrize(
    ("value", "calls", "expected"),
    [
        ({"max": 3}, CALLS, "pass"),
        ({"max": 2}, CALLS, "fail"),
        ({"min": 1}, [], "fail"),
        ({"pattern": "search_*", "min": 2, "max": 2}, CALLS, "pass"),
        ({"type": "command", "min": 2, "max": 2}, SHELL, "pass"),  # a shell that runs nothing is a tool
        ({"type": ["tool", "command"], "min": 3}, SHELL, "pass"),
        ({"type": "command", "pattern": "pytest*", "min": 1}, SHELL, "pass"),
        ({"type": "command", "pattern": "ls", "min": 1}, SHELL, "pass"),
    ],
)
def test_step_count(gate, llm, value, calls, expected):
    assert outcome(gate, llm, "trajectory:step-count", value, calls) == expected


@pytest.mark.parametrize(("kind", "value", "said"), table(__file__, "a_value_that_cannot_be_meant_is_a_mistake"))
def test_a_value_that_cannot_be_meant_is_a_mistake(gate, llm, kind, value, said):
    config = {"prompts": ["x"], "providers": ["echo"], "tests": [{"assert": [{"type": f"trajectory:{kind}", "value": value}]}]}
    assert said in mistakes(gate(config))


# --- what is known of an answer ---------------------------------------------------------------------------------


def recorded(gate, test, kind="trajectory:tool-used"):
    test = {"assert": [{"type": kind, "value": "book"}], **test}
    return gate({"prompts": ["x"], "providers": ["echo"], "tests": [test]}).grades[0]


@pytest.mark.parametrize("kind", ["trajectory:tool-used", "not-trajectory:tool-used"])
def test_an_answer_that_does_not_say_what_was_called_is_an_error(gate, kind):
    grade = recorded(gate, {"providerOutput": "I booked it."}, kind)
    assert grade["outcome"] == "error"
    assert "does not say which tools were called" in grade["reason"]


def test_a_recorded_answer_may_consist_of_calls(gate):
    assert recorded(gate, {"providerOutput": [call("book")]})["outcome"] == "pass"


def test_calls_are_gathered_over_the_turns_of_a_recorded_conversation(gate):
    turns = [
        {"role": "user", "content": "book it"},
        {"role": "assistant", "content": "", "tool_calls": [{"type": "tool_use", "name": "book", "input": {}}]},
        {"role": "user", "content": "thanks"},
        {"role": "assistant", "content": "You are welcome.", "tool_calls": []},
    ]
    assert recorded(gate, {"turns": turns})["outcome"] == "pass"
    turns[1]["tool_calls"] = []
    assert recorded(gate, {"turns": turns})["outcome"] == "fail"


def test_calls_are_gathered_over_the_turns_of_a_held_conversation(gate, llm):
    replies = iter([chat("", message={"content": None, "tool_calls": [call("book")]}), chat("Done.")])
    llm.reply = lambda path, body: next(replies)
    turns = [{"role": "user", "content": "book it"}, {"role": "user", "content": "is it done?"}]
    test = {"turns": turns, "assert": [{"type": "trajectory:tool-used", "value": "book"}]}
    ran = gate({"prompts": ["help"], "providers": [llm.spec()], "tests": [test]})
    assert ran.grades[0]["outcome"] == "pass"


def test_a_model_that_writes_of_a_call_has_not_called(gate, llm):
    llm.reply = lambda path, body: json.dumps([call("book")])
    test = {"assert": [{"type": "trajectory:tool-used", "value": "book"}]}
    assert gate({"prompts": ["x"], "providers": [llm.spec()], "tests": [test]}).grades[0]["outcome"] == "fail"


@pytest.mark.parametrize("kind", ["trajectory:tool-used", "not-trajectory:tool-used"])
def test_an_answer_that_ended_for_a_call_and_has_none_is_an_error(gate, llm, kind):
    llm.reply = lambda path, body: chat("I look.", finish_reason="tool_calls")
    test = {"assert": [{"type": kind, "value": "book"}]}
    (grade,) = gate({"prompts": ["x"], "providers": [llm.spec()], "tests": [test]}).grades
    assert (grade["outcome"], "tells no call" in grade["reason"]) == ("error", True)


@pytest.mark.parametrize(("name", "expected"), [("web_search", "pass"), ("book", "fail")])
def test_what_a_vendor_ran_itself_was_called(gate, llm, name, expected):
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    said = [search, found, {"type": "text", "text": "It rains."}]
    llm.reply = lambda path, body: {"content": said, "stop_reason": "end_turn", "usage": {}}
    test = {"assert": [{"type": "trajectory:tool-used", "value": name}]}
    target = {**llm.spec(), "id": "anthropic:messages:m"}
    ran = gate({"prompts": ["x"], "providers": [target], "tests": [test]})
    assert (ran.grades[0]["outcome"], ran.cases[0]["output"]) == (expected, "It rains.")


def test_calls_without_a_word_are_what_the_answer_shows(gate):
    turns = [{"role": "user", "content": "book"}, {"role": "assistant", "content": "", "tool_calls": [call("book")]}]
    ran = gate({"tests": [{"turns": turns, "assert": [{"type": "contains", "value": "book"}]}]})
    assert ran.code == 0, ran.out
    assert '"name":"book"' in ran.cases[0]["output"]


def written(name, arguments):
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}


WHOLE = written("book", '{"seat": 4}')
CUT = written("book", '{"seat": 4')
DEEP = written("book", '{"seat": ' + "[" * 80 + "]" * 80 + "}")
SEAT = {"name": "book", "args": {"seat": 4}}


@pytest.mark.parametrize(
    ("calls", "value", "expected", "negated"),
    [
        *table(__file__, "arguments_that_cannot_be_read_match_nothing_and_rule_nothing_out"),
        ([DEEP], SEAT, "error", "error"),
        ([CUT, WHOLE], SEAT, "pass", "fail"),
    ],
)
def test_arguments_that_cannot_be_read_match_nothing_and_rule_nothing_out(gate, llm, calls, value, expected, negated):
    assert outcome(gate, llm, "trajectory:tool-args-match", value, calls) == expected
    assert outcome(gate, llm, "not-trajectory:tool-args-match", value, calls) == negated


def test_names_are_known_whatever_the_arguments(gate, llm):
    assert outcome(gate, llm, "trajectory:tool-used", "book", [CUT, DEEP]) == "pass"


@pytest.mark.parametrize("arguments", ['{"cmd": "rm -rf', '{"cmd": ' + "[" * 80 + "]" * 80 + "}"])
def test_what_a_shell_ran_is_read_or_unknown(gate, llm, arguments):
    none = {"type": "command", "pattern": "rm*", "max": 0}
    assert outcome(gate, llm, "trajectory:step-count", none, [written("shell", arguments)]) == "error"
    assert outcome(gate, llm, "not-trajectory:tool-used", "shell", [written("shell", arguments)]) == "error"
    assert outcome(gate, llm, "trajectory:step-count", none, [call("shell", cmd="ls")]) == "pass"


@pytest.mark.parametrize("value", ["shell", "SHELL", "rm", "rm *", ["refund", "rm -rf /"], {"name": "shell"}])
def test_a_command_is_a_call_by_its_name_its_line_and_its_program(gate, llm, value):
    ran = [call("shell", command=["rm", "-rf", "/"])]
    assert outcome(gate, llm, "not-trajectory:tool-used", value, ran) == "fail"
    assert outcome(gate, llm, "trajectory:tool-used", value, ran) == ("fail" if isinstance(value, list) else "pass")


def test_a_command_is_a_step_of_a_sequence_and_has_arguments(gate, llm):
    ran = [call("book"), call("shell", command="rm -rf /")]
    assert outcome(gate, llm, "trajectory:tool-sequence", {"mode": "exact", "steps": ["book"]}, ran) == "fail"
    assert outcome(gate, llm, "trajectory:tool-sequence", ["book", "shell"], ran) == "pass"
    wanted = {"name": "shell", "args": {"command": "rm -rf /"}}
    assert outcome(gate, llm, "not-trajectory:tool-args-match", wanted, ran) == "fail"


def test_calls_that_a_model_bundles_are_calls(gate, llm):
    refund = {"recipient_name": "functions.refund", "parameters": {"order": 7}}
    bundle = [call("multi_tool_use.parallel", tool_uses=[refund])]
    assert outcome(gate, llm, "not-trajectory:tool-used", "refund", bundle) == "fail"
    wanted = {"name": "refund", "args": {"order": 7}}
    assert outcome(gate, llm, "trajectory:tool-args-match", wanted, bundle) == "pass"
    inner = {"recipient_name": "functions.multi_tool_use.parallel", "parameters": {"tool_uses": [refund]}}
    for name in ("functions.multi_tool_use.parallel", "multi_tool_use.parallel"):
        for use in (refund, inner, {**inner, "parameters": json.dumps(inner["parameters"])}):
            nested = [call(name, tool_uses=[use])]
            assert outcome(gate, llm, "not-trajectory:tool-used", "refund", nested) == "fail", nested
        unread = [call(name, tool_uses=[{"recipient_name": 7}])]
        assert outcome(gate, llm, "not-trajectory:tool-used", "refund", unread) == "error"


def test_both_fields_of_a_message_tell_calls_and_a_call_with_two_names_tells_none(gate, llm):
    message = {"content": None, "tool_calls": [call("ls")], "function_call": {"name": "rm", "arguments": "{}"}}
    llm.reply = lambda path, body: chat("", message=message, finish_reason="tool_calls")
    check = {"type": "not-trajectory:tool-used", "value": "rm"}
    ran = gate({"prompts": ["go"], "providers": [llm.spec()], "tests": [{"assert": [check]}]})
    assert ran.grades[0]["outcome"] == "fail"
    assert [json.loads(ran.cases[0]["output"])[1]] == [message["function_call"]]
    assert recorded(gate, {"providerOutput": message, "assert": [check]})["outcome"] == "fail"
    assert outcome(gate, llm, "not-trajectory:tool-used", "rm", [{**call("ls"), "name": "rm"}]) == "error"


NAMELESS = ["", " ", None, "rm ", "rm -rf", "tools.rm", "default_api:rm", "r\u043c", "rm\u200b", "functions. rm", "functions."]


def test_what_is_no_plain_name_is_no_other_tool(gate, llm):
    """It may mean any tool: an error for `not-`, too. OpenAI's own namespace is no part of the name."""
    kinds = ["not-trajectory:tool-used", "trajectory:tool-used", "not-tool-call-f1", "tool-correctness"]
    values = [["rm"], ["rm"], ["rm"], ["rm"]]
    found = {(kind, name): outcome(gate, llm, kind, it, [call(name)]) for kind, it in zip(kinds, values, strict=True) for name in NAMELESS}
    assert {row: it for row, it in found.items() if it != "error"} == {}
    assert outcome(gate, llm, "not-trajectory:tool-used", ["rm"], [{"id": "c", "type": "function"}]) == "error"
    assert [outcome(gate, llm, kind, ["rm"], [call("functions.rm")]) for kind in kinds] == ["fail", "pass", "fail", "pass"]


def test_a_name_that_the_target_declares_is_one(gate, llm):
    message = {"content": None, "tool_calls": [call("Search the web"), call("maps.find")]}
    llm.reply = lambda path, body: chat("", message=message, finish_reason="tool_calls")
    tools = [{"type": "function", "function": {"name": name}} for name in ("Search the web", "maps.find")]
    checks = [{"type": "trajectory:tool-used", "value": "maps.find"}, {"type": "not-trajectory:tool-used", "value": "rm"}]
    ran = gate({"prompts": ["go"], "providers": [llm.spec(tools=tools)], "tests": [{"assert": checks}]})
    assert [grade["outcome"] for grade in ran.grades] == ["pass", "pass"]
