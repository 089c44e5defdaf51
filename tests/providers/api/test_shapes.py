"""The shapes apart from any host: whatever a response holds, an answer is read or said to be missing."""

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.providers.api.anthropic_messages import Messages
from gradegate.providers.api.chat_api import ChatApi, ModelOutput, NoOutput, merge_bodies
from gradegate.providers.api.gemini import Gemini
from gradegate.providers.api.json_http import token_usage
from gradegate.providers.api.openai_chat import Completions, Responses
from gradegate.providers.ollama import OllamaChat
from support.vendors import CHAT, THOUGHT, claude, gemini, make_message, ollama, output_text, responses

SHAPES = {
    "completions": (Completions("m", {}), CHAT),
    "messages": (Messages("claude-sonnet-4-5", {}), claude({"type": "text", "text": "It is so."})),
    "gemini": (Gemini({}), gemini({"text": "It is so."})),
    "responses": (Responses("m", {}), responses(THOUGHT, make_message(output_text("It is so.")))),
    "ollama": (OllamaChat("m", {}), ollama("It is so.")),
}
_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def paths(value: Any, so_far: tuple = ()) -> list[tuple]:
    """Every place in a nested value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [so_far, *(path for key, item in items for path in paths(item, (*so_far, key)))]


def changed(value: Any, path: tuple, new: Any) -> Any:
    """The value with something else at one place."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


def read(shape: ChatApi, response: Any) -> ModelOutput | None:
    try:
        return shape.parse_response(response)
    except NoOutput:
        return None


@pytest.mark.parametrize("name", SHAPES)
def test_a_whole_response_is_read(name: str):
    shape, response = SHAPES[name]
    answer = shape.parse_response(response)
    assert (answer.text, answer.finish_reason, answer.refused, answer.tool_calls) == ("It is so.", "stop", False, [])
    assert shape.count_tokens(response) == (50, 10)


@given(st.data())
@pytest.mark.parametrize("name", SHAPES)
def test_a_response_with_anything_in_any_place_is_read_or_none(name: str, data: st.DataObject):
    shape, response = SHAPES[name]
    path = data.draw(st.sampled_from([path for path in paths(response) if path]))
    other = changed(response, path, data.draw(_anything))
    answer = read(shape, other)
    assert answer is None or isinstance(answer.text, str)
    known = token_usage({"cost": 1}, "m", *shape.count_tokens(other), 1.0).known_cost if isinstance(other, dict) else None
    assert known is None or known >= 0


@given(st.dictionaries(st.text(max_size=8), _anything, max_size=4))
@pytest.mark.parametrize("name", SHAPES)
def test_any_object_is_read_or_none(name: str, response: dict):
    answer = read(SHAPES[name][0], response)
    assert answer is None or isinstance(answer.text, str)


def test_parts_of_a_body_are_joined():
    assert merge_bodies({"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"y": 3}, "b": {"z": 1}}) == {"a": {"x": 1, "y": 3}, "b": {"z": 1}}


@pytest.mark.parametrize("name", ["chat_api", "openai_chat", "anthropic_messages", "gemini"])
def test_a_shape_knows_no_host_no_key_and_no_http(name: str):
    """So that another host of the same API is a short file."""
    tree = ast.parse(Path("src/gradegate/providers/api", f"{name}.py").read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    own = {module for module in imported if module.startswith("gradegate.")}
    ours = {f"gradegate.providers.api.{module}" for module in ("content", "chat_api")}
    assert own <= {*ours, "gradegate.errors", "gradegate.structs", "gradegate.core.conversation"}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"url", "host", "headers", "environ", "secret"}
