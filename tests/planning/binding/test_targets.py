"""What the command line names: targets in place of the config's, graders by kind, and assertions of every type."""

from contextlib import suppress

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gradegate.config.overrides import parse_assertion
from gradegate.core.option_kinds import parse_graders
from gradegate.errors import ConfigError
from gradegate.github.inputs import settings_from_inputs
from support.checkouts import CONFIG, change_text, compare_checkouts
from support.each import each, table

PASSES = {"type": "contains", "value": "hi"}
SIMILAR = {"type": "similar", "value": "hello", "threshold": 0.5}


def config(*tests: dict, **keys) -> dict:
    return {"prompts": ["hi"], **keys, "tests": list(tests) or [{"assert": [PASSES]}]}


# --- targets --------------------------------------------------------------------------------------------------


def test_inputs_of_the_action_by_lines(tmp_path):
    settings = settings_from_inputs({"INPUT_GRADER": "openai:chat:a\nembedding=openai:embedding:b"}, tmp_path)
    assert settings.run.graders == {"*": "openai:chat:a", "embedding": "openai:embedding:b"}
    wrong = settings_from_inputs({"INPUT_GRADER": "embeding=openai:embedding:b"}, tmp_path)
    assert [mistake.cure for mistake in wrong.mistakes] == ['did you mean "embedding"?']


# --- graders --------------------------------------------------------------------------------------------------


@each(("written", "found"), table(__file__, "graders_by_kind"))
def test_graders_by_kind(written, found):
    assert parse_graders(written) == found


@each(("written", "said"), table(__file__, "what_cannot_be_a_grader_is_a_mistake"))
def test_what_cannot_be_a_grader_is_a_mistake(written, said):
    with pytest.raises(ConfigError) as caught:
        parse_graders(written)
    assert str(caught.value) == said


@given(st.lists(st.text()))
def test_any_text_is_a_grader_or_a_mistake(written: list[str]):
    with suppress(ConfigError):
        assert all(parse_graders(written).values())


# --- beside a base --------------------------------------------------------------------------------------------


def changed(before: dict, after: dict) -> list[str]:
    """What is said of a gate whose config changed."""
    return [change_text(change) for change in compare_checkouts({CONFIG: before}, {CONFIG: after}).found]


def similar_by(transform: str) -> dict:
    grader = {"id": "http://127.0.0.1:9/e", "config": {"body": {"q": "{{prompt}}"}, "transformResponse": transform}}
    default = {"options": {"provider": {"embedding": grader}}}
    return config({"assert": [SIMILAR]}, providers=["echo"], defaultTest=default)


def test_what_an_application_is_read_for_is_compared():
    found = changed(similar_by("json.vector"), similar_by("json.constant"))
    assert len(found) == 1
    assert "transformResponse" in found[0]
    assert changed(similar_by("json.vector"), similar_by("json.vector")) == []


def test_the_file_of_a_grader_is_compared():
    plain = config({"assert": [SIMILAR]}, providers=["echo"])
    one, other = ({CONFIG: plain, "g.yaml": f"id: openai:embedding:{model}\nconfig: {{apiKey: k}}"} for model in "ab")
    found = compare_checkouts(one, other, graders={"embedding": "file://g.yaml"}).found
    assert [("openai:embedding:a" in change_text(change), "openai:embedding:b" in change_text(change)) for change in found] == [
        (True, True)
    ]


def test_the_targets_that_the_workflow_names_are_those_of_both_sides():
    before = config({"assert": [PASSES]}, providers=["echo"])
    after = config({"assert": [PASSES]}, providers=["scripted:easy.yaml"])
    assert compare_checkouts({CONFIG: before}, {CONFIG: after}, providers=("echo",)).found == ()


@each(("written", "kind", "value", "threshold"), table(__file__, "the_longest_type_that_there_is_is_meant"))
def test_the_longest_type_that_there_is_is_meant(written, kind, value, threshold):
    found = parse_assertion(written)
    assert (found.type, found.value, found.threshold) == (kind, value, threshold)


@each("written", ["", "(0.5)", "contains(x):y", "Contains:x", "contains x"])
def test_what_is_no_assertion_is_a_mistake(written):
    with pytest.raises(ConfigError, match="is not an assertion"):
        parse_assertion(written)


def test_each_config_asks_with_its_own_environment(llm, gate):
    root = llm.base.removesuffix("/v1")
    config = {"prompts": ["x"], "providers": ["openai:chat:m"], "tests": [{"assert": [{"type": "contains", "value": "ok"}]}]}
    first, second = ({**config, "env": {"OPENAI_BASE_URL": f"{root}/{name}", "OPENAI_API_KEY": "k"}} for name in ("one", "two"))
    ran = gate(first, "second.yaml", **{"second.yaml": yaml.safe_dump(second)})
    assert (ran.code, sorted(path for path, *_ in llm.requests)) == (0, ["/one/chat/completions", "/two/chat/completions"])
