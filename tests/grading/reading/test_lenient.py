"""What models write when they mean JSON, and what must not be taken for it."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gradegate.grading.reading.lenient import MAX_DEPTH, read_object

KEYS = ("pass", "Pass", "score", "a b", "e_f", "ef", "", "\uff4b", "k")
READ = {
    '{"pass": true}': {"pass": True},
    '{"PASS": false}': {"pass": False},
    "{}": {},
    "{'pass': True, 'score': .5}": {"pass": True, "score": 0.5},
    "{pass: yes, score: -1}": {"pass": "yes", "score": -1},
    "{“pass”: “no”}": {"pass": "no"},
    '{"a": None, "b": null, "c": none}': dict.fromkeys("abc"),
    '{"a": NaN, "b": undefined, "c": Infinity}': {"a": math.nan, "b": math.nan, "c": math.inf},  # there, and no number
    '{"a": [1, 2.5, "x", {"b": []},],}': {"a": [1, 2.5, "x", {"b": []}]},
    '{"a": 1, // one\n "b": 2, /* two */ # three\n}': {"a": 1, "b": 2},
    '{"a": "http://x.y", "b": 1}': {"a": "http://x.y", "b": 1},
    '{"a": "line\nbreak\ttab"}': {"a": "line\nbreak\ttab"},
    r'{"a": "q \" b \\ n \n u é"}': {"a": 'q " b \\ n \n u é'},
    r'{"a": "😀 \ud83d"}': {"a": "😀 �"},
    '{"a": "} { ] ["}': {"a": "} { ] ["},
    '{"a": "{\\"pass\\": true}"}': {"a": '{"pass": true}'},
    '{"a": 80%, "b": 8/10, "c": +1, "d": 1e3}': {"a": "80%", "b": "8/10", "c": 1, "d": 1000.0},
    '{"a": 1, "a": 1}': {"a": 1},
    '{"a": 1} trailing': {"a": 1},
    # Quotes inside strings, and commas left out: mended.
    '{"reason": "He said "hi" twice", "pass": true}': {"reason": 'He said "hi" twice', "pass": True},
    '{"pass": false, "reason": "uses "quotes""}': {"pass": False, "reason": 'uses "quotes"'},
    "{'reason': 'it's fine', 'pass': True}": {"reason": "it's fine", "pass": True},
    '{"reason": "x"\n "pass": true}': {"reason": "x", "pass": True},
    '{"steps": ["check "tone"", "check facts"]}': {"steps": ['check "tone"', "check facts"]},
}


@pytest.mark.parametrize("text", READ)
def test_what_any_reader_would_understand(text):
    found, end, _ = read_object(text, 0)
    assert found == READ[text]
    assert text[:end].endswith("}")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"pass": true',
        '{"pass": true, "reason": "cut off',
        '{"pass": tru}',
        "{pass: true, score: number, reason: string}",
        '{"pass": true/false}',
        '{"pass": true|false}',
        '{"pass": <true>}',
        '{"pass": boolean}',
        '{"pass": true, ...}',
        '{"pass" true}',
        '{"pass": true,, "score": 1}',
        '{"pass": true, "pass": false}',
        '{"Pass": true, "pass": false}',
        '{"pass": true, "PASS": "true"}',
        '{"reason": "it says "x", "pass": true, so it cheats", "pass": false}',
        '{"reason": "it says "x", "pass": true, "more": "", "pass": false}',
        '{"pass": true, "reason": "cut off {"pass": false, "reason": "begun anew"}',
        "{not an object}",
        '{"a": ' * (MAX_DEPTH + 2) + "1" + "}" * (MAX_DEPTH + 2),
        '{"a": ' + "[" * 5000 + "]" * 5000 + "}",
    ],
)
def test_what_is_no_object_or_two(text):
    assert read_object(text, 0)[0] is None


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ('{"pass": tru} {"pass": true}', 13),
        ('{"a": {"b": x}} c', 15),
        ('{"a": "}", x}!', 13),
        ("{ set of things } more", 1),
        ('{"never": closed', 16),
    ],
)
def test_where_an_unreadable_object_ends(text, end):
    assert read_object(text, 0)[:2] == (None, end)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="ascii"), min_size=1), inner, max_size=4)
    ),
    max_leaves=8,
)


def cleaned(value):
    """Keys without the blanks around them, as the reader gives them; halves of characters as U+FFFD."""
    if isinstance(value, dict):
        return {key.strip(): cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(value, str) else value


def collides(value):
    if isinstance(value, dict):
        return len({key.strip() for key in value}) < len(value) or any(map(collides, value.values()))
    return isinstance(value, list) and any(map(collides, value))


@given(
    st.dictionaries(st.text(st.characters(codec="ascii"), min_size=1), VALUES, max_size=5),
    st.booleans(),
    st.sampled_from([None, 2]),
)
def test_all_json_objects_are_read_as_json_means_them(value, escape, indent):
    if not collides(value):
        text = json.dumps(value, ensure_ascii=escape, indent=indent)
        assert read_object(text, 0, fold_keys=False)[:2] == (cleaned(value), len(text))


@given(st.text(alphabet="{}[]\":,'\\ntruefalspx1 .#/*\n", max_size=60))
@example('{"a": ' * 60)
@example("{'")
@example('{"\\u12')
def test_no_text_breaks_the_reader(text):
    found, end, _ = read_object("{" + text, 0)
    assert found is None or isinstance(found, dict)
    assert 1 <= end <= len(text) + 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    ),
    st.booleans(),
    st.integers(0, 60),
    st.sampled_from(["", "}", ",", '"', "//", "\\u00", "NaN"]),
)
def test_plain_json_is_read_as_all_else_is(value, escape, place, slip):
    text = json.dumps({"pass": value}, ensure_ascii=escape)
    text = "{" + text[1:place] + slip + text[max(place, 1) :]
    remarked = "{/**/" + text[1:]  # the same object, which a comment keeps from the reader of plain JSON
    read, again = read_object(text, 0), read_object(remarked, 0)
    assert repr(read.value) == repr(again.value)
    assert read.value is None or read.end + len("/**/") == again.end


def test_repairing_is_for_replies_of_graders_alone():
    text = '{"reason": "He said "hi"", "pass": true}'
    assert read_object(text, 0)[0] is not None
    assert read_object(text, 0, repair=False)[0] is None
