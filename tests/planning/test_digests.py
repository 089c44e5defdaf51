"""Digests tell values apart, whatever they are, and do not depend on the order of keys."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gradegate.planning.digests import digest

KEYS = st.text(max_size=3) | st.integers(0, 3) | st.booleans() | st.none()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(item) for key, item in reversed(value.items())}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_the_order_of_keys_does_not_matter(value: Any) -> None:
    assert digest(reversed_keys(value)) == digest(value)


@given(VALUES, VALUES)
def test_a_value_beside_another_is_another(one: Any, other: Any) -> None:
    assert digest([one, other, 1]) != digest([one, other])
    assert digest({"a": one, "b": 1}) != digest({"a": one, "b": 2})
    assert digest("1") != digest(1)


def test_text_of_any_kind_is_told_apart() -> None:
    values = ["", "a", "\ud800", "1", 1, 1.5, None, True, [], {}, [1], ["1"], {"1": 1}, 10**5000, 10**5000 + 1, {1: 2, "1": 2}]
    assert len({digest(value) for value in values}) == len(values)
