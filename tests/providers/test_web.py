import json
from contextlib import suppress
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.asking import httpreply
from gradegate.errors import ConfigError, ProviderError, Trouble
from gradegate.http.response import Response
from gradegate.values.conversation import IS_DATA, Message
from support.each import table
from support.fake_llm import FakeLlm
from support.graded import mistakes
from support.vendors import ask, build, headers, path

HOSTILE = 'He said "no"\n{{ env.KEY }} \\ {"pass": true} </x> ü'


def app(llm: FakeLlm, body=None, env=None, **config):
    if body is not None:
        config["body"] = body
    return build("http", {"url": llm.base, **config}, **(env or {}))


def test_a_body_is_filled_value_by_value(llm: FakeLlm):
    llm.reply = lambda path, body: {"answer": "It is so."}
    model = app(llm, {"q": "{{prompt}}", "n": 3, "deep": [{"who": "I am {{name}}"}]}, transformResponse="json.answer")
    reply = ask(model, ("user", HOSTILE), name='"Ann"')
    assert reply.text == "It is so."
    assert llm.bodies == [{"q": HOSTILE, "n": 3, "deep": [{"who": 'I am "Ann"'}]}]
    assert headers(llm)["content-type"] == "application/json"
    assert reply.usage.known_cost is None


@pytest.mark.parametrize("template", ['{"q": "{{prompt}}"}', '{"q": {{prompt | dump}}}', '{% if prompt %}{"q": "{{prompt}}"}{% endif %}'])
def test_a_body_of_json_text_stays_json(llm: FakeLlm, template: str):
    llm.reply = lambda path, body: {}
    ask(app(llm, template, headers={"content-type": "application/json"}), ("user", HOSTILE))
    assert llm.bodies == [{"q": HOSTILE}]


@given(st.text())
def test_no_text_breaks_out_of_a_body(text: str):
    for template in ({"q": "{{prompt}}."}, '{"q": "{{prompt}}."}', '{% if true %}{"q": "{{prompt}}."}{% endif %}'):
        made, _ = httpreply.body(template, {"Content-Type": "application/json"}, {"prompt": text})
        assert made is not None
        found = json.loads(made)
        assert list(found) == ["q"]
        assert found["q"].endswith(".")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_no_text_breaks_out_of_an_address(text: str):
    made = httpreply.address("https://host/a/{{prompt}}/b?c={{prompt}}", {"d": "{{prompt}}"}, {"prompt": text})
    assert made.startswith("https://host/a/")
    assert made.count("/") == 5
    assert made.count("&") == 1
    assert "#" not in made


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_template_may_encode_a_value_itself(text: str):
    plain = httpreply.address("https://host/?c={{ q }}&d={{ q }}", {}, {"q": text})
    for written in ("{{ q | urlencode }}", "{{q|urlencode()}}", "{{ q | replace('', '') | urlencode }}"):
        assert unquote(httpreply.address(f"https://host/?c={written}&d={{{{ q }}}}", {}, {"q": text})) == unquote(plain)
    made = httpreply.address("https://host/?c={{ q ~ q | urlencode }}", {}, {"q": text})
    assert not set("/?&#").intersection(made.removeprefix("https://host/?"))


def test_an_address_may_have_filters(gate, llm: FakeLlm):
    llm.reply = lambda path, body: {"said": "fine"}
    address = llm.base + "/app/{{ q | urlencode }}?u={{ q | upper | urlencode }}"
    target = {"id": "http", "config": {"url": address, "method": "GET", "transformResponse": "json.said"}}
    test = {"vars": {"q": "a b&c"}, "assert": [{"type": "equals", "value": "fine"}]}
    assert gate({"prompts": ["{{q}}"], "providers": [target], "tests": [test]}).code == 0
    assert [asked for asked, _, _ in llm.requests] == ["/v1/app/a%20b%26c?u=A%20B%26C"]


def test_an_address_that_cannot_be_filled_in_is_named(gate):
    target = {"id": "http", "config": {"url": "http://127.0.0.1:1/{{ q | join(',') }}"}}
    test = {"vars": {"q": "a"}, "assert": [{"type": "equals", "value": "fine"}]}
    said = mistakes(gate({"prompts": ["{{q}}"], "providers": [target], "tests": [test]}))
    assert "`url` cannot be filled in: `join`" in said


def test_a_chat_prompt_and_a_conversation_stand_as_lists(llm: FakeLlm):
    llm.reply = lambda path, body: {}
    said = (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))
    ask(app(llm, {"messages": "{{ messages | dump }}", "last": "{{prompt}}"}), *said)
    assert llm.bodies[0]["messages"] == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]
    assert llm.bodies[0]["last"] == "c"
    ask(app(llm, {"messages": "{{prompt}}"}), ("user", '[{"role": "user", "content": "hi"}]'))
    assert llm.bodies[1]["messages"] == [{"role": "user", "content": "hi"}]


def test_scalars_stay_texts(llm: FakeLlm):
    llm.reply = lambda path, body: {}
    ask(app(llm, {"q": "{{prompt}}", "n": "{{n}}"}), ("user", "42"), n="true")
    assert llm.bodies == [{"q": "42", "n": "true"}]


def test_an_address_as_id_with_values_that_stay_in_their_place(llm: FakeLlm):
    llm.reply = lambda path, body: {}
    model = build(f"{llm.base}/users/{{{{id}}}}?q={{{{prompt}}}}", {"queryParams": {"r": "{{prompt}}"}})
    ask(model, ("user", "a&b=c/../#"), id="../../admin?x=1")
    assert path(llm) == ("/v1/users/..%2F..%2Fadmin%3Fx%3D1?q=a%26b%3Dc%2F..%2F%23&r=a%26b%3Dc%2F..%2F%23")


def test_the_environment_stands_in_addresses_and_headers_as_it_is(llm: FakeLlm):
    llm.reply = lambda path, body: {}
    env = {"WHERE": llm.base, "TOKEN": "t/1="}
    config = {"url": "{{env.WHERE}}/{{prompt}}", "headers": {"Authorization": "Bearer {{ env.TOKEN }}", "X-Q": "{{n}}"}}
    model = build("http", config, **env)
    assert model.host == f"127.0.0.1:{llm.port}"
    ask(model, ("user", "hi"), n=7)
    assert path(llm) == "/v1/hi"
    assert (headers(llm)["authorization"], headers(llm)["x-q"]) == ("Bearer t/1=", "7")


@pytest.mark.parametrize("body", ["q={{prompt}}", "q={{prompt | urlencode}}"])
def test_a_form(body: str):
    made, kind = httpreply.body(body, {"Content-Type": "application/x-www-form-urlencoded"}, {"prompt": "a&b=c d"})
    assert (made, kind) == (b"q=a%26b%3Dc%20d", "")


def test_a_plain_text():
    made, kind = httpreply.body("say {{prompt}}", {}, {"prompt": 'a "b"'})
    assert (made, kind) == (b'say a "b"', "text/plain; charset=utf-8")


def test_a_body_that_is_no_json_once_filled_in_is_not_sent(llm: FakeLlm):
    with pytest.raises(ProviderError, match="the body is not JSON once it is filled in") as caught:
        ask(app(llm, '{"n": {{n}}, "q": "{{prompt}}"}'), ("user", "hi"))
    assert caught.value.trouble is Trouble.SETUP
    assert llm.requests == []


@pytest.mark.parametrize(("transform", "body", "text"), table(__file__, "where_the_answer_stands"))
def test_where_the_answer_stands(transform, body: str, text: str):
    assert httpreply.parse(transform).apply(body, Response(200, {"x-kind": "k"}, body.encode(), "host"))[0] == text


def test_documents_of_the_answer_are_kept_for_the_context(gate, llm: FakeLlm):
    llm.reply = lambda path, body: (
        {"reply": "Paris", "sources": ["Paris is the capital."]} if path.endswith("/app") else "Paris is the capital."
    )
    ran = gate(
        {
            "prompts": ["{{question}}"],
            "providers": [
                {
                    "id": f"{llm.base}/app",
                    "config": {"body": {"q": "{{prompt}}"}, "transformResponse": "{output: json.reply, metadata: {docs: json.sources}}"},
                }
            ],
            "defaultTest": {"options": {"provider": llm.spec()}},
            "tests": [
                {
                    "vars": {"question": "capital?", "query": "capital?"},
                    "assert": [
                        {"type": "equals", "value": "Paris"},
                        {"type": "context-relevance", "contextTransform": "context.metadata.docs", "threshold": 1},
                    ],
                }
            ],
        }
    )
    assert [grade["outcome"] for grade in ran.grades] == ["pass", "pass"], ran.grades
    assert "Paris is the capital." in llm.prompts[1]


@pytest.mark.parametrize(("transform", "body", "words"), table(__file__, "an_answer_without_its_output_is_an_error"))
def test_an_answer_without_its_output_is_an_error(transform, body, words):
    with pytest.raises(ProviderError) as caught:
        httpreply.parse(transform).apply(body, Response(200, {}, body.encode(), "host"))
    assert words in str(caught.value)
    assert caught.value.trouble is Trouble.MALFORMED


def test_data_is_marked_so_that_code_sees_data():
    def marked(transform, body):
        return IS_DATA in httpreply.parse(transform).apply(body, Response(200, {}, b"", "host"))[1]

    assert marked(None, '{"a": 1}')
    assert marked("json.a", '{"a": [1]}')
    assert marked("[json.a]", '{"a": 1}')
    assert not marked("json.a", '{"a": "x"}')
    assert not marked(None, "text")


@pytest.mark.parametrize(("transform", "words"), table(__file__, "what_cannot_run_is_a_mistake"))
def test_what_cannot_run_is_a_mistake(llm: FakeLlm, transform, words):
    with pytest.raises(ConfigError) as caught:
        app(llm, {"q": "{{prompt}}"}, transformResponse=transform)
    assert words in str(caught.value)


@pytest.mark.parametrize(("transform", "body", "sent"), table(__file__, "a_request_may_be_made_by_javascript"))
def test_a_request_may_be_made_by_javascript(llm: FakeLlm, transform, body, sent):
    llm.reply = lambda path, body: {"answer": "x"}
    model = app(llm, body, transformRequest=transform, method="POST", transformResponse="json.answer")
    assert ask(model, ("user", "hi"), name="Ann").text == "x"
    assert llm.bodies == [sent]


@pytest.mark.parametrize(("transform", "words"), table(__file__, "a_request_that_cannot_be_made_is_an_error"))
def test_a_request_that_cannot_be_made_is_an_error(llm: FakeLlm, transform, words):
    with pytest.raises(ProviderError, match=f"transformRequest of http {words}"):
        ask(app(llm, {"q": "{{prompt}}"}, transformRequest=transform), ("user", "hi"))
    assert llm.bodies == []


@given(st.text())
def test_any_text_is_a_path_or_a_mistake(text: str):
    with suppress(ValueError):
        assert isinstance(httpreply.parse(text), httpreply.Extract | httpreply.Computed)


@pytest.mark.parametrize(("config", "what"), table(__file__, "mistakes_before_any_call"))
def test_mistakes_before_any_call(config, what):
    with pytest.raises(ConfigError) as caught:
        build("http", config)
    assert what in str(caught.value)
    assert str(caught.value).startswith("promptfooconfig.yaml:7: ")


def test_an_error_status_is_in_the_applications_words(llm: FakeLlm):
    llm.reply = lambda path, body: (500, {"error": "database is down"})
    with pytest.raises(ProviderError, match="answered 500: database is down"):
        ask(app(llm, {"q": "{{prompt}}"}))


def test_the_method_follows_the_body(llm: FakeLlm):
    assert vars(app(llm, {"q": "{{prompt}}"}))["_method"] == "POST"
    assert vars(app(llm, queryParams={"q": "{{prompt}}"}))["_method"] == "GET"
    assert vars(app(llm, {"q": "{{prompt}}"}, method="put"))["_method"] == "PUT"


@pytest.mark.parametrize("method", ["GET /x", "POST\r\nX: y", "G@T", "GET HTTP/1.1", "{{x}}"])
def test_what_is_no_method_is_a_mistake(method: str):
    with pytest.raises(ConfigError, match="is not an HTTP method -> write one"):
        build("http://127.0.0.1:1/", {"method": method, "body": {"p": "{{prompt}}"}})


@pytest.mark.parametrize("method", ["get", "PATCH", "query"])
def test_any_method_is_taken(method: str):
    build("http://127.0.0.1:1/", {"method": method, "body": {"p": "{{prompt}}"}})
