"""References within a document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.errors import ConfigError
from gradegate.files import documents as document
from gradegate.files.references import read_with_references
from support.each import each, table


def read(text: str):
    return read_with_references(text.encode(), "c.yaml")


def test_a_reference_stands_for_what_it_leads_to_and_what_is_beside_it_wins():
    content = read(
        "assertionTemplates:\n  polite: {type: contains, value: please, weight: 2}\n  'a/b~c': [1, 2]\n"
        "first:\n  $ref: '#/assertionTemplates/polite'\n"
        "second:\n  $ref: '#/assertionTemplates/polite'\n  weight: 1\n"
        "third: {$ref: '#/assertionTemplates/a~1b~0c/1'}\n"
    )
    assert content["first"] == {"type": "contains", "value": "please", "weight": 2}
    assert content["second"] == {"type": "contains", "value": "please", "weight": 1}
    assert content["third"] == 2
    assert document.line_of(content, ["second", "weight"]) == 8
    assert document.line_of(content, ["first", "type"]) == 2
    assert content["first"].line == 5


def test_references_of_json_schemas_are_their_own_but_one_may_stand_for_the_schema():
    content = read(
        "definitions: {s: {type: object, properties: {x: {$ref: '#/$defs/y'}}}}\n"
        "a: {value: {$ref: '#/definitions/s'}}\n"
        "b: {value: {type: array, items: {$ref: '#/$defs/y'}}}\n".replace(
            "definitions: {s: {type: object, properties: {x: {$ref: '#/$defs/y'}}}}", "definitions: {s: {type: object}}"
        )
    )
    assert content["a"]["value"] == {"type": "object"}
    assert content["b"]["value"]["items"] == {"$ref": "#/$defs/y"}


def test_a_document_without_references_stays_the_same():
    assert read("a: {b: [1, {c: 2}]}\nd: $ref") == {"a": {"b": [1, {"c": 2}]}, "d": "$ref"}


@each(
    ("text", "said"),
    [
        *table(__file__, "references_that_cannot_be_followed_are_mistakes_with_their_line"),
        (
            "\n".join(["a0: [1, 2, 3]", *(f"a{n}: [{{$ref: '#/a{n - 1}'}}, {{$ref: '#/a{n - 1}'}}]" for n in range(1, 40))]),
            "multiply this file",
        ),
        ("\n".join([*(f"a{n}: {{$ref: '#/a{n + 1}'}}" for n in range(5_000)), "a5000: 1"]), "deeper than 64 levels"),
        ("\n".join(["a0: 1", *(f"a{n}: {{b: {{$ref: '#/a{n - 1}'}}}}" for n in range(1, 100))]), "deeper than 64 levels"),
    ],
)
def test_references_that_cannot_be_followed_are_mistakes_with_their_line(text, said):
    with pytest.raises(ConfigError) as raised:
        read(text)
    assert any(said in mistake.what for mistake in raised.value.mistakes)
    assert all(mistake.origin.line for mistake in raised.value.mistakes)


POINTERS = st.sampled_from(["#", "#/a", "#/b", "#/b/0", "#/c/d", "#/none", "x", ""])
VALUES = st.recursive(
    st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3) | POINTERS.map(lambda p: {"$ref": p})
    ),
)


@given(st.dictionaries(st.sampled_from("abc"), VALUES))
def test_whatever_refers_to_whatever_it_ends(content):
    try:
        filled = read_with_references(document.to_json(content).encode(), "c.yaml")
    except ConfigError:
        return
    assert "$ref" not in document.to_json(filled)
