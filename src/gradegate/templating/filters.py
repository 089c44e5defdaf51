"""The filters and tests that templates can use, as Nunjucks has them: ``FILTERS`` and ``TESTS``, by their names, at the end.

A filter takes the value before the ``|`` and the arguments behind its name, all by the rules of JavaScript. It raises TypeError
for a value that it refuses.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cmp_to_key
from typing import Any
from urllib.parse import quote

from gradegate.templating.printing import (
    OPERATORS,
    SPACE,
    UNDEFINED,
    add_values,
    dump_json,
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
    """The text of a filter for texts, empty for nothing and ``false``. Raises TypeError for any other value."""
    if is_nothing(value) or value is False:
        return ""
    if isinstance(value, str):
        return value
    raise TypeError("the filter is for texts; `~ ''` makes one of a value")


def _items(value: Any) -> Any:
    """A list as it is, a text in UTF-16 units, and an empty list for any other value. Raises TypeError for nothing."""
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


def _members(values: Any, attribute: Any) -> list[Any]:
    """The items of a list, or the member ``attribute`` of each."""
    if is_true(attribute):
        return [get_member(item, attribute) for item in _list(values)]
    return _list(values)


def _size(value: Any, default: int) -> int:
    """A number of characters; the default for a value that is false or infinite."""
    size = to_number(value) if is_true(value) else default
    return int(size) if math.isfinite(size) else default


def _sum(values: Any, attribute: Any = None, start: Any = 0) -> Any:
    total: Any = 0
    for item in _members(values, attribute):
        total = add_values(total, item)
    return add_values(start, total)


def _join(values: Any, separator: Any = "", attribute: Any = None) -> str:
    text = to_string(separator) if is_true(separator) else ""
    return text.join(map(show_value, _members(values, attribute)))


def _reverse(value: Any) -> Any:
    items = _items(value)[::-1]
    return join_units(items) if isinstance(value, str) else list(items)


def _sort(
    value: Any, reverse: Any = False, case_sensitive: Any = False, attribute: Any = None
) -> list[Any]:
    """The items of a value in their order. ``attribute`` is the path of the member to compare, such as ``user.name``."""
    items = [] if is_nothing(value) else _items(value)
    path = to_string(attribute).split(".") if is_true(attribute) else []
    comes_before = OPERATORS[">" if is_true(reverse) else "<"]

    keyed_items: list[tuple[Any, Any]] = []
    for item in items:
        key = item
        for name in path:
            key = get_member(key, name)
        if isinstance(key, str) and not is_true(case_sensitive):
            key = key.lower()
        keyed_items.append((key, item))

    # Python needs only to know what comes before what. Of a number and a text, neither does.
    def compare(left: tuple[Any, Any], right: tuple[Any, Any]) -> int:
        return -int(comes_before(left[0], right[0]))

    keyed_items.sort(key=cmp_to_key(compare))
    return [item for _, item in keyed_items]


def _capitalize(value: Any) -> str:
    text = _text(value).lower()
    return text[:1].upper() + text[1:]


def _indent(value: Any, width: Any = 4, first: Any = False) -> str:
    """The text with its lines moved to the right; the first line only if ``first`` is true."""
    space = " " * _size(width, 4)
    text = _text(value).replace("\n", f"\n{space}")
    return space + text if text and is_true(first) else text


def _replace(value: Any, old: Any, new: Any = UNDEFINED, count: Any = UNDEFINED) -> Any:
    """The text with ``old`` replaced, everywhere or ``count`` times; a value that is neither text nor number is unchanged."""
    text = to_string(value) if is_js_number(value) else value
    old_text = to_string(old) if is_js_number(old) else old
    if not isinstance(text, str) or not isinstance(old_text, str):
        return value
    new_text = to_string(new)
    if not old_text:
        return new_text + new_text.join(text) + new_text
    max_count = -1 if count is UNDEFINED else int(to_number(count))
    return text.replace(old_text, new_text, max_count)


def _trim(value: Any) -> str:
    if isinstance(value, str):
        return value.strip(SPACE)
    raise TypeError("the filter is for texts; `~ ''` makes one of a value")


def _truncate(value: Any, size: Any = 255, cut_words: Any = False, end: Any = None) -> str:
    """At most the first ``size`` characters, up to the end of a word unless ``cut_words`` is true, and ``end`` behind a cut."""
    text = utf16_units(_text(value))
    limit = _size(size, 255)
    if len(text) <= limit:
        return join_units(text)

    if not is_true(cut_words):
        last_space = text.rfind(" ", 0, limit + 1)
        if last_space >= 0:
            limit = last_space
    beginning = join_units(text[: max(0, limit)])
    return beginning + ("..." if is_nothing(end) else to_string(end))


def _urlencode(value: Any) -> str:
    """A text percent-encoded; the pairs of an object or of a list of pairs as ``key=value&key=value``."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, Mapping):
        pairs = [*value.items()]
    else:
        pairs = [(get_member(item, 0), get_member(item, 1)) for item in _list(value)]
    return "&".join(f"{_quote(key)}={_quote(item)}" for key, item in pairs)


def _quote(value: Any) -> str:
    return quote(to_string(value), safe="!'()*-._~")


def _string(value: Any) -> str:
    if is_nothing(value):
        raise TypeError("nothing is no text")
    return to_string(value)


def _length(value: Any) -> Any:
    if is_nothing(value) or value is False:
        return 0
    if isinstance(value, Mapping):
        return len(value)
    return get_member(value, "length")


def _last(value: Any) -> Any:
    items = _items(value)
    return get_member(items, len(items) - 1)


def _leading_number(kind: type[float], pattern: str) -> Callable[..., Any]:
    """A filter that reads the number at the beginning of a text; ``kind`` is int or float. Its default may be undefined."""

    def read_number(value: Any, default: Any = UNDEFINED) -> Any:
        match = re.match(pattern, to_string(value))
        return js_number(kind(match[1])) if match else default

    return read_number


def _round(value: Any, places: Any = 0, method: Any = "") -> Any:
    """A number with so many decimal places. ``method`` is "ceil" or "floor"; any other rounds to the nearest, halves up."""
    exponent = to_number(places) if is_true(places) else 0
    factor = 10.0**exponent if abs(exponent) < 300 else math.nan
    scaled = to_number(value) * factor
    if not math.isfinite(scaled):
        return scaled
    match to_string(method):
        case "ceil":
            rounded = math.ceil(scaled)
        case "floor":
            rounded = math.floor(scaled)
        case _:
            rounded = math.floor(scaled + 0.5)
    return js_number(rounded / factor)


def _default(value: Any, default: Any = UNDEFINED, falsy: Any = False) -> Any:
    """The default for an undefined value, and with ``falsy`` also for a value that counts as false."""
    if value is UNDEFINED or (is_true(falsy) and not is_true(value)):
        return default
    return value


FILTERS: Mapping[str, Callable[..., Any]] = {
    "abs": lambda value: js_number(abs(to_number(value))),
    "capitalize": _capitalize,
    "d": _default,
    "default": _default,
    "dump": lambda value, spaces=None: value if value is UNDEFINED else dump_json(value, spaces),
    "first": lambda value: get_member(_items(value), 0),
    "float": _leading_number(float, r"\s*([+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))"),
    "indent": _indent,
    "int": _leading_number(int, r"\s*([+-]?\d+)"),
    "join": _join,
    "last": _last,
    "length": _length,
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
