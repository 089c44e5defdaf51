"""Any value becomes data that every JSON reader takes, or text that people can read."""

import datetime as dt
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gradegate.reporting.visible import outline, shown, spread
from gradegate.results.mapping import finite, plain
from support.each import each

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary() | st.dates(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()) | st.integers(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_any_value_is_valid_json(value: Any) -> None:
    text = json.dumps(plain(value), allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode()) == plain(value)
    shown(value).encode("utf-8", "surrogatepass")


@each(
    ("value", "data"),
    [
        ({1: (2, {3})}, {"1": [2, [3]]}),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (10**400, hex(10**400)),
        ("\ud800", "\\ud800"),
        (b"\xffok", "\\xffok"),
        (dt.date(2026, 11, 2), "2026-11-02"),
        (True, True),
    ],
)
def test_what_json_does_not_know_becomes_text(value: Any, data: Any) -> None:
    assert plain(value) == data


def test_data_without_end_is_cut() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert json.dumps(plain(endless)).count("[") == 40


@each(("number", "kept"), [(0.5, 0.5), (None, None), (float("nan"), None), (float("inf"), None)])
def test_only_finite_numbers_are_numbers(number: float | None, kept: float | None) -> None:
    assert finite(number) == kept


def test_a_mapping_reads_as_lines() -> None:
    assert spread({"a": "x", "b": "1\n2", "c": [1], "d": None}) == "a: x\nb:\n1\n2\nc:\n[\n  1\n]\nd: "


def test_data_reads_as_an_outline() -> None:
    data = {
        "details": [{"claim": "a", "reason": "1\n2"}, {"claim": "b"}],
        "texts": ["x", "two\nlines"],
        "few": ["one", "two"],
        "nothing": [],
        "absent": None,
        "share": 0.5,
        "deep": {"votes": {"first": ["true", "idk"]}},
        "long": "1\n2",
    }
    assert (
        outline(data)
        == """details:
  - claim: a
    reason:
      1
      2
  - claim: b
texts:
  - x
  - two
    lines
few: one, two
nothing: none
absent: none
share: 0.5
deep:
  votes:
    first: true, idk
long:
  1
  2"""
    )


@each("value", [{}, [], {"a": float("nan")}, {"": {"b": [[], [[1]]]}}, [None, "", False, 0]])
def test_an_outline_holds_every_text(value: Any) -> None:
    assert isinstance(outline(value), str)
