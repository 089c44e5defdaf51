"""Calls against the schemas of the target's tools, and against the names that are expected."""

import pytest

from support.fake_llm import chat


def test_a_text_of_many_objects_is_read_in_a_moment(gate):
    test = {"providerOutput": "{} " * 200_000, "assert": [{"type": "tool-call-f1", "value": ["weather"]}]}
    assert gate({"tests": [test]}).grades[0]["outcome"] == "fail"


@pytest.mark.parametrize(("value", "said"), [("[" * 30_000 + "]" * 30_000, "deeper than 64 levels"), ("9" * 5_000, "too many digits")])
def test_arguments_far_beyond_a_limit_are_neither_valid_nor_invalid(gate, llm, value, said):
    call = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": f'{{"city": {value}}}'}}
    llm.reply = lambda path, body: chat("", message={"content": None, "tool_calls": [call]})
    tools = [{"type": "function", "function": {"name": "weather"}}]
    check = {"assert": [{"type": "not-is-valid-openai-tools-call"}]}
    (grade,) = gate({"prompts": ["x"], "providers": [llm.spec(tools=tools)], "tests": [check]}).grades
    assert (grade["outcome"], said in grade["reason"]) == ("error", True)
