"""The filters of Nunjucks for lists, and its tests; what it refuses raises TypeError."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cmp_to_key
from typing import Any

import jinja2

from gradegate.texts.members import member
from gradegate.texts.methods import UNDEFINED
from gradegate.texts.operators import COMPARISONS, add, strictly_equal
from gradegate.texts.units import length, units, whole
from gradegate.texts.values import NAN, Built, Object, is_nothing, show, to_number, to_string

_NONE = UNDEFINED()
MAX_SLICES = 100_000


class Safe(str):
    """A text that was escaped or called safe."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return True  # it is an object in JavaScript


def _items(value: Any) -> Any:
    """What has a length and positions: a list or a text; of any other value nothing. Raises TypeError for null."""
    if is_nothing(value):
        raise TypeError("the filter is for lists")
    return units(value) if isinstance(value, str) else value if isinstance(value, list | tuple) else []


def listed(value: Any) -> list[Any]:
    """A list. Raises TypeError for what is none."""
    if not isinstance(value, list | tuple):
        raise TypeError("the filter is for lists")
    return list(value)


def size_of(value: Any, otherwise: int) -> int:
    """A number of characters or items."""
    size = to_number(value) if value else otherwise
    return int(size) if math.isfinite(size) else otherwise


def text_of(value: Any) -> str:
    """A text. Raises TypeError for what is none."""
    if isinstance(value, str):
        return value
    raise TypeError("the filter is for texts; `~ ''` makes one of a value")


def _sum(values: Any, attribute: Any = None, start: Any = 0) -> Any:
    total: Any = 0
    for item in listed(values):
        total = add(total, member(item, attribute) if attribute else item)
    return add(start, total)


def _batch(values: Any, count: Any, filling: Any = None) -> Built:
    items, size = _items(values), size_of(count, 0)
    if size <= 0:
        return Built([Built(items)] if items else [])
    rows = Built(Built(items[at : at + size]) for at in range(0, len(items), size))
    if rows and filling:
        rows[-1] += [filling] * (size - len(rows[-1]))
    return rows


def _slice(values: Any, count: Any, filling: Any = None) -> Built:
    items, slices = _items(values), size_of(count, 0)
    if not 0 < slices <= MAX_SLICES:
        raise TypeError(f"`slice` makes 1 to {MAX_SLICES:,} lists")
    size, extra = divmod(len(items), slices)
    rows, at = Built(), 0
    for row in range(slices):
        end = at + size + (row < extra)
        filled = [filling] if filling and row >= extra else []
        rows.append(whole(items[at:end]) if isinstance(items, str) else Built([*items[at:end], *filled]))
        at = end
    return rows


def _first(values: Any) -> Any:
    return member(_items(values), 0)


def _last(values: Any) -> Any:
    items = _items(values)
    return member(items, len(items) - 1) if items else _NONE


def _length(value: Any) -> Any:
    if is_nothing(value) or value is False:
        return 0
    return length(value) if isinstance(value, str | list | tuple | Mapping) else _NONE


def _as_list(value: Any) -> Built:
    if isinstance(value, Mapping):
        return Built(Object({"key": key, "value": item}) for key, item in value.items())
    return Built(_items(value))


def _join(values: Any, by: Any = "", attribute: Any = None) -> str:
    items = listed(values)
    return to_string(by or "").join(show(member(item, attribute) if attribute else item) for item in items)


def _reverse(value: Any) -> Any:
    turned = _items(value)[::-1]
    return whole(turned[:]) if isinstance(value, str) else Built(turned)


def _dotted(item: Any, path: Any) -> Any:
    for part in str(path).split("."):
        item = member(item, part) if isinstance(item, Mapping | list | tuple) else _NONE
    return item


def _group_by(values: Any, attribute: Any) -> Object:
    groups = Object()
    for item in _items(values):
        groups.setdefault(to_string(_dotted(item, attribute)), Built()).append(item)
    return groups


def _sort(value: Any, reverse: Any = False, case_sensitive: Any = False, attribute: Any = None) -> Built:
    def key(item: Any) -> Any:
        sorted_by = _dotted(item, attribute) if attribute else item
        return sorted_by.lower() if isinstance(sorted_by, str) and not case_sensitive else sorted_by

    items = [] if is_nothing(value) else _items(value)
    return Built(sorted(items, key=cmp_to_key(lambda a, b: _compared(key(a), key(b)) * (-1 if reverse else 1))))


def _compared(left: Any, right: Any) -> int:
    return -1 if COMPARISONS["<"](left, right) else 1 if COMPARISONS[">"](left, right) else 0


def _dictsort(value: Any, case_sensitive: Any = False, by: Any = "key") -> Built:
    if not isinstance(value, Mapping) or by not in ("key", "value"):
        raise TypeError("`dictsort` sorts an object by `key` or by `value`")

    def compared(left: tuple[Any, Any], right: tuple[Any, Any]) -> int:
        keys = [pair[by == "value"] for pair in (left, right)]
        one, other = keys if case_sensitive else [key.upper() if isinstance(key, str) else key for key in keys]
        return _compared(one, other)

    return Built(Built(pair) for pair in sorted(value.items(), key=cmp_to_key(compared)))


def _select(wanted: bool) -> Callable[..., Built]:
    def selected(values: Any, test: Any = "truthy", argument: Any = _NONE) -> Built:
        if test not in TESTS:
            raise TypeError(f"there is no test `{test}`")
        given = () if isinstance(argument, jinja2.Undefined) else (argument,)
        return Built(item for item in _items(values) if bool(TESTS[test](item, *given)) == wanted)

    return selected


def _select_attribute(wanted: bool) -> Callable[..., Built]:
    return lambda values, name: Built(item for item in listed(values) if bool(member(item, name)) == wanted)


LISTS: Mapping[str, Callable[..., Any]] = {
    "batch": _batch,
    "dictsort": _dictsort,
    "first": _first,
    "groupby": _group_by,
    "join": _join,
    "last": _last,
    "length": _length,
    "list": _as_list,
    "reject": _select(wanted=False),
    "rejectattr": _select_attribute(wanted=False),
    "reverse": _reverse,
    "select": _select(wanted=True),
    "selectattr": _select_attribute(wanted=True),
    "slice": _slice,
    "sort": _sort,
    "sum": _sum,
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _remains(value: Any, by: Any) -> float:
    given, divisor = to_number(value), to_number(by)
    return math.fmod(given, divisor) if divisor and math.isfinite(given) else NAN


TESTS: Mapping[str, Callable[..., bool]] = {
    "callable": lambda value: callable(value) and not isinstance(value, jinja2.Undefined),
    "defined": lambda value: not isinstance(value, jinja2.Undefined),
    "divisibleby": lambda value, by: _remains(value, by) == 0,
    "eq": strictly_equal,
    "equalto": strictly_equal,
    "escaped": lambda value: isinstance(value, Safe),
    "even": lambda value: _remains(value, 2) == 0,
    "falsy": lambda value: not value,
    "ge": COMPARISONS[">="],
    "greaterthan": COMPARISONS[">"],
    "gt": COMPARISONS[">"],
    "iterable": lambda value: isinstance(value, str | list | tuple),
    "le": COMPARISONS["<="],
    "lessthan": COMPARISONS["<"],
    "lower": lambda value: text_of(value).lower() == value,
    "lt": COMPARISONS["<"],
    "mapping": lambda value: isinstance(value, Mapping),
    "ne": COMPARISONS["!=="],
    "none": lambda value: value is None,
    "null": lambda value: value is None,
    "number": _is_number,
    "odd": lambda value: _remains(value, 2) == 1,
    "sameas": strictly_equal,
    "string": lambda value: isinstance(value, str) and not isinstance(value, Safe),
    "truthy": bool,
    "undefined": lambda value: isinstance(value, jinja2.Undefined),
    "upper": lambda value: text_of(value).upper() == value,
}
