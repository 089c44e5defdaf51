import json

import pytest

from gradegate.templating import json_schema as schemas
from support.each import table

DRAFT = "https://json-schema.org/draft/2020-12/schema"
LOCAL = table(__file__, "LOCAL")


@pytest.mark.parametrize("schema", LOCAL, ids=str)
def test_what_refers_to_itself_is_fine(schema):
    schemas.check_schema(json.dumps(schema))


ELSEWHERE = ["http://127.0.0.1:9/x", "https://127.0.0.1:9/x", "file:///etc/passwd", "x.json", "../x", "urn:x:y", "#/no"]


@pytest.mark.parametrize("reference", ELSEWHERE)
@pytest.mark.parametrize("around", table(__file__, "AROUND"))
def test_a_reference_elsewhere_is_said_and_not_followed(reference, around):
    with pytest.raises(ValueError, match="gradegate fetches nothing") as caught:
        schemas.check_schema(json.dumps(around).replace("ELSEWHERE", reference))
    assert f"`{reference}`" in str(caught.value)


def test_a_dynamic_reference_is_none_either():
    with pytest.raises(ValueError, match="gradegate fetches nothing"):
        schemas.check_schema(json.dumps({"$schema": DRAFT, "$dynamicRef": "http://127.0.0.1:9/x"}))


@pytest.mark.parametrize(("schema", "why"), table(__file__, "a_schema_that_cannot_be_used_is_refused"))
def test_a_schema_that_cannot_be_used_is_refused(schema, why):
    with pytest.raises(ValueError, match=why):
        schemas.check_schema(json.dumps(schema))


def test_a_breach_is_said_with_its_place():
    schema = json.dumps({"properties": {"a": {"type": "string"}}})
    assert schemas.schema_problem(schema, {"a": "x"}) == ""
    assert schemas.schema_problem(schema, {"a": 1}) == '$.a is 1, and the schema asks for {"type": "string"}'


def test_a_value_that_is_quoted_is_cut():
    assert len(schemas.schema_problem(json.dumps({"type": "object"}), "a" * 100_000)) < 400  # the last is the mark of a cut


def test_an_answer_nested_too_deeply_is_not_judged():
    deep: list = []
    for _ in range(700):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        schemas.schema_problem(json.dumps({"items": {"$ref": "#"}}), deep)


@pytest.mark.parametrize(("schema", "said"), [*table(__file__, "a_key_that_checks_nothing_is_said")], ids=str)
def test_a_key_that_checks_nothing_is_said(schema, said):
    schemas.check_schema(json.dumps(schema))  # fine where nothing is asserted by it, as in the tools of a model
    with pytest.raises(ValueError, match="checks nothing") as caught:
        schemas.check_schema(json.dumps(schema), only_keywords=True)
    assert said in str(caught.value)


@pytest.mark.parametrize("schema", [*table(__file__, "keywords_and_what_only_says_something_are_fine"), *LOCAL], ids=str)
def test_keywords_and_what_only_says_something_are_fine(schema):
    schemas.check_schema(json.dumps(schema), only_keywords=True)
