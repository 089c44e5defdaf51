"""Ids that nobody serves: each is one mistake, and its cure names an id that is served."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.provider_spec import ProviderSpec
from gradegate.errors import ConfigError
from gradegate.providers.api.options import check_id as check
from gradegate.providers.api.options import suggest_id
from gradegate.providers.api.provider import PROVIDERS, split_id
from support.each import each, table
from support.graded import mistakes


@each(("written", "served"), table(__file__, "NEAREST"))
def test_the_nearest_way_is_named_and_served(written, served):
    said = suggest_id(written)
    assert re.match(rf"write {re.escape(served)}(,|$)", said), said
    assert split_id(served)


@each(("written", "words"), table(__file__, "cures"))
def test_a_cure_names_the_forms_that_are_near(written, words):
    said = suggest_id(written)
    assert said == words if isinstance(words, str) else [text for text in words if text not in said] == []


@each("written", ["nobody", "nobody:x", "", ":", "my-model-7"])
def test_what_says_nothing_is_told_the_forms_and_not_a_list_of_all(written):
    said = suggest_id(written)
    assert said.startswith("write VENDOR:MODEL, such as openai:chat:MODEL")
    assert "apiBaseUrl" in said
    assert len(said) < 250


@given(st.text() | st.from_regex(r"[a-z]{1,9}[:/.-][a-z0-9:/.-]{0,20}", fullmatch=True))
def test_any_text_gets_a_cure(written: str):
    assert suggest_id(written)


@each(("written", "words"), table(__file__, "mistakes"))
def test_what_is_not_served_is_one_mistake(written, words):
    with pytest.raises(ConfigError) as caught:
        check(ProviderSpec(written))
    assert words in str(caught.value)
    assert len(caught.value.mistakes) == 1


def test_what_is_served_is_not_objected_to():
    for name, _ in PROVIDERS:
        check(ProviderSpec(f"{name}:model"))
    for written in table(__file__, "served"):
        check(ProviderSpec(written))


def test_an_agent_with_many_options_is_one_mistake(gate):
    options = {"working_dir": "./src", "permission_mode": "plan", "append_allowed_tools": ["Read"], "model": "x"}
    provider = {"id": "anthropic:claude-agent-sdk", "config": options}
    config = {"prompts": ["hi"], "providers": [provider], "tests": [{"assert": [{"type": "contains", "value": "x"}]}]}
    ran = gate(config)
    assert "`anthropic:claude-agent-sdk` is an agent or a tool" in mistakes(ran)
    assert "1 mistake; nothing was asked" in ran.err


def test_ids_with_commas_between_them_are_several_on_the_command_line_too(gate):
    config = {"prompts": ["a"], "providers": ["echo"], "tests": [{"assert": [{"type": "llm-rubric", "value": "a"}]}]}
    said = mistakes(gate(config, "--grader", "openai:chat:a,openai:chat:b"))
    assert "`openai:chat:a,openai:chat:b` names 2 models in one id -> name each model separately" in said
