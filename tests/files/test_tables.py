"""The tables that stand beside modules have the form that their readers expect, and say nothing twice."""

from typing import NotRequired

import pytest
from pydantic import TypeAdapter
from typing_extensions import TypedDict  # pydantic needs it before Python 3.12

from gradegate.files.documents import table

Entry = TypedDict("Entry", {"for": str, "say": str})
Family = TypedDict("Family", {"ids": str, "is": str, "do": str})
Kind = TypedDict("Kind", {"patterns": str, "is": str, "do": str})


class Keys(TypedDict):
    unsupported: dict[str, str]
    misplaced: dict[str, str]
    meant: dict[str, list[Entry]]
    unknown: dict[str, str]
    documents: list[str]
    checks: list[str]


class Unserved(TypedDict):
    families: list[Family]
    kinds: list[Kind]
    special: dict[str, tuple[str, str]]
    media_models: list[str]
    models: list[dict[str, str]]
    vendors: dict[str, str]


Input = TypedDict("Input", {"do": str, "as": NotRequired[str], "say": NotRequired[str]})


class Inputs(TypedDict):
    answers: dict[str, Input]
    same: dict[str, str]
    variables: dict[str, str]


Names = dict[str, dict[str, str]]


@pytest.mark.parametrize(
    ("place", "form"),
    [
        (("config", "keys.yaml"), Keys),
        (("config", "sentences.yaml"), Names),
        (("github", "promptfoo_action.yaml"), Inputs),
        (("planning.binding", "metrics.yaml"), Names),
        (("planning.binding", "types.yaml"), dict[str, str]),
        (("providers.api", "unknown_ids.yaml"), Unserved),
    ],
)
def test_a_table_has_its_form(place, form):
    TypeAdapter(form).validate_python(table(*place))


def test_a_word_means_one_thing_in_one_place():
    keys = table("config", "keys.yaml")
    lists = [[word for entry in entries for word in entry["for"].split()] for entries in keys["meant"].values()]
    lists += [keys["documents"], keys["checks"]]
    assert [word for words in lists for word in words if words.count(word) > 1] == []
    ids = [name for entry in table("providers.api", "unknown_ids.yaml")["families"] for name in entry["ids"].split()]
    assert len(ids) == len(set(ids))
