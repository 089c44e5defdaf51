"""Applications behind HTTP: nothing breaks out of a request, and any answer is read or is an error."""

import json
from contextlib import suppress
from urllib.parse import parse_qs, unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gradegate.core.conversation import IS_DATA
from gradegate.errors import ProviderError, Trouble
from gradegate.http.exchange import Response
from gradegate.providers.api import json_http as wire
from gradegate.providers.api import request_template as httpreply
from support.each import each, table
from support.exchanges import exchanges
from support.fake_llm import FakeLlm
from support.vendors import build

test_an_exchange = exchanges(__file__)


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ['x", "admin": "1', 'x"}, {"q": "', "1, 2", "\\", '\\", "a": "', "1&admin=1"]
)
BODIES = (
    {"q": "{{prompt}}."},
    '{"q": "{{prompt}}."}',
    '{% if true %}{"q": "{{prompt}}."}{% endif %}',
    '{"q": "{{prompt}}.", "n": {{n}}}',
    '{"n": {{ list | dump }}, "q": {{ (prompt ~ ".") | dump }}}',
    '{% set said %}{{ prompt }}.{% endset %}{"q": "{{ said }}", "n": [{% for it in list %}{{ it | dump }}{{ "," if not loop.last }}{% endfor %}]}',
    '{% set it %}"q": "{{ prompt }}."{% endset %}{ {{ it }}, "n": {{n}} }',
    """{{ '{"q": "' ~ prompt ~ '."}' }}""",
)


@given(TEXTS)
def test_no_text_breaks_out_of_a_body(text: str):
    for template in BODIES:
        made, _ = httpreply.fill_body(template, {"Content-Type": "application/json"}, {"prompt": text, "n": 3, "list": ["a", text]})
        assert made is not None
        found = json.loads(made)
        assert {**found, "n": 3} == {"q": f"{text}.", "n": 3}


@given(TEXTS)
def test_a_value_outside_of_quotes_is_one_value_of_json(text: str):
    try:
        made, _ = httpreply.fill_body('{"n": {{n}}, "q": {{prompt}}}', {"Content-Type": "application/json"}, {"prompt": text, "n": 3})
    except ValueError:
        return
    assert made is not None
    assert json.loads(made) == {"n": 3, "q": json.loads(text)}


@given(TEXTS)
def test_no_text_breaks_out_of_a_form(text: str):
    made, _ = httpreply.fill_body("a={{ x | urlencode }}&b={{ x }}&c={{ x | trim }}", FORM, {"x": text})
    assert made is not None
    found = parse_qs(made.decode(), keep_blank_values=True, strict_parsing=True)
    assert (found["a"], found["b"], [*found]) == ([text], [text], ["a", "b", "c"])


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example(".")
@example("..")
def test_no_text_breaks_out_of_an_address(text: str):
    if text in (".", ".."):
        with pytest.raises(ValueError, match="another path"):
            httpreply.fill_url("https://host/a/{{prompt}}/b", {}, {"prompt": text})
        return
    made = httpreply.fill_url("https://host/a/{{prompt}}/b?c={{prompt}}", {"d": "{{prompt}}"}, {"prompt": text})
    assert made.startswith("https://host/a/")
    assert made.count("/") == 5
    assert made.count("&") == 1
    assert "#" not in made


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_template_may_encode_a_value_itself(text: str):
    plain = httpreply.fill_url("https://host/?c={{ q }}&d={{ q }}", {}, {"q": text})
    for written in ("{{ q | urlencode }}", "{{q|urlencode()}}", "{{ q | replace('', '') | urlencode }}"):
        assert unquote(httpreply.fill_url(f"https://host/?c={written}&d={{{{ q }}}}", {}, {"q": text})) == unquote(plain)
    made = httpreply.fill_url("https://host/?c={{ q ~ q | urlencode }}", {}, {"q": text})
    assert not set("/?&#").intersection(made.removeprefix("https://host/?"))


@each(("template", "made"), table(__file__, "what_a_template_has_itself"))
def test_what_a_template_has_itself_is_not_encoded(template, made):
    given = {
        "x": '1&a="2',
        "list": ['a"', "&"],
        "numbers": [1, 2],
        "n": 1,
        "comma": ",",
        "dots": "..",
        "none": None,
        "env": {"BASE": "v2/x"},
    }
    try:
        found = httpreply.fill_url(template, {}, given) if "://" in template else httpreply.fill_body(template, {}, given)[0].decode()
    except ValueError as e:
        found = str(e)[: len(made)]
    assert found == made


@each(
    ("template", "headers", "body", "kind"),
    [
        ("q={{prompt}}", FORM, b"q=a%26b%3Dc%20d", ""),
        ("q={{prompt | urlencode}}", FORM, b"q=a%26b%3Dc%20d", ""),
        ('say "{{prompt}}"', {}, b'say "a&b=c d"', "text/plain; charset=utf-8"),
    ],
)
def test_a_form_and_a_plain_text(template: str, headers: dict, body: bytes, kind: str):
    assert httpreply.fill_body(template, headers, {"prompt": "a&b=c d"}) == (body, kind)


@each(("transform", "body", "text"), table(__file__, "where_the_answer_stands"))
def test_where_the_answer_stands(transform, body: str, text: str):
    assert httpreply.read_response_transform(transform).apply(body, Response(200, {"x-kind": "k"}, body.encode(), "host"))[0] == text


@each(("transform", "body", "words"), table(__file__, "an_answer_without_its_output_is_an_error"))
def test_an_answer_without_its_output_is_an_error(transform, body, words):
    with pytest.raises(ProviderError) as caught:
        httpreply.read_response_transform(transform).apply(body, Response(200, {}, body.encode(), "host"))
    assert words in str(caught.value)
    assert caught.value.trouble is Trouble.MALFORMED


@each(
    ("transform", "body", "marked"),
    [
        (None, '{"a": 1}', True),
        ("json.a", '{"a": [1]}', True),
        ("[json.a]", '{"a": 1}', True),
        ("json.a", '{"a": "x"}', False),
        (None, "text", False),
    ],
)
def test_data_is_marked_so_that_code_sees_data(transform, body: str, marked: bool):
    assert (IS_DATA in httpreply.read_response_transform(transform).apply(body, Response(200, {}, b"", "host"))[1]) is marked


@given(st.text())
def test_any_text_is_javascript_or_a_mistake(text: str):
    with suppress(ValueError):
        assert isinstance(httpreply.read_response_transform(text), httpreply.ResponseTransform)


@each(
    ("config", "method"),
    [
        ({"body": {"q": "{{prompt}}"}}, "POST"),
        ({"queryParams": {"q": "{{prompt}}"}}, "GET"),
        ({"body": {"q": "{{prompt}}"}, "method": "put"}, "PUT"),
    ],
)
def test_the_method_follows_the_body(config: dict, method: str):
    assert vars(build("http", {"url": "http://127.0.0.1:1/", **config}))["method"] == method


@each("answer", ["no numbers", "[" * 5000, "[" + "1," * 300_000 + "1]"])
@each(
    ("assertion", "kind"),
    [
        ({"type": "similar", "value": "hello there", "threshold": 0.9}, "embedding"),
        ({"type": "classifier", "value": "kind", "threshold": 0.8}, "classification"),
    ],
)
def test_what_is_no_json_or_too_much_is_an_error(gate, llm: FakeLlm, assertion: dict, kind: str, answer: str):
    llm.reply = lambda path, body: {"made": answer}
    app = {"id": f"{llm.base}/app", "config": {"body": {"q": "{{prompt}}"}, "transformResponse": "json.made"}}
    tests = [{"assert": [assertion], "options": {"provider": {kind: app}}}]
    ran = gate({"prompts": ["hello"], "providers": ["echo"], "tests": tests})
    assert (ran.code, ran.grades[0]["outcome"]) == (3, "error")


def test_a_label_has_one_score():
    rows = [{"label": "a", "score": 0.1}, {"label": "a", "score": 0.1}, {"label": "b", "score": 1}]
    assert wire.parse_labels(rows, "host") == {"a": 0.1, "b": 1.0}
    with pytest.raises(ProviderError, match="gave the label 'b' two scores"):
        wire.parse_labels([*rows, {"label": "b", "score": 0.9}], "host")
    with pytest.raises(ProviderError, match="without labels and scores"):
        wire.parse_labels({"a": 10**400}, "host")


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_any_json_is_labels_or_an_error(answer):
    try:
        found = wire.parse_labels(answer, "host")
    except ProviderError as e:
        found = {}
        trouble = e.trouble
    else:
        trouble = Trouble.MALFORMED
    assert all(isinstance(label, str) and isinstance(score, float) for label, score in found.items())
    assert trouble is Trouble.MALFORMED
