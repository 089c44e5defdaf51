"""Any value as data that JSON can hold, and what is said of JSON that is not of the type that is read."""

import json
from datetime import date

import pytest

from gradegate.core.conversation import Image, Turn
from gradegate.errors import Origin
from gradegate.files.documents import encodable
from gradegate.results.encoding import MisfitError, decode, encode, finite_or_none, to_plain_data
from gradegate.results.history import HistoryLine
from gradegate.results.rows import Row
from gradegate.results.shape import Results
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
    assert to_plain_data(value) == expected


def test_a_deep_value_is_cut():
    assert to_plain_data([[[1]]], depth=2) == [["…"]]
    assert to_plain_data([[1]], depth=2) == [[1]]
    assert to_plain_data(1, depth=0) == 1


def test_numbers_and_texts_that_json_cannot_hold():
    assert [finite_or_none(it) for it in (0.0, None, float("nan"), float("inf"), 1.5)] == [0.0, None, None, None, 1.5]
    assert [encodable(it) for it in ("a", "é", "é\udc80")] == ["a", "é", "é\\udc80"]


def test_a_value_with_fields_becomes_an_object():
    assert to_plain_data(Origin("a.yaml", 3)) == {"file": "a.yaml", "line": 3}


def test_a_text_that_is_not_valid_utf_8_is_written_out_wherever_it_stands():
    content = {"a\ud800": ["\ud800", 1, ["b\ud801"]], "origin": Origin("c\ud802", 3), "none": None}
    assert json.loads(encode(content)) == {
        "a\\ud800": ["\\ud800", 1, ["b\\ud801"]],
        "origin": {"file": "c\\ud802", "line": 3},
        "none": None,
    }


@each(
    ("value", "read"),
    [
        ([float("nan"), float("inf"), 1.5], [None, None, 1.5]),
        ({None: 1, True: 2, 3: 4}, {"None": 1, "True": 2, "3": 4}),
        ({1, 2}, [1, 2]),
        (date(2026, 11, 29), "2026-11-29"),
        (Image("https://x/a.png"), {"image": "https://x/a.png"}),
        ([Image("a\ud800")], [{"image": "a\\ud800"}]),
    ],
)
def test_whatever_a_value_holds_it_is_written(value, read):
    assert json.loads(encode(value)) == read


def test_an_integer_too_long_to_print_is_written_in_hexadecimal():
    integer = 10**5000
    assert json.loads(encode([integer])) == [hex(integer)]


def test_data_without_end_is_written_as_far_as_it_is_read():
    endless = []
    endless.append(endless)
    assert encode(endless).count("[") == 60


def test_a_document_that_is_a_picture_is_told_from_a_text():
    turn = Turn("user", "a", ("https://x/a.png", Image("https://x/a.png")))
    back = decode(encode(turn).encode(), Turn)
    assert [type(document) for document in back.retrieval_context] == [str, Image]
    with pytest.raises(MisfitError, match="is not of its form"):
        decode(b'{"role":"user","content":"a","retrieval_context":[{"picture":"a"}]}', Turn)


ROW = '{"suite":"s","description":"d","provider":"p","prompt_label":"l","prompt":"q","vars":{},"outcome":"pass"'
LINE = '{"v":1,"grade":"%s","name":"n","runs":[{"at":"%s","commit":"","model":"m","votes":"P","outcome":"pass","request":""}]'


@each(
    ("kind", "content", "words"),
    [
        (Row, ROW, "is no JSON, or breaks off"),
        (Row, f"{ROW},}}", "is no JSON from byte 105 on"),
        (Row, f'{ROW},"score":NaN}}', "is no JSON from byte 113 on"),
        (Row, f'{ROW},"score":1e999}}', "score is not of its form"),
        (Row, f'{ROW},"metadata":{{"a":{"[" * 9999}', "is nested too deeply"),
        (Row, "[]", "must be a mapping, not a list"),
        (Row, ROW.replace("pass", "x" * 99) + "}", f"outcome cannot be '{'x' * 59}…"),
        (Row, f'{ROW},"case":-1}}', "case must be a whole number >= 0"),
        (Row, f'{ROW},"case":1.5}}', "case must be a whole number, not a number"),
        (Row, f'{ROW},"output":7}}', "output must be text or null, not a whole number"),
        (Row, f'{ROW},"key":"?"}}', "key is not of its form"),
        (Row, f'{ROW},"grades":[{{"assertion":{{}}}}]}}', "grades.0.assertion.type is missing"),
        (HistoryLine, LINE % ("a" * 64, "2026-11-29\\n") + "}", "runs.0.at is not of its form"),
        (HistoryLine, LINE % ("a" * 63, "2026-11-29") + "}", "grade is not of its form"),
        (HistoryLine, LINE % ("a" * 64, "2026-11-29") + ',"more":1}', "more is unknown"),
        (Results, '{"version":1}', "version cannot be 1"),
        (Results, '{"version":2}', "made is missing"),
    ],
)
def test_what_is_not_of_its_type_is_said_with_its_place(kind, content, words):
    with pytest.raises(MisfitError) as error:
        decode(content.encode(), kind)
    assert str(error.value) == words


def test_a_text_that_is_not_utf_8_is_refused():
    with pytest.raises(MisfitError):
        decode(ROW.encode() + b',"output":"\xff"}', Row)
