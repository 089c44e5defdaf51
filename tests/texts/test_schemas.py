import json

import pytest

from gradegate.texts import schemas
from support.each import table

DRAFT = "https://json-schema.org/draft/2020-12/schema"
LOCAL = [
    True,
    {"$ref": "#/definitions/a", "definitions": {"a": {"type": "string"}}},
    {"items": {"$ref": "#"}},
    {"$ref": "http://json-schema.org/draft-07/schema#"},
    {"$schema": DRAFT, "$ref": DRAFT},
    {
        "$schema": DRAFT,
        "$id": "http://127.0.0.1:9/x",
        "$defs": {"a": {"$id": "a", "type": "number"}, "b": {"$anchor": "b"}},
        "properties": {"p": {"$ref": "a"}, "q": {"$ref": "http://127.0.0.1:9/a"}, "r": {"$ref": "#b"}},
    },
    {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "definitions": {"z": {"id": "#foo", "type": "string"}},
        "properties": {"a": {"$ref": "#foo"}},
    },
    {"$schema": "http://127.0.0.1:9/unknown", "type": "object"},
    {"enum": [{"$ref": "http://127.0.0.1:9/data"}]},
]


@pytest.mark.parametrize("schema", LOCAL, ids=str)
def test_what_refers_to_itself_is_fine(schema):
    schemas.check(json.dumps(schema))


ELSEWHERE = ["http://127.0.0.1:9/x", "https://127.0.0.1:9/x", "file:///etc/passwd", "x.json", "../x", "urn:x:y", "#/no"]
AROUND = [
    lambda inner: inner,
    lambda inner: {"properties": {"a": {"anyOf": [inner]}}},
    lambda inner: {"$schema": DRAFT, "$defs": {"x": inner}},
    lambda inner: {"$ref": "#/components/x", "components": {"x": inner}},
    lambda inner: {"not": {"if": inner}},
]


@pytest.mark.parametrize("reference", ELSEWHERE)
@pytest.mark.parametrize("around", AROUND)
def test_a_reference_elsewhere_is_said_and_not_followed(reference, around):
    with pytest.raises(ValueError, match="gradegate fetches nothing") as caught:
        schemas.check(json.dumps(around({"$ref": reference})))
    assert f"`{reference}`" in str(caught.value)


def test_a_dynamic_reference_is_none_either():
    with pytest.raises(ValueError, match="gradegate fetches nothing"):
        schemas.check(json.dumps({"$schema": DRAFT, "$dynamicRef": "http://127.0.0.1:9/x"}))


@pytest.mark.parametrize(("schema", "why"), table(__file__, "a_schema_that_cannot_be_used_is_refused"))
def test_a_schema_that_cannot_be_used_is_refused(schema, why):
    with pytest.raises(ValueError, match=why):
        schemas.check(json.dumps(schema))


def test_a_breach_is_said_with_its_place():
    schema = json.dumps({"properties": {"a": {"type": "string"}}})
    assert schemas.breach(schema, {"a": "x"}) == ""
    assert schemas.breach(schema, {"a": 1}) == '$.a is 1, and the schema asks for {"type": "string"}'


def test_a_value_that_is_quoted_is_cut():
    assert len(schemas.breach(json.dumps({"type": "object"}), "a" * 100_000)) < 400  # the last is the mark of a cut


def test_an_answer_nested_too_deeply_is_not_judged():
    deep: list = []
    for _ in range(700):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        schemas.breach(json.dumps({"items": {"$ref": "#"}}), deep)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        *table(__file__, "a_key_that_checks_nothing_is_said"),
        ({"$schema": DRAFT, "items": {"typ": "string"}}, 'did you mean "type"?'),
        ({"prefixItems": [{"type": "string"}]}, f"name its draft, `$schema: {DRAFT}`"),
    ],
    ids=str,
)
def test_a_key_that_checks_nothing_is_said(schema, said):
    schemas.check(json.dumps(schema))  # fine where nothing is asserted by it, as in the tools of a model
    with pytest.raises(ValueError, match="checks nothing") as caught:
        schemas.check(json.dumps(schema), known=True)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "schema",
    [
        *table(__file__, "keywords_and_what_only_says_something_are_fine"),
        *LOCAL,
        {"$schema": DRAFT, "prefixItems": [True], "dependentRequired": {"a": ["b"]}, "unevaluatedProperties": False},
    ],
    ids=str,
)
def test_keywords_and_what_only_says_something_are_fine(schema):
    schemas.check(json.dumps(schema), known=True)
