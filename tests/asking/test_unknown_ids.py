"""Ids that nobody serves: each is one mistake, and its cure names an id that is served."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.asking.options import check_id as check
from gradegate.asking.options import nearest
from gradegate.asking.provider import PROVIDERS, split_id
from gradegate.errors import ConfigError
from gradegate.values.suite import ProviderSpec
from support.each import table
from support.graded import mistakes

NEAREST = table(__file__, "NEAREST")


@pytest.mark.parametrize(("written", "served"), NEAREST)
def test_the_nearest_way_is_named_and_served(written, served):
    said = nearest(written)
    assert re.match(rf"write {re.escape(served)}(,|$)", said), said
    assert split_id(served)


@pytest.mark.parametrize(
    ("written", "near"),
    [("opnai:chat:a", "openai:chat:a"), ("ehco", "echo"), ("antropic:messages:m", "anthropic:messages:m"), ("olama:x", "ollama:x")],
)
def test_a_slip_of_the_pen_is_asked_about(written, near):
    assert nearest(written) == f'did you mean "{near}"?'


@pytest.mark.parametrize(("written", "url"), table(__file__, "an_address_is_an_application_or_a_server_of_openais_api"))
def test_an_address_is_an_application_or_a_server_of_openais_api(written, url):
    said = nearest(written)
    assert f"write {url} and a `body`" in said
    assert f"openai:chat:MODEL with `apiBaseUrl: {url}`" in said


def test_what_is_not_http_is_told_the_two_ways():
    said = nearest("grpc://host/x")
    assert "write the id `http` with `url`" in said
    assert "gradegate cases" in said


@pytest.mark.parametrize("written", ["nobody", "nobody:x", "", ":", "my-model-7"])
def test_what_says_nothing_is_told_the_forms_and_not_a_list_of_all(written):
    said = nearest(written)
    assert said.startswith("write VENDOR:MODEL, such as openai:chat:MODEL")
    assert "apiBaseUrl" in said
    assert len(said) < 250


def test_a_vendor_without_the_form_names_its_forms():
    assert nearest("azure:gpt-4o").startswith("write one of azure:assistant:MODEL, azure:chat:MODEL, azure:embedding:MODEL")
    assert "huggingface:chat:MODEL" in nearest("huggingface:sentence-similarity:m")


@given(st.text() | st.from_regex(r"[a-z]{1,9}[:/.-][a-z0-9:/.-]{0,20}", fullmatch=True))
def test_any_text_gets_a_cure(written: str):
    assert nearest(written)


AGENTS = table(__file__, "AGENTS")
MEDIA = table(__file__, "MEDIA")


@pytest.mark.parametrize("written", AGENTS + MEDIA)
def test_what_is_no_model_is_told_of_answers_made_elsewhere(written):
    with pytest.raises(ConfigError, match="gradegate run --answers FILE") as caught:
        check(ProviderSpec(written))
    assert len(caught.value.mistakes) == 1


@pytest.mark.parametrize(("written", "said"), table(__file__, "what_promptfoo_has_and_gradegate_has_not_is_named"))
def test_what_promptfoo_has_and_gradegate_has_not_is_named(written, said):
    with pytest.raises(ConfigError) as caught:
        check(ProviderSpec(written))
    assert said in str(caught.value)


def test_what_is_served_is_not_objected_to():
    for name, _ in PROVIDERS:
        check(ProviderSpec(f"{name}:model"))
    for written in ("openai:gpt-4o", "anthropic:claude-sonnet-4-5", "ollama:completion:m", "ollama:llama3", "https://host/x", "echo"):
        check(ProviderSpec(written))


def test_an_agent_with_many_options_is_one_mistake(gate):
    options = {"working_dir": "./src", "permission_mode": "plan", "append_allowed_tools": ["Read"], "model": "x"}
    provider = {"id": "anthropic:claude-agent-sdk", "config": options}
    config = {"prompts": ["hi"], "providers": [provider], "tests": [{"assert": [{"type": "contains", "value": "x"}]}]}
    ran = gate(config)
    assert "`anthropic:claude-agent-sdk` is an agent or a tool" in mistakes(ran)
    assert "1 mistake; nothing was asked" in ran.err


@pytest.mark.parametrize(("written", "meant"), table(__file__, "a_near_miss_of_a_form_is_no_name_of_a_model"))
def test_a_near_miss_of_a_form_is_no_name_of_a_model(written, meant):
    with pytest.raises(ConfigError, match=f'did you mean "{meant}"'):
        check(ProviderSpec(written))


@pytest.mark.parametrize("written", ["openai:ft:gpt-5:org::id", "ollama:llama3.2:3b", "openai:gpt-5", "groq:a:b"])
def test_a_model_may_have_colons(written):
    check(ProviderSpec(written))


def test_ids_with_commas_between_them_are_several(gate):
    with pytest.raises(ConfigError, match="names 2 models in one id"):
        check(ProviderSpec("openai:chat:a,anthropic:messages:b"))
    for written in ("exec:python a.py 1,openai:chat:b", "openai:chat:a,b", "http://127.0.0.1/?a=1,openai:chat:b"):
        check(ProviderSpec(written))
    config = {"prompts": ["a"], "providers": ["echo"], "tests": [{"assert": [{"type": "llm-rubric", "value": "a"}]}]}
    said = mistakes(gate(config, "--grader", "openai:chat:a,openai:chat:b"))
    assert "`openai:chat:a,openai:chat:b` names 2 models in one id -> name each model separately" in said
