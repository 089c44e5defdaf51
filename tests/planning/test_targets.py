"""The models that the command line names: targets in place of the config's, and graders by kind."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import ConfigError
from gradegate.github.inputs import from_inputs
from gradegate.values.settings import graders
from support.checkouts import CONFIG, compared, said
from support.each import each, table
from support.fake_llm import FakeLlm
from support.graded import mistakes
from support.vendors import embeddings

PASSES = {"type": "contains", "value": "hi"}
RUBRIC = {"type": "llm-rubric", "value": "is polite"}
SIMILAR = {"type": "similar", "value": "hello", "threshold": 0.5}


def config(*tests: dict, **keys) -> dict:
    return {"prompts": ["hi"], **keys, "tests": list(tests) or [{"assert": [PASSES]}]}


def targets(ran) -> list[str]:
    assert ran.code == 0, ran.out + ran.err
    return [case["provider"] for case in ran.cases]


# --- targets --------------------------------------------------------------------------------------------------


def test_a_config_without_a_provider_is_given_one(gate):
    assert "the config names no provider" in mistakes(gate(config()))
    assert "name one in the workflow: `provider` (--provider ID)" in gate(config()).err
    for option in ("-r", "--provider", "--providers"):
        assert targets(gate(config(), option, "echo")) == ["echo"]


def test_the_command_line_replaces_the_targets_of_the_config(gate, llm: FakeLlm):
    assert targets(gate(config(providers=["openai:chat:never-asked"]), "-r", "echo")) == ["echo"]
    assert llm.requests == []


def test_a_label_or_an_id_chooses_a_target_of_the_config(gate):
    named = [{"id": "echo", "label": "a"}, {"id": "echo", "label": "b"}, "scripted:none.yaml"]
    assert targets(gate(config(providers=named), "-r", "b")) == ["b"]
    assert targets(gate(config(providers=named), "-r", "echo")) == ["a", "b"]


def test_a_file_of_providers_is_read_where_the_command_is_started(gate):
    content = "- {id: echo, label: one}\n- {id: echo, label: two}\n"
    ran = gate(config(), "-r", "file://models/all.yaml", **{"models/all.yaml": content})
    assert targets(ran) == ["one", "two"]


def test_what_is_no_provider_is_a_mistake_beside_the_others(gate):
    wrong = config({"assert": [{"type": "no-such-type"}]}, providers=["echo"])
    said = mistakes(gate(wrong, "-r", "gpt-4.1-mini", "-r", "file://missing.yaml"))
    assert "--provider: no such provider `gpt-4.1-mini`" in said
    assert "`file://missing.yaml` does not exist" in said
    assert "no-such-type" in said


def test_a_replaced_target_may_grade_all_the_same(gate, llm: FakeLlm):
    llm.reply = lambda path, body: json.dumps({"reason": "fine", "pass": True, "score": 1})
    spec = {**llm.spec("judge"), "label": "judge"}
    ran = gate(config({"assert": [RUBRIC], "options": {"provider": "judge"}}, providers=[spec]), "-r", "echo")
    assert targets(ran) == ["echo"]
    assert [body["model"] for body in llm.bodies] == ["judge"]


def test_a_test_that_is_for_another_target_of_the_config_is_left_out(gate):
    tests = [{"assert": [PASSES], "providers": ["a"]}, {"assert": [PASSES], "providers": ["b"]}]
    named = [{"id": "echo", "label": "a"}, {"id": "echo", "label": "b"}]
    assert targets(gate(config(*tests, providers=named), "-r", "a")) == ["a"]
    assert "no test asserts anything" in mistakes(
        gate(config(*tests, providers=named), "-r", "scripted:x.yaml", **{"x.yaml": "[{reply: hi}]"})
    )


def test_inputs_of_the_action_by_lines(tmp_path):
    settings = from_inputs(
        {"INPUT_PROVIDER": "echo\nopenai:chat:m\n", "INPUT_GRADER": "openai:chat:a\nembedding=openai:embedding:b"}, tmp_path
    )
    assert settings.run.providers == ("echo", "openai:chat:m")
    assert settings.run.graders == {"*": "openai:chat:a", "embedding": "openai:embedding:b"}
    wrong = from_inputs({"INPUT_GRADER": "embeding=openai:embedding:b"}, tmp_path)
    assert [mistake.cure for mistake in wrong.mistakes] == ['did you mean "embedding"?']


# --- graders --------------------------------------------------------------------------------------------------


@each(("written", "found"), table(__file__, "graders_by_kind"))
def test_graders_by_kind(written, found):
    assert graders(written) == found


@each(("written", "said"), table(__file__, "what_cannot_be_a_grader_is_a_mistake"))
def test_what_cannot_be_a_grader_is_a_mistake(written, said):
    with pytest.raises(ConfigError) as caught:
        graders(written)
    assert str(caught.value) == said


@given(st.lists(st.text()))
def test_any_text_is_a_grader_or_a_mistake(written: list[str]):
    with suppress(ConfigError):
        assert all(graders(written).values())


@pytest.fixture
def judge(gate, llm: FakeLlm, monkeypatch: pytest.MonkeyPatch) -> FakeLlm:
    """OpenAI's two APIs at one address that the environment names."""
    monkeypatch.setenv("OPENAI_BASE_URL", llm.base)
    monkeypatch.setenv("OPENAI_API_KEY", "k")

    def reply(path: str, body: dict):
        if path.endswith("/embeddings"):
            return embeddings(*([1.0, 0.0] for _ in body["input"]))
        return json.dumps({"reason": "fine", "pass": True, "score": 1})

    llm.reply = reply
    return llm


BOTH = config({"assert": [RUBRIC, SIMILAR]}, providers=["echo"])


@each("arguments", table(__file__, "a_grader_for_each_kind"))
def test_a_grader_for_each_kind(gate, judge: FakeLlm, arguments):
    assert gate(BOTH, *arguments).code == 0
    assert sorted((path, body["model"]) for path, body, _ in judge.requests) == [("/v1/chat/completions", "t"), ("/v1/embeddings", "e")]


def test_a_grader_for_one_kind_leaves_the_others_to_the_config(gate, judge: FakeLlm):
    default = {"options": {"provider": {"text": "openai:chat:d", "embedding": "openai:embedding:d"}}}
    assert gate({**BOTH, "defaultTest": default}, "-g", "embedding=openai:embedding:e").code == 0
    assert sorted(body["model"] for body in judge.bodies) == ["d", "e"]


def test_a_grader_in_a_file_has_options(gate, judge: FakeLlm):
    file = {"e.yaml": "id: openai:embedding:e\nconfig: {dimensions: 2}\n"}
    assert gate(BOTH, "-g", "openai:chat:t", "-g", "embedding=file://e.yaml", **file).code == 0
    assert [body["dimensions"] for body in judge.bodies if "input" in body] == [2]


def test_a_key_in_the_file_of_a_grader_is_hidden(gate, llm: FakeLlm):
    key = "sk-written-into-the-file-1"
    llm.reply = lambda path, body: (401, {"error": f"Incorrect API key provided: {key}"})
    file = {"g.yaml": json.dumps({"id": "openai:chat:t", "config": {"apiBaseUrl": llm.base, "apiKey": key}})}
    ran = gate(config({"assert": [RUBRIC]}, providers=["echo"]), "-g", "file://g.yaml", **file)
    assert "Incorrect API key provided: ***" in ran.grades[0]["reason"]
    assert key not in ran.out + ran.err + json.dumps(ran.results)


@each(("assertion", "named"), table(__file__, "an_assertion_without_its_model_says_how_to_name_one"))
def test_an_assertion_without_its_model_says_how_to_name_one(gate, judge, assertion, named):
    assert f"configured -> name a model with {named}" in mistakes(gate(config({"assert": [assertion]}, providers=["echo"])))


@each(("grader", "cure"), table(__file__, "a_chat_model_alone_says_what_to_write_for_embeddings"))
def test_a_chat_model_alone_says_what_to_write_for_embeddings(gate, judge, monkeypatch, grader, cure):
    for variable in ("MISTRAL_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, "k")
    said = mistakes(gate(BOTH, "--grader", grader))
    assert f"`similar` needs a model of the kind embedding, and `{grader}` is not one" in said
    assert cure in said


def test_a_model_that_is_named_for_a_kind_is_meant(gate, judge: FakeLlm):
    default = {"options": {"provider": {"text": "openai:chat:t", "embedding": "openai:embedding:e"}}}
    said = mistakes(gate({**BOTH, "defaultTest": default}, "--grader", "embedding=openai:chat:m"))
    assert "`similar` needs a model of the kind embedding, and `openai:chat:m` is not one" in said


def test_a_server_of_ones_own_is_named_with_its_address(gate, llm: FakeLlm):
    said = mistakes(gate(config({"assert": [SIMILAR]}, providers=["echo"], defaultTest={"options": {"provider": llm.spec()}})))
    assert "`provider: {text: ..., embedding: ...}`, with the same `config`, or --grader" in said


def test_the_cure_that_is_named_works(gate, judge: FakeLlm):
    assert gate(BOTH, "--grader", "text=openai:chat:t,embedding=openai:embedding:MODEL").code == 0


# --- beside a base --------------------------------------------------------------------------------------------


def changed(before: dict, after: dict) -> list[str]:
    """What is said of a gate whose config changed."""
    return [said(change) for change in compared({CONFIG: before}, {CONFIG: after}).found]


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
    found = compared(one, other, graders={"embedding": "file://g.yaml"}).found
    assert [("openai:embedding:a" in said(change), "openai:embedding:b" in said(change)) for change in found] == [(True, True)]


def test_the_targets_that_the_workflow_names_are_those_of_both_sides():
    before = config({"assert": [PASSES]}, providers=["echo"])
    after = config({"assert": [PASSES]}, providers=["scripted:easy.yaml"])
    assert compared({CONFIG: before}, {CONFIG: after}, providers=("echo",)).found == ()
