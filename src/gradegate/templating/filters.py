"""The filters and tests of Nunjucks that templates have; what a filter refuses raises TypeError."""

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cmp_to_key
from typing import Any
from urllib.parse import quote

from gradegate.templating import printing
from gradegate.templating.printing import (
    UNDEFINED,
    get_member,
    is_js_number,
    is_nothing,
    is_true,
    join_units,
    js_number,
    show_value,
    to_number,
    to_string,
    utf16_units,
)


def _text(value: Any) -> str:
    """A text, empty for nothing and ``false``. Raises TypeError."""
    if is_nothing(value) or value is False:
        return ""
    if isinstance(value, str):
        return value
    raise TypeError("the filter is for texts; `~ ''` makes one of a value")


def _items(value: Any) -> Any:
    """What has a length and positions: a list or a text; of any other value nothing. Raises TypeError for null."""
    if is_nothing(value):
        raise TypeError("the filter is for lists")
    if isinstance(value, str):
        return utf16_units(value)
    if isinstance(value, list | tuple):
        return value
    return []


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise TypeError("the filter is for lists")
    return list(value)


def _size(value: Any, otherwise: int) -> int:
    """A number of characters or items."""
    size = to_number(value) if is_true(value) else otherwise
    return int(size) if math.isfinite(size) else otherwise


def _sum(values: Any, attribute: Any = None, start: Any = 0) -> Any:
    total: Any = 0
    for item in _list(values):
        total = printing.add_values(
            total, get_member(item, attribute) if is_true(attribute) else item
        )
    return printing.add_values(start, total)


def _join(values: Any, by: Any = "", attribute: Any = None) -> str:
    items = (get_member(item, attribute) if is_true(attribute) else item for item in _list(values))
    return (to_string(by) if is_true(by) else "").join(map(show_value, items))


def _reverse(value: Any) -> Any:
    turned = _items(value)[::-1]
    return join_units(turned) if isinstance(value, str) else list(turned)


def _sort(
    value: Any, reverse: Any = False, case_sensitive: Any = False, attribute: Any = None
) -> list[Any]:
    def key(item: Any) -> Any:
        for part in to_string(attribute).split(".") if is_true(attribute) else ():
            item = get_member(item, part)
        return item.lower() if isinstance(item, str) and not is_true(case_sensitive) else item

    def compared(left: Any, right: Any) -> int:
        order = (
            -1
            if printing.SIGNS["<"](key(left), key(right))
            else int(printing.SIGNS[">"](key(left), key(right)))
        )
        return -order if is_true(reverse) else order

    return sorted([] if is_nothing(value) else _items(value), key=cmp_to_key(compared))


def _capitalize(value: Any) -> str:
    text = _text(value).lower()
    return text[:1].upper() + text[1:]


def _indent(value: Any, width: Any = 4, first: Any = False) -> str:
    space = " " * _size(width, 4)
    lines = _text(value).split("\n") if _text(value) else []
    return "\n".join(
        line if not (at or is_true(first)) else space + line for at, line in enumerate(lines)
    )


def _replace(value: Any, old: Any, new: Any = UNDEFINED, most: Any = UNDEFINED) -> Any:
    texts = [to_string(it) if is_js_number(it) else it for it in (value, old)]
    if not all(isinstance(text, str) for text in texts):
        return value
    by = to_string(new)
    if not texts[1]:
        return by + by.join(texts[0]) + by
    return texts[0].replace(texts[1], by, -1 if most is UNDEFINED else int(to_number(most)))


def _trim(value: Any) -> str:
    if isinstance(value, str):
        return value.strip(printing.SPACE)
    raise TypeError("the filter is for texts; `~ ''` makes one of a value")


def _truncate(value: Any, size: Any = 255, cut_words: Any = False, end: Any = None) -> str:
    text = utf16_units(_text(value))
    most = _size(size, 255)
    if len(text) <= most:
        return join_units(text)
    if not is_true(cut_words):
        space = text.rfind(" ", 0, most + 1)
        most = most if space < 0 else space
    return join_units(text[: max(0, most)]) + ("..." if is_nothing(end) else to_string(end))


def _urlencode(value: Any) -> str:
    def quoted(part: Any) -> str:
        return quote(to_string(part), safe="!'()*-._~")

    if isinstance(value, str):
        return quoted(value)
    pairs = (
        value.items()
        if isinstance(value, Mapping)
        else ((get_member(it, 0), get_member(it, 1)) for it in _list(value))
    )
    return "&".join(f"{quoted(key)}={quoted(item)}" for key, item in pairs)


def _string(value: Any) -> str:
    if is_nothing(value):
        raise TypeError("nothing is no text")
    return to_string(value)


def _leading(kind: type[float], pattern: str) -> Callable[..., Any]:
    def read(value: Any, otherwise: Any = UNDEFINED) -> Any:
        match = re.match(pattern, to_string(value))
        return js_number(kind(match[1])) if match else otherwise

    return read


def _round(value: Any, places: Any = 0, method: Any = "") -> Any:
    exponent = to_number(places) if is_true(places) else 0
    factor = 10.0**exponent if abs(exponent) < 300 else math.nan
    given = to_number(value) * factor
    if not math.isfinite(given):
        return given
    rounded = {"ceil": math.ceil, "floor": math.floor}.get(
        to_string(method), lambda it: math.floor(it + 0.5)
    )(given)
    return js_number(rounded / factor)


def _default(value: Any, otherwise: Any = UNDEFINED, falsy: Any = False) -> Any:
    return otherwise if value is UNDEFINED or (is_true(falsy) and not is_true(value)) else value


FILTERS: Mapping[str, Callable[..., Any]] = {
    "abs": lambda value: js_number(abs(to_number(value))),
    "capitalize": _capitalize,
    "d": _default,
    "default": _default,
    "dump": lambda value, spaces=None: (
        value if value is UNDEFINED else printing.dump_json(value, spaces)
    ),
    "first": lambda value: get_member(_items(value), 0),
    "float": _leading(float, r"\s*([+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))"),
    "indent": _indent,
    "int": _leading(int, r"\s*([+-]?\d+)"),
    "join": _join,
    "last": lambda value: get_member(items := _items(value), len(items) - 1),
    "length": lambda it: (
        0
        if is_nothing(it) or it is False
        else len(it)
        if isinstance(it, Mapping)
        else get_member(it, "length")
    ),
    "load": json.loads,
    "lower": lambda value: _text(value).lower(),
    "replace": _replace,
    "reverse": _reverse,
    "round": _round,
    "safe": show_value,
    "sort": _sort,
    "string": _string,
    "sum": _sum,
    "title": lambda value: " ".join(map(_capitalize, _text(value).split(" "))),
    "trim": _trim,
    "truncate": _truncate,
    "upper": lambda value: _text(value).upper(),
    "urlencode": _urlencode,
}
TESTS: Mapping[str, Callable[[Any], bool]] = {
    "defined": lambda value: value is not UNDEFINED,
    "mapping": lambda value: isinstance(value, Mapping),
    "none": lambda value: value is None,
    "null": lambda value: value is None,
    "number": is_js_number,
    "string": lambda value: isinstance(value, str),
    "undefined": lambda value: value is UNDEFINED,
}
