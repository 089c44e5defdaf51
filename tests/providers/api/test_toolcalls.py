"""Tool calls of every vendor in one form, and the tools that they may call."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.providers.api.content import NO_PARAMETERS, calls_in_text, function_schemas, parse_calls, uniform_call
from support.each import table

WEATHER = {"name": "weather", "arguments": '{"city": "Bern"}'}


@pytest.mark.parametrize(("call", "identity"), table(__file__, "calls_of_every_vendor_have_one_form"))
def test_calls_of_every_vendor_have_one_form(call, identity):
    assert uniform_call(call) == {"id": identity, "type": "function", "function": WEATHER}
    assert parse_calls([call]) == parse_calls(call) == [uniform_call(call)]


@pytest.mark.parametrize(("call", "name", "kind"), table(__file__, "what_is_no_function_of_the_caller_keeps_its_type"))
def test_what_is_no_function_of_the_caller_keeps_its_type(call, name, kind):
    uniformed = uniform_call(call)
    assert (uniformed["function"]["name"], uniformed["type"]) == (name, kind)
    assert isinstance(uniformed["function"]["arguments"], str)


@pytest.mark.parametrize("text", table(__file__, "a_text_may_consist_of_calls"))
def test_a_text_may_consist_of_calls(text):
    assert [call["function"] for call in calls_in_text(text)] == [WEATHER]


@pytest.mark.parametrize(
    "text", ["", "weather", "[]", "{}", "[1]", '[{"name": "Ann"}]', '{"name": "Ann", "type": "person"}', "[" * 9000, '{"function": "f"}']
)
def test_any_other_text_has_none(text):
    assert calls_in_text(text) is None


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["name", "function", "type", "tool_calls", "arguments", "functionCall", "toolCall", "input"]), inner
            )
        ),
    )
)
def test_whatever_is_told_is_in_the_form_or_none(value):
    for call in parse_calls(value) or ():
        assert set(call) == {"id", "type", "function"}
        assert all(isinstance(call["function"][key], str) for key in ("name", "arguments"))


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


@pytest.mark.parametrize("config", table(__file__, "tools_of_every_vendor_are_read"))
def test_tools_of_every_vendor_are_read(config):
    assert function_schemas(config) == {"weather": SCHEMA}


def test_a_tool_without_parameters_takes_none():
    assert function_schemas({"tools": [{"type": "function", "function": {"name": "now"}}]}) == {"now": NO_PARAMETERS}
    assert function_schemas({}) is function_schemas({"tools": []}) is None
