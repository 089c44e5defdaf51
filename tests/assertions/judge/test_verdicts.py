"""Lists that graders reply with: counted, in known words, and never made up."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.assertions.judge import verdict_forms as verdicts
from gradegate.assertions.judge.verdict_forms import YES_NO_IDK, Judgement
from gradegate.errors import Unreadable
from support.each import table
from support.readers import read


def words(reply: str, count: int) -> list[str]:
    return [one.verdict for one in read(verdicts.verdict_list_form(YES_NO_IDK, count=count), reply)]


@pytest.mark.parametrize(("reply", "expected"), table(__file__, "verdicts_are_read_leniently"))
def test_verdicts_are_read_leniently(reply, expected):
    assert words(reply, 2) == expected


@pytest.mark.parametrize(
    "verdict", ["yes/no", "yes|no|idk", "yes, as the first says", "yes, no or idk", "no idea", "maybe", "", None, 1, ["yes"], "not sure"]
)
def test_what_is_no_verdict(verdict):
    with pytest.raises(Unreadable, match="is not one of the allowed words"):
        words(json.dumps({"verdicts": [{"verdict": verdict}]}), 1)


@pytest.mark.parametrize("ids", [(1, 1), (7, 8), (0, 1), (1, None)])
def test_ids_that_nobody_asked_for_say_which_part_is_meant(ids):
    def reply(*numbered):
        return json.dumps({"verdicts": [{"id": number, "verdict": verdict} for number, verdict in numbered]})

    assert words(reply((2, "yes"), (1, "no")), 2) == ["no", "yes"]
    with pytest.raises(Unreadable, match=" id"):
        words(reply(*((number, "yes") for number in ids)), 2)


@pytest.mark.parametrize("reply", ["", "yes", "{}", "[]", '{"verdicts": null}', '{"verdicts": ["yes"]}', '[{"verdict": "yes"}]'])
def test_what_holds_no_list_of_verdicts(reply):
    with pytest.raises(Unreadable):
        words(reply, 1)


@given(st.text(), st.integers(1, 5))
def test_random_text_never_yields_verdicts(text, count):
    if "verdicts" in text.lower():
        return
    with pytest.raises(Unreadable):
        words(text, count)


@given(st.lists(st.sampled_from(["yes", "no", "idk", "borderline", "maybe", "", "nope"]), max_size=5), st.integers(1, 5))
def test_a_list_yields_verdicts_only_when_every_one_is_there(given_words, count):
    reply = json.dumps({"verdicts": [{"verdict": word, "reason": "r"} for word in given_words]})
    complete = len(given_words) == count and all(word in YES_NO_IDK for word in given_words)
    if complete:
        assert words(reply, count) == [YES_NO_IDK[word] for word in given_words]
    else:
        with pytest.raises(Unreadable):
            words(reply, count)


@given(st.recursive(st.none() | st.booleans() | st.text(max_size=5), lambda x: st.lists(x) | st.dictionaries(st.text(max_size=9), x)))
def test_random_json_under_the_key_raises_or_is_verdicts(value):
    reply = json.dumps({"verdicts": value})
    try:
        found = words(reply, 1)
    except Unreadable:
        return
    assert isinstance(value, list)
    assert len(value) == len(found) == 1


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"verdicts": [{"verdict": "no", "reason": "r"}]}', [Judgement("no", "r")]),
        ('{"verdicts": [{"verdict": "yes"}, {"verdict": "n"}, {"verdict": "y"}]}', [Judgement("yes"), Judgement("no"), Judgement("yes")]),
        ('{"verdicts": [{"verdict": false}, {"verdict": "True"}]}', [Judgement("no"), Judgement("yes")]),
        ('{"verdicts": []}', []),
    ],
)  # fmt: skip
def test_as_many_verdicts_as_the_grader_gives(reply, expected):
    assert list(read(verdicts.verdict_list_form(count=len(expected)), reply)) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [('{"verdict": "yes", "reason": "so"}', Judgement("yes", "so")), ('{"reason": "not so", "verdict": "No."}', Judgement("no", "not so"))],
)
def test_one_verdict(reply, expected):
    assert read(verdicts.verdict_form(), reply) == expected


@pytest.mark.parametrize("reply", table(__file__, "what_holds_not_one_verdict"))
def test_what_holds_not_one_verdict(reply):
    with pytest.raises(Unreadable):
        read(verdicts.verdict_form(), reply)


def test_the_schemas_ask_for_what_is_read():
    assert verdicts.texts_form("claims").schema["properties"] == {"claims": {"type": "array", "items": {"type": "string"}}}
    items = verdicts.verdict_list_form(count=1).schema["properties"]["verdicts"]["items"]
    assert items["properties"]["verdict"] == {"type": "string", "enum": ["yes", "no"]}


@pytest.mark.parametrize(
    ("reply", "expected"),
    [('{"claims": [" one ", "two"]}', ("one", "two")), ('{"claims": []}', ()), ('{"claims": ["one", " "]}', None), ('{"claims": ["one", 2]}', None)],
)  # fmt: skip
def test_a_list_of_texts(reply, expected):
    if expected is None:
        with pytest.raises(Unreadable, match="`claims` is not a list of texts"):
            read(verdicts.texts_form("claims"), reply)
    else:
        assert read(verdicts.texts_form("claims"), reply) == expected
