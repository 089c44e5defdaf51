"""What the signs between values do in a template, as in JavaScript: ``"a" + 1``, ``"1" == 1``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gradegate.texts.values import is_nothing, number, to_number, to_string


def add(left: Any, right: Any) -> Any:
    """``+``: texts are put together, and so is what stands beside a text."""
    left, right = _primitive(left), _primitive(right)
    if isinstance(left, str) or isinstance(right, str):
        return to_string(left) + to_string(right)
    return number(to_number(left) + to_number(right))


def strictly_equal(left: Any, right: Any) -> bool:
    """``===``: of one kind and the same; lists and objects are equal to themselves alone."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    for kind in (str, int | float):
        if isinstance(left, kind) and isinstance(right, kind):
            return bool(left == right)
    return left is right


def loosely_equal(left: Any, right: Any) -> bool:
    """``==``: a text that reads as a number is that number, and null is undefined."""
    if is_nothing(left) or is_nothing(right):
        return is_nothing(left) and is_nothing(right)
    if not _is_plain(left) and not _is_plain(right):
        return left is right
    left, right = _primitive(left), _primitive(right)
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    return to_number(left) == to_number(right)


def contains(key: Any, container: Any) -> bool:
    """``in``. Raises TypeError for what holds nothing."""
    if isinstance(container, str):
        return to_string(key) in container
    if isinstance(container, list | tuple):
        return any(strictly_equal(key, item) for item in container)
    if isinstance(container, Mapping):
        return to_string(key) in container
    raise TypeError("`in` looks into texts, lists and objects alone")


def _order(before: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(left: Any, right: Any) -> bool:
        left, right = _primitive(left), _primitive(right)
        if isinstance(left, str) and isinstance(right, str):
            return before(left, right)
        return before(to_number(left), to_number(right))

    return compared


def _divide(left: Any, right: Any) -> float:
    above, below = to_number(left), to_number(right)
    if below:
        return number(above / below)
    return math.nan if not above or math.isnan(above) else math.copysign(math.inf, above) * math.copysign(1.0, below)


def _remainder(left: Any, right: Any) -> float:
    """It has the sign of what is divided."""
    above, below = to_number(left), to_number(right)
    return number(math.fmod(above, below)) if below and math.isfinite(above) else math.nan


def _primitive(value: Any) -> Any:
    return value if is_nothing(value) or _is_plain(value) else to_string(value)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": loosely_equal,
    "!=": lambda left, right: not loosely_equal(left, right),
    "===": strictly_equal,
    "!==": lambda left, right: not strictly_equal(left, right),
    "<": _order(lambda left, right: left < right),
    "<=": _order(lambda left, right: left <= right),
    ">": _order(lambda left, right: left > right),
    ">=": _order(lambda left, right: left >= right),
    "in": contains,
    "not in": lambda left, right: not contains(left, right),
    "+": add,
    "-": lambda left, right: number(to_number(left) - to_number(right)),
    "*": lambda left, right: number(to_number(left) * to_number(right)),
    "/": _divide,
    "%": _remainder,
}
