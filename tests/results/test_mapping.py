"""Any value as data that JSON can hold."""

from gradegate.results.mapping import encodable, finite, plain
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
