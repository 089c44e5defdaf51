"""Any value as data that JSON can hold."""

import json

from gradegate.errors import Origin
from gradegate.files.documents import encodable
from gradegate.results.mapping import finite, plain, written
from support.each import each


@each(
    ("value", "expected"),
    [
        (10**300 - 1, 10**300 - 1),
        (10**300, hex(10**300)),
        (1 - 10**300, 1 - 10**300),
        (-(10**300), hex(-(10**300))),
        (True, True),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (b"a\xff", "a\\xff"),
        ("a\ud800", "a\\ud800"),
        ({1: (2, {3})}, {"1": [2, [3]]}),
    ],
)
def test_any_value_becomes_what_json_can_hold(value, expected):
    assert plain(value) == expected


def test_a_deep_value_is_cut():
    assert plain([[[1]]], depth=2) == [["…"]]
    assert plain([[1]], depth=2) == [[1]]
    assert plain(1, depth=0) == 1


def test_numbers_and_texts_that_json_cannot_hold():
    assert [finite(it) for it in (0.0, None, float("nan"), float("inf"), 1.5)] == [0.0, None, None, None, 1.5]
    assert [encodable(it) for it in ("a", "é", "é\udc80")] == ["a", "é", "é\\udc80"]


def test_a_value_with_fields_becomes_an_object():
    assert plain(Origin("a.yaml", 3)) == {"file": "a.yaml", "line": 3}


def test_a_text_that_is_not_valid_utf_8_is_written_out_wherever_it_stands():
    content = {"a\ud800": ["\ud800", 1, ["b\ud801"]], "origin": Origin("c\ud802", 3), "none": None}
    assert json.loads(written(content)) == {
        "a\\ud800": ["\\ud800", 1, ["b\\ud801"]],
        "origin": {"file": "c\\ud802", "line": 3},
        "none": None,
    }
