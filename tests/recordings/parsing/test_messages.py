"""Messages as vendors write them: which tools were called is read, or it is a mistake, and never left out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import ConfigError, Origin
from gradegate.providers.api.content import CALLS
from gradegate.recordings.parsing.messages import RESULTS, parse_messages, turns_of_answer
from support.each import each, table

HERE = Origin("answers.jsonl", 1)
ASKED = {"role": "user", "content": "Where is it?"}
DONE = {"role": "assistant", "content": "done"}


def look(identity="1", arguments='{"x": 1}'):
    return {"id": identity, "type": "function", "function": {"name": "look", "arguments": arguments}}


def gave(**keys):
    return {"role": "tool", "content": "found", **keys}


CALLED = table(__file__, "CALLED")


@each("form", CALLED)
def test_calls_of_every_form_are_read(form):
    said = parse_messages([ASKED, *CALLED[form], DONE], HERE)
    assert [turn.role for turn in said] == ["user", "assistant", "assistant"]
    ((call,), none) = [turn.metadata[CALLS] for turn in said[1:]]
    assert call["function"] == {"name": "look", "arguments": '{"x": 1}'}
    assert none == []
    if len(CALLED[form]) > 1:
        assert [it["content"] for it in said[1].metadata[RESULTS]] == ["found"]


STRANGE = table(__file__, "STRANGE")


@each(("message", "said"), STRANGE)
def test_what_is_not_known_is_a_mistake(message, said):
    with pytest.raises(ConfigError, match=said) as raised:
        parse_messages([ASKED, message, DONE], HERE)
    (mistake,) = raised.value.mistakes
    assert mistake.origin == HERE
    assert mistake.cure


@each(("result", "fits"), table(__file__, "what_a_tool_gave_belongs_to_a_call"))
def test_what_a_tool_gave_belongs_to_a_call(result, fits):
    said = [ASKED, {"role": "assistant", "tool_calls": [look()]}, gave(**result), DONE]
    if fits:
        assert parse_messages(said, HERE)[1].metadata[RESULTS]
    else:
        with pytest.raises(ConfigError, match="no message before it has the call"):
            parse_messages(said, HERE)


def test_a_call_without_an_id_is_answered_by_its_name():
    said = [ASKED, {"role": "assistant", "tool_calls": [look("")]}, gave(tool_call_id="anything", name="look"), DONE]
    assert parse_messages(said, HERE)[1].metadata[RESULTS]
    with pytest.raises(ConfigError):
        parse_messages([*said, gave(tool_call_id="anything", name="other")], HERE)


def test_texts_of_parts_are_one_text_and_thoughts_are_none():
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "go"}, "o", {"type": "output_text", "text": "d"}]
    assert parse_messages([{"role": "assistant", "content": parts}], HERE)[0].content == "good"
    picture = [{"type": "image_url", "image_url": {"url": "http://x.test"}}, {"type": "text", "text": "this"}]
    assert parse_messages([{"role": "user", "content": picture}], HERE)[0].content == "this"


def test_a_refusal_in_words_is_the_answer():
    for message in ({"content": None, "refusal": "I will not."}, {"content": [{"type": "refusal", "refusal": "I will not."}]}):
        assert parse_messages([{"role": "assistant", **message}], HERE)[0].content == "I will not."


def test_keys_without_a_value_are_none():
    message = {"role": "assistant", "content": "x", "toolCalls": None, "tool_calls": None, "function_call": None}
    assert parse_messages([message], HERE)[0].metadata == {CALLS: []}


FEW = table(__file__, "FEW")


def test_what_the_prompt_says_is_no_answer():
    said = parse_messages([*FEW, DONE], HERE)
    assert [turn.content for turn in turns_of_answer(said, json.dumps(FEW))] == ["done"]
    assert [turn.content for turn in turns_of_answer(parse_messages([ASKED, DONE], HERE), json.dumps(FEW))] == ["done"]
    assert [turn.content for turn in turns_of_answer(parse_messages([ASKED, DONE], HERE), "Where is it?")] == ["done"]
    assert [turn.content for turn in turns_of_answer(parse_messages([DONE], HERE), "Where is it?")] == ["done"]
    assert list(turns_of_answer(parse_messages(FEW, HERE), json.dumps(FEW))) == []
    system = [{"role": "system", "content": "Be kind."}]
    assert [turn.content for turn in turns_of_answer(parse_messages([ASKED, DONE], HERE), json.dumps(system))] == ["done"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["text", "tool_use", "tool_result"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("type text name input content refusal id function".split()), inner, max_size=3)
    ),
    max_leaves=8,
)
ROLES = st.sampled_from(["user", "assistant", "tool", "function", "system", "other"])
KEYS = st.sampled_from("content tool_calls function_call tool_call_id name refusal more".split())


@given(st.lists(st.tuples(ROLES, st.dictionaries(KEYS, JSON, max_size=4)), max_size=5))
def test_no_messages_are_more_than_a_mistake(said):
    try:
        read = parse_messages([{"role": role, **keys} for role, keys in said], HERE)
    except ConfigError:
        return
    assert all(turn.role == "user" or CALLS in turn.metadata for turn in read)


def test_many_results_are_read_in_a_moment():
    calls = [{"role": "assistant", "tool_calls": [look(str(n))]} for n in range(20_000)]
    results = [gave(tool_call_id=str(n)) for n in range(20_000)]
    assert len(parse_messages([*calls, *[ASKED] * 20_000, *results], HERE)) == 40_000
