"""Which of two lists of things are the same ones."""

from hypothesis import given
from hypothesis import strategies as st

from gradegate.planning.counterparts import match_by_keys
from support.each import each

KEYS = (lambda it: it, lambda it: it[0])


@each(
    ("old", "new", "in_order", "unique"),
    [
        ("a1 b1 a1 c1", "a1 a1 b1 a1 x1", {0: 0, 2: 1, 1: 2}, {1: 2}),
        ("a1 a2", "a2 a1", {0: 1, 1: 0}, {0: 1, 1: 0}),
        ("a1 a2", "a3 a1", {0: 1, 1: 0}, {0: 1, 1: 0}),
        ("a1 a2", "a3 a4", {0: 0, 1: 1}, {}),
        ("a1 a2", "a3", {0: 0}, {}),
        ("a1", "a2 a3", {0: 0}, {}),
        ("a1", "b1", {}, {}),
    ],
)
def test_things_are_matched_by_one_key_after_another(old, new, in_order, unique):
    assert match_by_keys(old.split(), new.split(), KEYS) == in_order
    assert match_by_keys(old.split(), new.split(), KEYS, unique=True) == unique


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")), st.booleans())
def test_nothing_is_matched_twice_or_with_another(old, new, unique):
    match = match_by_keys(old, new, KEYS, unique=unique)
    assert len({*match.values()}) == len(match)
    assert all(old[of] == new[to] for of, to in match.items())
    left = [{*things} - {*taken} for things, taken in ((range(len(old)), match), (range(len(new)), match.values()))]
    assert unique or not {old[number] for number in left[0]} & {new[number] for number in left[1]}
