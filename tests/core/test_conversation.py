import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradegate.core.conversation import Turn, split_exchanges, split_windows, unanswered_turns, window_turns
from support.each import each, table

ROLES = {"U": "user", "A": "assistant"}


def turns(roles: str) -> list[Turn]:
    return [Turn(ROLES[role], str(number)) for number, role in enumerate(roles, 1)]


def shapes(roles: str) -> list[str]:
    return ["".join(turn.role[0].upper() for _, turn in exchange) for exchange in split_exchanges(turns(roles))]


@each(("roles", "expected"), table(__file__, "tf17_exchanges"))
def test_tf17_exchanges(roles, expected):
    assert shapes(roles) == expected


@each(("count", "size", "expected"), table(__file__, "windows_grow_and_then_slide"))
def test_windows_grow_and_then_slide(count, size, expected):
    found = split_exchanges(turns("UA" * count))
    numbers = [[exchange[-1].number // 2 for exchange in window] for window in split_windows(found, size)]
    assert numbers == expected


@each("size", [0, -1])
def test_a_window_holds_something(size):
    with pytest.raises(ValueError, match="holds nothing"):
        split_windows(split_exchanges(turns("UA")), size)


@each(("roles", "expected"), [("UAU", (3,)), ("UA", ()), ("UU", (1, 2)), ("UAUU", (3, 4))])
def test_what_got_no_answer(roles, expected):
    assert unanswered_turns(turns(roles)) == expected


@given(st.text("UA", max_size=30), st.integers(1, 12))
def test_each_turn_is_in_one_exchange_or_left_over(roles, size):
    conversation = turns(roles)
    found = split_exchanges(conversation)
    numbers = [number for exchange in found for number, _ in exchange]
    assert [*numbers, *unanswered_turns(conversation)] == list(range(1, len(roles) + 1))
    cut = split_windows(found, size)
    assert [window[-1] for window in cut] == list(found)
    assert all(len(window) <= size and window_turns(window)[-1].turn.role == "assistant" for window in cut)
