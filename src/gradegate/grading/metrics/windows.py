"""Cuts a conversation into exchanges, and slides windows over them; pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gradegate.suite import Turn


class Numbered(NamedTuple):
    """A turn with its number in the conversation, from 1."""

    number: int
    turn: Turn


Exchange = tuple[Numbered, ...]  # at least one message of the user, and it ends with the assistant's
Window = tuple[Exchange, ...]


def exchanges(turns: Sequence[Turn]) -> tuple[Exchange, ...]:
    """The complete exchanges, in order: DeepEval's unit interactions (deepeval, ``metrics/utils.py``).

    A new one begins at a user turn that follows an assistant turn, once the current one has a user turn: a greeting of
    the assistant belongs to the first exchange. What has no answer at the end belongs to none.
    """
    found: list[Exchange] = []
    current: list[Numbered] = []
    asked = False
    for number, turn in enumerate(turns, 1):
        if turn.role == "user":
            if asked and current[-1].turn.role == "assistant":
                found.append(tuple(current))
                current = []
            asked = True
        current.append(Numbered(number, turn))
    if asked and current[-1].turn.role == "assistant":
        found.append(tuple(current))
    return tuple(found)


def unanswered(turns: Sequence[Turn]) -> tuple[int, ...]:
    """Numbers of the turns that belong to no exchange."""
    found = exchanges(turns)
    last = found[-1][-1].number if found else 0
    return tuple(range(last + 1, len(turns) + 1))


def windows(found: Sequence[Exchange], size: int) -> tuple[Window, ...]:
    """One window for each exchange: it and up to ``size - 1`` before it. Raises ValueError for a size below 1."""
    if size < 1:
        raise ValueError(f"a window of {size} exchanges holds nothing")
    return tuple(tuple(found[max(0, end - size) : end]) for end in range(1, len(found) + 1))


def flat(window: Window) -> tuple[Numbered, ...]:
    """The turns of a window, in order."""
    return tuple(numbered for exchange in window for numbered in exchange)
