import json

import pytest

from gradegate.texts import schemas

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
    with pytest.raises(ValueError, match="nothing is fetched") as caught:
        schemas.check(json.dumps(around({"$ref": reference})))
    assert f"`{reference}`" in str(caught.value)


def test_a_dynamic_reference_is_none_either():
    with pytest.raises(ValueError, match="nothing is fetched"):
        schemas.check(json.dumps({"$schema": DRAFT, "$dynamicRef": "http://127.0.0.1:9/x"}))


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "#"}, "refers to itself without end"),
        ({"allOf": [{"$ref": "#"}]}, "refers to itself without end"),
        ({"type": "strong"}, "is not a JSON Schema"),
        ({"pattern": "("}, "is not a JSON Schema"),
        ({"$schema": 5}, "cannot be used"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema, why):
    with pytest.raises(ValueError, match=why):
        schemas.check(json.dumps(schema))


def test_a_breach_is_said_with_its_place():
    schema = json.dumps({"properties": {"a": {"type": "string"}}})
    assert schemas.breach(schema, {"a": "x"}) == ""
    assert schemas.breach(schema, {"a": 1}) == "$.a: 1 is not of type 'string'"


def test_a_value_that_is_quoted_is_cut():
    assert len(schemas.breach(json.dumps({"type": "object"}), "a" * 100_000)) == 2001  # the last is the mark of a cut


def test_an_answer_nested_too_deeply_is_not_judged():
    deep: list = []
    for _ in range(700):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        schemas.breach(json.dumps({"items": {"$ref": "#"}}), deep)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "object", "requird": ["a"]}, 'the key `requird`, which checks nothing: did you mean "required"?'),
        ({"properties": {"a": {"type": "string", "minlength": 3}}}, 'did you mean "minLength"?'),
        ({"$schema": DRAFT, "items": {"typ": "string"}}, 'did you mean "type"?'),
        ({"prefixItems": [{"type": "string"}]}, f"name its draft, `$schema: {DRAFT}`"),
        ({"schema": {"type": "object"}, "name": "answer"}, "write what is in `schema` alone"),
        ({"answer": {"type": "string"}}, "the key `answer`, which checks nothing: fields stand in `properties`"),
        ({"type": "object", "answer": {"type": "string"}}, "keys of your own start with x-"),
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
        *LOCAL,
        {"$schema": DRAFT, "prefixItems": [True], "dependentRequired": {"a": ["b"]}, "unevaluatedProperties": False},
        {"title": "t", "description": "d", "$comment": "c", "examples": [1], "default": 1, "readOnly": True, "deprecated": True},
        {"x-own": 1, "example": {"a": 1}, "nullable": True, "if": {"type": "null"}, "then": {}, "else": {}},
        {"enum": [{"requird": 1}], "const": {"typ": 1}, "properties": {"requird": {"type": "string"}}},
        {"$ref": "#/components/x", "components": {"x": {"type": "string"}}},
        {"dependencies": {"a": ["b"]}, "patternProperties": {"^a": {}}, "propertyNames": {}, "contentMediaType": "x"},
    ],
    ids=str,
)
def test_keywords_and_what_only_says_something_are_fine(schema):
    schemas.check(json.dumps(schema), known=True)
