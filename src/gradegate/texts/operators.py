"""What the signs between values do in a template, as in JavaScript: ``"a" + 1``, ``"1" == 1``, ``7 // 2``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gradegate.texts.values import NAN, Built, Object, is_nothing, number, to_number, to_string

_SCALARS = (str, int, float)


def add(left: Any, right: Any) -> Any:
    """``+``: texts are put together, and so is what stands beside a text."""
    left, right = _primitive(left), _primitive(right)
    if isinstance(left, str) or isinstance(right, str):
        return to_string(left) + to_string(right)
    return number(to_number(left) + to_number(right))


def concatenate(left: Any, right: Any) -> str:
    """``~``"""
    return to_string(_primitive(left)) + to_string(_primitive(right))


def strictly_equal(left: Any, right: Any) -> bool:
    """``===``: of one kind and the same; lists and objects are equal to themselves alone."""
    if is_nothing(left) or is_nothing(right):
        return is_nothing(left) and is_nothing(right) and (left is None) == (right is None)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, str) and isinstance(right, str):
        return left == right
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right
    return left is right


def loosely_equal(left: Any, right: Any) -> bool:
    """``==``: a text that reads as a number is that number, and null is undefined."""
    if is_nothing(left) or is_nothing(right):
        return is_nothing(left) and is_nothing(right)
    if _is_plain(left) == _is_plain(right) and (not _is_plain(left) or isinstance(left, str) == isinstance(right, str)):
        return left == right if _is_plain(left) else left is right
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
        return key in container if isinstance(key, str) else to_string(key) in container
    raise TypeError("`in` looks into texts, lists and objects alone")


def _order(before: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(left: Any, right: Any) -> bool:
        left, right = _primitive(left), _primitive(right)
        if isinstance(left, str) and isinstance(right, str):
            return before(left, right)
        return before(to_number(left), to_number(right))

    return compared


def divide(left: Any, right: Any) -> float:
    """``/``: nothing is raised; by zero it is infinite or no number."""
    above, below = to_number(left), to_number(right)
    if below:
        return number(above / below)
    if not above or math.isnan(above) or math.isnan(below):
        return NAN
    return number(math.copysign(math.inf, above) * math.copysign(1.0, below))


def remainder(left: Any, right: Any) -> float:
    """``%``: it has the sign of what is divided."""
    above, below = to_number(left), to_number(right)
    return NAN if not below or math.isnan(below) or not math.isfinite(above) else number(math.fmod(above, below))


def power(left: Any, right: Any) -> float:
    """``**``"""
    base, exponent = to_number(left), to_number(right)
    if math.isnan(exponent) or (math.isinf(exponent) and abs(base) == 1):
        return NAN  # where C says 1
    try:
        return number(math.pow(base, exponent))
    except OverflowError:
        return number(-math.inf if base < 0 and exponent % 2 == 1 else math.inf)
    except ValueError:  # a root of a negative number; or a power below 0 of 0
        return NAN if base else number(math.inf)


def floor_divide(left: Any, right: Any) -> float:
    """``//``"""
    quotient = divide(left, right)
    return number(math.floor(quotient)) if math.isfinite(quotient) else quotient


def _primitive(value: Any) -> Any:
    return value if is_nothing(value) or _is_plain(value) else to_string(value)


def _is_plain(value: Any) -> bool:
    return isinstance(value, _SCALARS)


# Each is a filter that no template can name.
COMPARISONS: Mapping[str, Callable[..., Any]] = {
    "==": loosely_equal,
    "!=": lambda left, right: not loosely_equal(left, right),
    "===": strictly_equal,
    "!==": lambda left, right: not strictly_equal(left, right),
    "<": _order(lambda left, right: left < right),
    "<=": _order(lambda left, right: left <= right),
    ">": _order(lambda left, right: left > right),
    ">=": _order(lambda left, right: left >= right),
    "in": contains,
}
ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "+": add,
    "~": concatenate,
    "-": lambda left, right: number(to_number(left) - to_number(right)),
    "*": lambda left, right: number(to_number(left) * to_number(right)),
    "/": divide,
    "%": remainder,
    "**": power,
    "//": floor_divide,
    "neg": lambda value: number(-to_number(value)),
    "pos": to_number,
    "[]": Built,
    "{}": lambda value: Object({to_string(key): item for key, item in value.items()}),
}
