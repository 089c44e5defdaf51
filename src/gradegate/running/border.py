"""The border at which a defect of a plug-in becomes a value: one answer or grade is lost, never the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def guarded(action: Callable[[], T], otherwise: Callable[[Exception], U]) -> T | U:
    """What the action gives, or what ``otherwise`` makes of whatever it raised."""
    try:
        return action()
    except Exception as e:
        return otherwise(e)
