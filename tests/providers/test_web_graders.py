"""An application behind HTTP as the model that grades: text, embeddings, labels."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.asking import wire
from gradegate.errors import ProviderError, Trouble
from support.each import table
from support.fake_llm import FakeLlm
from support.graded import mistakes
from support.vendors import build

RUBRIC = {"type": "llm-rubric", "value": "is polite"}
SIMILAR = {"type": "similar", "value": "hello there", "threshold": 0.9}
CLASSIFIER = {"type": "classifier", "value": "kind", "threshold": 0.8}
VERDICT = json.dumps({"reason": "fine", "pass": True, "score": 1})


def app(llm: FakeLlm, path: str = "app", **config) -> dict:
    return {"id": f"{llm.base}/{path}", "config": {"body": {"q": "{{prompt}}"}, **config}}


def config(*assertions: dict, **keys) -> dict:
    return {"prompts": ["hello"], "providers": ["echo"], "tests": [{"assert": list(assertions)}], **keys}


def graders(**kinds) -> dict:
    return {"defaultTest": {"options": {"provider": kinds}}}


def test_an_application_grades_and_is_shown_all_messages(gate, llm: FakeLlm):
    llm.reply = lambda path, body: {"verdict": VERDICT}
    ran = gate(config(RUBRIC, **graders(text=app(llm, transformResponse="json.verdict"))))
    assert (ran.code, ran.grades[0]["outcome"]) == (0, "pass"), ran.err
    sent = llm.bodies[0]["q"]
    assert [message["role"] for message in sent][-1] == "user"
    assert "is polite" in json.dumps(sent)
    assert "hello" in json.dumps(sent)


def test_an_application_that_gives_no_verdict_is_an_error(gate, llm: FakeLlm):
    llm.reply = lambda path, body: {"verdict": "as you like"}
    ran = gate(config(RUBRIC, **graders(text=app(llm, transformResponse="json.verdict"))))
    assert (ran.code, ran.grades[0]["outcome"]) == (3, "error")


@pytest.mark.parametrize(("transform", "answer"), table(__file__, "an_application_embeds"))
def test_an_application_embeds(gate, llm: FakeLlm, transform, answer):
    llm.reply = lambda path, body: (200, answer)
    chosen = {"transformResponse": transform} if transform else {}
    ran = gate(config(SIMILAR, **graders(embedding=app(llm, **chosen))))
    assert (ran.code, ran.grades[0]["outcome"]) == (0, "pass"), ran.err
    assert [body["q"] for body in llm.bodies] == ["hello", "hello there"]
    assert ran.grades[0]["score"] == pytest.approx(1)


@pytest.mark.parametrize(("transform", "answer"), table(__file__, "an_application_classifies"))
def test_an_application_classifies(gate, llm: FakeLlm, transform, answer):
    llm.reply = lambda path, body: (200, answer)
    chosen = {"transformResponse": transform} if transform else {}
    ran = gate(config(CLASSIFIER, **graders(classification=app(llm, **chosen))))
    assert (ran.code, ran.grades[0]["outcome"]) == (0, "pass"), ran.err
    assert (llm.bodies[0]["q"], ran.grades[0]["score"]) == ("hello", 0.9)


@pytest.mark.parametrize("answer", [{"a": "x"}, [], ["x"], [True], {"embedding": None}, [[1, 0]], b"[NaN, 1]"])
def test_what_is_no_list_of_numbers_is_an_error(gate, llm: FakeLlm, answer):
    llm.reply = lambda path, body: (200, json.loads(answer) if isinstance(answer, bytes) else answer)
    ran = gate(config(SIMILAR, **graders(embedding=app(llm))))
    assert (ran.code, ran.grades[0]["outcome"]) == (3, "error")
    assert "returned an embedding that is not a list of numbers" in ran.grades[0]["reason"]


@pytest.mark.parametrize("answer", [b"no numbers", b"[" * 5000, b"[" + b"1," * 300_000 + b"1]"])
@pytest.mark.parametrize(("assertion", "kind"), [(SIMILAR, "embedding"), (CLASSIFIER, "classification")])
def test_what_is_no_json_or_too_much_is_an_error(gate, llm: FakeLlm, assertion, kind, answer):
    llm.reply = lambda path, body: {"made": answer.decode()}
    ran = gate(config(assertion, **graders(**{kind: app(llm, transformResponse="json.made")})))
    assert (ran.code, ran.grades[0]["outcome"]) == (3, "error")


@pytest.mark.parametrize("answer", [{"kind": "0.9"}, ["kind"], [{"label": 1, "score": 1}], {"kind": True}, [1.0]])
def test_what_is_no_label_with_a_score_is_an_error(gate, llm: FakeLlm, answer):
    llm.reply = lambda path, body: (200, answer)
    ran = gate(config(CLASSIFIER, **graders(classification=app(llm))))
    assert (ran.code, ran.grades[0]["outcome"]) == (3, "error")
    assert "answered without labels and scores" in ran.grades[0]["reason"]


def test_a_label_has_one_score():
    rows = [{"label": "a", "score": 0.1}, {"label": "a", "score": 0.1}, {"label": "b", "score": 1}]
    assert wire.labels(rows, "host") == {"a": 0.1, "b": 1.0}
    with pytest.raises(ProviderError, match="gave the label 'b' two scores"):
        wire.labels([*rows, {"label": "b", "score": 0.9}], "host")
    with pytest.raises(ProviderError, match="without labels and scores"):
        wire.labels({"a": 10**400}, "host")


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_json_is_labels_or_an_error(answer):
    try:
        found = wire.labels(answer, "host")
    except ProviderError as e:
        found = {}
        trouble = e.trouble
    else:
        trouble = Trouble.MALFORMED
    assert all(isinstance(label, str) and isinstance(score, float) for label, score in found.items())
    assert trouble is Trouble.MALFORMED


def test_the_assertion_itself_may_name_it(gate, llm: FakeLlm):
    llm.reply = lambda path, body: (200, [1.0, 0.0])
    assert gate(config({**SIMILAR, "provider": app(llm)})).code == 0


def test_the_command_line_may_name_it_by_its_file(gate, llm: FakeLlm):
    llm.reply = lambda path, body: (200, [1.0, 0.0])
    file = {"embed.yaml": json.dumps(app(llm))}
    assert gate(config(SIMILAR), "--grader", "embedding=file://embed.yaml", **file).code == 0


def test_an_application_named_for_any_kind_grades_text_alone(gate, llm: FakeLlm):
    """It cannot be known what it gives; asked for a vector it would be an error after the first paid call."""
    llm.reply = lambda path, body: (200, [1.0, 0.0])
    said = mistakes(gate(config(SIMILAR, defaultTest={"options": {"provider": app(llm)}})))
    assert "`similar` needs a model of the kind embedding" in said
    assert llm.requests == []
    default = {"options": {"provider": {"embedding": app(llm, "embed")}}}
    ran = gate(config(SIMILAR, defaultTest=default), "--grader", f"{llm.base}/judge/{{{{prompt}}}}")
    assert (ran.code, {path for path, *_ in llm.requests}) == (0, {"/v1/embed"})


@pytest.mark.parametrize("where", [{"body": {"q": "{{prompt}}", "u": "{{user}}"}}, {"headers": {"X-User": "{{user}}"}}])
def test_a_grader_that_asks_for_a_variable_of_a_test_is_a_mistake(gate, llm: FakeLlm, where):
    said = mistakes(gate(config(RUBRIC, **graders(text=app(llm, **where)))))
    assert "asks for `{{user}}`, but a grader gets no variables of a test -> write {{prompt}}" in said
    assert llm.requests == []


def test_its_key_is_bound_to_hosts_as_any(gate, llm: FakeLlm, monkeypatch):
    monkeypatch.setenv("JUDGE_TOKEN", "tok-123456789")
    bearer = app(llm, headers={"Authorization": "Bearer {{ env.JUDGE_TOKEN }}"})
    llm.reply = lambda path, body: (200, [1.0, 0.0])
    ran = gate(config(SIMILAR, **graders(embedding=bearer)), "--allowed-hosts", "elsewhere.example")
    assert (ran.code, llm.requests) == (2, [])
    assert f"would send JUDGE_TOKEN to 127.0.0.1:{llm.port}" in ran.err
    ran = gate(config(SIMILAR, **graders(embedding=bearer)), "--allowed-hosts", f"127.0.0.1:{llm.port}")
    assert ran.code == 0, ran.err
    assert "tok-123456789" not in ran.out + json.dumps(ran.results)


def test_a_request_without_the_text_is_a_mistake_that_names_openais_api_too(gate, llm: FakeLlm):
    said = mistakes(gate(config(RUBRIC, **graders(text=f"{llm.base}/chat/completions"))))
    assert "the same request -> put {{prompt}} into `body`" in said
    assert f"or write openai:chat:MODEL with `apiBaseUrl: {llm.base}`" in said


def test_what_an_embedding_costs_is_not_known(llm: FakeLlm):
    llm.reply = lambda path, body: (200, [1.0])
    _, usage = build(f"{llm.base}/e", {"body": {"q": "{{prompt}}"}}).embed(["a", "b"])
    assert (usage.calls, usage.known_cost) == (2, None)
