"""The filters and tests of Nunjucks, as it has them; what it refuses raises TypeError."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cmp_to_key
from typing import Any
from urllib.parse import quote

import jinja2

from gradegate.texts.members import UNDEFINED, length, member, units, whole
from gradegate.texts.operators import COMPARISONS, add, strictly_equal
from gradegate.texts.values import NAN, SPACE, Built, Object, dump, is_nothing, number, show, to_number, to_string

_NONE = UNDEFINED()
MAX_SLICES = 100_000
_ESCAPES = str.maketrans({"&": "&amp;", '"': "&quot;", "'": "&#39;", "<": "&lt;", ">": "&gt;", "\\": "&#92;"})
_TAGS = re.compile(r"</?[a-z][a-z0-9]*\b[^>]*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_LEADING_FLOAT = re.compile(r"\s*([+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))")
_LEADING_INT = re.compile(r"\s*([+-]?\d+)")


class Safe(str):
    """A text that was escaped or called safe."""

    __slots__ = ()


def _text(value: Any) -> str:
    """A text, empty for nothing and ``false``. Raises TypeError."""
    if is_nothing(value) or value is False:
        return ""
    return _strictly_text(value)


def _strictly_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise TypeError("the filter is for texts; `~ ''` makes one of a value")


def _items(value: Any) -> Any:
    """What has a length and positions: a list or a text. Raises TypeError."""
    if not isinstance(value, list | tuple | str):
        raise TypeError("the filter is for lists")
    return units(value) if isinstance(value, str) else value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise TypeError("the filter is for lists")
    return list(value)


def _size(value: Any, otherwise: int) -> int:
    size = to_number(value) if value else otherwise
    return int(size) if math.isfinite(size) else otherwise


# --- texts ------------------------------------------------------------------------------------------------------


def _capitalize(value: Any) -> str:
    text = _text(value).lower()
    return text[:1].upper() + text[1:]


def _title(value: Any) -> str:
    return " ".join(map(_capitalize, _text(value).split(" ")))


def _center(value: Any, width: Any = 80) -> str:
    text = _text(value)
    spaces = _size(width, 80) - length(text)
    if spaces <= 0:
        return text
    return " " * math.ceil(spaces / 2 - spaces % 2) + text + " " * math.ceil(spaces / 2)


def _escape(value: Any) -> Safe:
    return value if isinstance(value, Safe) else _force_escape(value)


def _force_escape(value: Any) -> Safe:
    return Safe(("" if is_nothing(value) else to_string(value)).translate(_ESCAPES))


def _safe(value: Any) -> Safe:
    return Safe("" if is_nothing(value) else to_string(value))


def _indent(value: Any, width: Any = 4, first: Any = False) -> str:
    lines = _text(value).split("\n")
    space = " " * _size(width, 4)
    return (
        "" if lines == [""] else "\n".join(line if not (at or first) else space + line for at, line in enumerate(lines))
    )


def _nl2br(value: Any) -> str:
    return "" if is_nothing(value) else _strictly_text(value).replace("\r\n", "\n").replace("\n", "<br />\n")


def _replace(value: Any, old: Any, new: Any = _NONE, most: Any = _NONE) -> Any:
    old = to_string(old) if isinstance(old, int | float) and not isinstance(old, bool) else old
    value = to_string(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(old, str) or not isinstance(value, str):
        return value
    times = -1 if isinstance(most, jinja2.Undefined) else int(to_number(most))
    by = to_string(new)
    return by + by.join(value) + by if not old else value.replace(old, by, times)


def _striptags(value: Any, keep_lines: Any = False) -> str:
    text = _TAGS.sub("", _text(value)).strip(SPACE)
    if not keep_lines:
        return re.sub(r"\s+", " ", text)
    text = "\n".join(re.sub(" +", " ", line.strip(" ")) for line in text.split("\n"))
    return re.sub(r"\n\n\n+", "\n\n", text.replace("\r\n", "\n"))


def _truncate(value: Any, size: Any = 255, cut_words: Any = False, end: Any = None) -> str:
    text, most = units(_text(value)), _size(size, 255)
    if len(text) <= most:
        return str(whole(text))
    if not cut_words:
        space = text.rfind(" ", 0, most + 1)
        most = most if space < 0 else space
    return str(whole(text[: max(0, most)])) + ("..." if is_nothing(end) else to_string(end))


def _urlencode(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    pairs = value.items() if isinstance(value, Mapping) else ((member(it, 0), member(it, 1)) for it in _list(value))
    return "&".join(f"{_quoted(key)}={_quoted(item)}" for key, item in pairs)


def _quoted(value: Any) -> str:
    return quote(to_string(value), safe="!'()*-._~")


def _wordcount(value: Any) -> int | None:
    return len(re.findall(r"[A-Za-z0-9_]+", _text(value))) or None


def _string(value: Any) -> str:
    if is_nothing(value):
        raise TypeError("nothing is no text")
    return to_string(value)


# --- numbers ----------------------------------------------------------------------------------------------------


def _float(value: Any, otherwise: Any = _NONE) -> Any:
    match = _LEADING_FLOAT.match(to_string(value))
    return number(float(match[1])) if match else otherwise


def _int(value: Any, otherwise: Any = _NONE, base: Any = 10) -> Any:
    if not isinstance(base, jinja2.Undefined) and base != 10:
        return _int_of_base(to_string(value).strip(), otherwise, base)
    match = _LEADING_INT.match(to_string(value))
    return number(int(match[1])) if match else otherwise


def _int_of_base(text: str, otherwise: Any, base: Any) -> Any:
    digits = text.lower().removeprefix("0x" if base == 16 else "")
    known = "0123456789abcdefghijklmnopqrstuvwxyz"[: int(base)]
    leading = digits[: len(digits) - len(digits.lstrip(known))]
    return number(int(leading, int(base))) if leading else otherwise


def _round(value: Any, places: Any = 0, method: Any = "") -> Any:
    factor = math.pow(10, to_number(places or 0))
    given = to_number(value) * factor
    if not math.isfinite(given):
        return number(given)
    rounded = {"ceil": math.ceil, "floor": math.floor}.get(method, lambda it: math.floor(it + 0.5))(given)
    return number(rounded / factor)


def _sum(values: Any, attribute: Any = None, start: Any = 0) -> Any:
    total: Any = 0
    for item in _list(values):
        total = add(total, member(item, attribute) if attribute else item)
    return add(start, total)


# --- lists ------------------------------------------------------------------------------------------------------


def _batch(values: Any, count: Any, filling: Any = None) -> Built:
    items, size = _items(values), _size(count, 0)
    if size <= 0:
        return Built([Built(items)] if items else [])
    rows = Built(Built(items[at : at + size]) for at in range(0, len(items), size))
    if rows and filling:
        rows[-1] += [filling] * (size - len(rows[-1]))
    return rows


def _slice(values: Any, count: Any, filling: Any = None) -> Built:
    items, slices = _list(values), _size(count, 0)
    if not 0 < slices <= MAX_SLICES:
        raise TypeError(f"`slice` makes 1 to {MAX_SLICES:,} lists")
    size, extra = divmod(len(items), slices)
    rows, at = Built(), 0
    for row in range(slices):
        end = at + size + (row < extra)
        rows.append(Built([*items[at:end], *([filling] if filling and row >= extra else [])]))
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
    items = _list(values)
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

    return Built(sorted(_items(value), key=cmp_to_key(lambda a, b: _compared(key(a), key(b)) * (-1 if reverse else 1))))


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
    return lambda values, name: Built(item for item in _list(values) if bool(member(item, name)) == wanted)


def _default(value: Any, otherwise: Any = _NONE, falsy: Any = False) -> Any:
    return (value or otherwise) if falsy else otherwise if isinstance(value, jinja2.Undefined) else value


def _dump(value: Any, spaces: Any = None) -> Any:
    return value if isinstance(value, jinja2.Undefined) else dump(value, spaces)


def _load(value: Any) -> Any:
    return json.loads(value)


FILTERS: Mapping[str, Callable[..., Any]] = {
    "abs": lambda value: number(abs(to_number(value))),
    "batch": _batch,
    "capitalize": _capitalize,
    "center": _center,
    "d": _default,
    "default": _default,
    "dictsort": _dictsort,
    "dump": _dump,
    "e": _escape,
    "escape": _escape,
    "first": _first,
    "float": _float,
    "forceescape": _force_escape,
    "groupby": _group_by,
    "indent": _indent,
    "int": _int,
    "join": _join,
    "last": _last,
    "length": _length,
    "list": _as_list,
    "load": _load,
    "lower": lambda value: _text(value).lower(),
    "nl2br": _nl2br,
    "reject": _select(wanted=False),
    "rejectattr": _select_attribute(wanted=False),
    "replace": _replace,
    "reverse": _reverse,
    "round": _round,
    "safe": _safe,
    "select": _select(wanted=True),
    "selectattr": _select_attribute(wanted=True),
    "slice": _slice,
    "sort": _sort,
    "string": _string,
    "striptags": _striptags,
    "sum": _sum,
    "title": _title,
    "trim": lambda value: _strictly_text(value).strip(SPACE),
    "truncate": _truncate,
    "upper": lambda value: _text(value).upper(),
    "urlencode": _urlencode,
    "wordcount": _wordcount,
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
    "lower": lambda value: _strictly_text(value).lower() == value,
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
    "upper": lambda value: _strictly_text(value).upper() == value,
}
