"""The members of values in a template, as in JavaScript: ``length``, items, and methods that take no function.

A template reaches no attribute of Python through any of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gradegate.texts.methods import CHANGING, UNDEFINED, method
from gradegate.texts.units import length, units, whole
from gradegate.texts.values import Built, is_nothing, to_string

_FUNCTIONS = frozenset(
    "map filter some every find findIndex findLast forEach reduce reduceRight flatMap match matchAll search".split()
)
_PYTHON = {
    "upper": "toUpperCase()", "lower": "toLowerCase()", "strip": "trim()", "lstrip": "trimStart()", "rstrip": "trimEnd()",
    "startswith": "startsWith()", "endswith": "endsWith()", "find": "indexOf()", "append": "push()", "splitlines": "split()",
}  # fmt: skip


_KINDS: tuple[tuple[Any, str], ...] = (
    (str, "a text"),
    (bool, "true or false"),
    ((int, float), "a number"),
    ((list, tuple), "a list"),
    (Mapping, "an object"),
    (type(None), "null"),
)


class Method:
    """A method of a value; a template can call it, and do nothing else with it."""

    __slots__ = ("_function", "_value")

    def __init__(self, function: Callable[..., Any], value: Any) -> None:
        self._function, self._value = function, value

    def __call__(self, *arguments: Any) -> Any:
        """Call it."""
        return self._function(self._value, *arguments)


def is_data(value: Any) -> bool:
    """Whether a value is one that data has, and no object of the template engine."""
    return value is None or isinstance(value, str | int | float | list | tuple | Mapping | Method)


def member(value: Any, key: Any) -> Any:
    """``value.key`` and ``value[key]`` of data; undefined where there is none. Raises TypeError for what takes a function."""
    if isinstance(value, Mapping):
        return _of_mapping(value, key)
    if isinstance(value, str | list | tuple):
        if key == "length" and isinstance(key, str):
            return length(value)
        index = _index(key)
        if index is not None:
            items = units(value) if isinstance(value, str) else value
            return whole(items[index]) if index < len(items) else UNDEFINED(obj=value, name=str(key))
    return _method(value, to_string(key))


def _method(value: Any, name: str) -> Any:
    known = method(value, name)
    return UNDEFINED(hint=_why_not(value, name), obj=value, name=name) if known is None else Method(known, value)


def _why_not(value: Any, name: str) -> str:
    if isinstance(value, str | list | tuple) and name in _FUNCTIONS:
        return f"`{name}` takes a function or a regular expression, and a template can write neither"
    if isinstance(value, list) and name in CHANGING:
        return f"`{name}` would change a variable: change what `concat()` or `slice()` gives"
    if name in _PYTHON and not isinstance(value, Mapping):
        return f"`{name}` is not known here: write `{_PYTHON[name]}`, as in JavaScript"
    if name in ("items", "keys", "values"):
        return f"`{name}` is no method of Nunjucks: `{{% for key, value in it %}}` goes over an object"
    kind = next((word for types, word in _KINDS if isinstance(value, types)), "this")
    return f"{kind} has no `{name}` here"


def _of_mapping(value: Mapping[Any, Any], key: Any) -> Any:
    if key in value:
        return value[key]
    name = to_string(key)
    if name in value:
        return value[name]
    return _method(value, name)


def _index(key: Any) -> int | None:
    if isinstance(key, str):
        return (
            int(key) if key.isdecimal() and key.isascii() and (key == "0" or key[0] != "0") and len(key) < 10 else None
        )
    whole_number = isinstance(key, int | float) and not isinstance(key, bool) and key >= 0 and key == key // 1
    return int(key) if whole_number and math.isfinite(key) else None


def items_of(value: Any) -> Any:
    """What a loop with one name goes over: a list, or the characters of a text; over an object or nothing, nothing."""
    if isinstance(value, str):
        return Built(map(whole, units(value)))
    return Built() if is_nothing(value) or (is_data(value) and not isinstance(value, list | tuple)) else value


def pairs_of(value: Any, names: int) -> Any:
    """What a loop with several names goes over: keys with values, or lists of as many items."""
    if isinstance(value, Mapping):
        return [(key, item, *([UNDEFINED()] * (names - 2))) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [tuple(member(item, at) for at in range(names)) for item in value]
    return items_of(value)
