"""The methods of JavaScript's values that take no function; texts and lists are counted in UTF-16 units and items."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Literal

import jinja2

from gradegate.texts.operators import strictly_equal
from gradegate.texts.units import units, whole
from gradegate.texts.values import SAFE_INTEGER, SPACE, Built, number, show, to_number, to_string

UNDEFINED = jinja2.ChainableUndefined
_FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def _text(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method over units."""

    def called(value: str, *arguments: Any) -> Any:
        result = function(units(value), *(units(it) if isinstance(it, str) else it for it in arguments))
        return Built(map(whole, result)) if isinstance(result, list) else whole(result)

    return called


def _whole_number(value: Any, otherwise: float = 0) -> float:
    if isinstance(value, jinja2.Undefined):
        return otherwise
    given = to_number(value)
    return 0 if math.isnan(given) else given if math.isinf(given) else math.trunc(given)


def _from_end(value: Any, size: int, otherwise: float) -> int:
    """A position that counts from the end where it is negative."""
    at = _whole_number(value, otherwise)
    return int(max(0, size + at) if at < 0 else min(at, size))


def _within(value: Any, size: int, otherwise: float = 0) -> int:
    return int(max(0, min(_whole_number(value, otherwise), size)))


_NONE = UNDEFINED()


def _slice(value: Any, start: Any = _NONE, end: Any = _NONE) -> Any:
    return value[_from_end(start, len(value), 0) : _from_end(end, len(value), len(value))]


def _list_slice(value: Any, start: Any = _NONE, end: Any = _NONE) -> Built:
    return Built(_slice(value, start, end))


def _substring(value: str, start: Any = _NONE, end: Any = _NONE) -> str:
    first, last = sorted((_within(start, len(value)), _within(end, len(value), len(value))))
    return value[first:last]


def _substr(value: str, start: Any = _NONE, count: Any = _NONE) -> str:
    first = _from_end(start, len(value), 0)
    return value[first : first + _within(count, len(value) - first, len(value))]


def _split(value: str, by: Any = _NONE, most: Any = _NONE) -> list[str]:
    if isinstance(by, jinja2.Undefined):
        parts = [value]
    else:
        parts = value.split(to_string(by)) if to_string(by) else list(value)
    return parts if isinstance(most, jinja2.Undefined) else parts[: int(_whole_number(most))]


def _replace(times: int) -> Callable[..., str]:
    def replaced(value: str, old: Any = _NONE, new: Any = _NONE) -> str:
        text, by = to_string(old), to_string(new)
        if "$" in by:
            raise TypeError("`$` in the new text of `replace` has a meaning of its own, which is not read here")
        return value.replace(text, by, times)

    return replaced


def _pad(before: bool) -> Callable[..., str]:
    def padded(value: str, size: Any = _NONE, by: Any = _NONE) -> str:
        missing = int(_whole_number(size)) - len(value)
        sign = " " if isinstance(by, jinja2.Undefined) else to_string(by)
        if missing <= 0 or not sign:
            return value
        filling = (sign * (missing // len(sign) + 1))[:missing]
        return filling + value if before else value + filling

    return padded


def _repeat(value: str, times: Any = _NONE) -> str:
    count = _whole_number(times)
    if count < 0 or math.isinf(count):
        raise TypeError(f"`repeat` cannot repeat {show(count)} times")
    return value * int(count)


def _at(value: Any, index: Any = _NONE) -> Any:
    at = _whole_number(index)
    at = at + len(value) if at < 0 else at
    return value[int(at)] if 0 <= at < len(value) else UNDEFINED()


def _char(value: str, index: Any = _NONE) -> str:
    at = _whole_number(index)
    return value[int(at)] if 0 <= at < len(value) else ""


def _code(value: str, index: Any = _NONE) -> float:
    sign = _char(value, index)
    return ord(sign) if sign else number(math.nan)


def _last_index(value: str, part: Any = _NONE) -> int:
    return value.rfind(to_string(part))


def _list_index(value: list[Any], item: Any = _NONE, start: Any = _NONE) -> int:
    first = _from_end(start, len(value), 0)
    return next((at for at in range(first, len(value)) if strictly_equal(value[at], item)), -1)


def _list_last_index(value: list[Any], item: Any = _NONE) -> int:
    return next((at for at in reversed(range(len(value))) if strictly_equal(value[at], item)), -1)


def _concat(value: list[Any], *more: Any) -> Built:
    result = Built(value)
    for it in more:
        result += it if isinstance(it, list | tuple) else [it]
    return result


def _join(value: list[Any], by: Any = _NONE) -> str:
    return ("," if isinstance(by, jinja2.Undefined) else to_string(by)).join(map(show, value))


def _flat(value: list[Any]) -> Built:
    return _concat([], *value)


def _push(value: Built, *items: Any) -> int:
    value += items
    return len(value)


def _unshift(value: Built, *items: Any) -> int:
    value[:0] = items
    return len(value)


def _pop(at: int) -> Callable[[Built], Any]:
    return lambda value: value.pop(at) if len(value) else UNDEFINED()


def _reverse(value: Built) -> Built:
    value.reverse()
    return value


def _sort(value: Built, *function: Any) -> Built:
    if function:
        raise TypeError("`sort` with a function: a template can write none; use the filter `sort`")
    value.sort(key=lambda item: (isinstance(item, jinja2.Undefined), to_string(item)))
    return value


def _fixed(value: float, digits: Any = _NONE) -> str:
    places = int(_whole_number(digits))
    if not 0 <= places <= 100:
        raise TypeError("`toFixed` takes 0 to 100 digits")
    if not math.isfinite(value) or abs(value) >= 1e21:
        return to_string(float(value))
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"


def _number_text(value: float, base: Any = _NONE) -> str:
    radix = 10 if isinstance(base, jinja2.Undefined) else _whole_number(base)
    if radix == 10 or not math.isfinite(value):
        return to_string(value)
    if not 2 <= radix <= 36 or value != int(value) or abs(value) > SAFE_INTEGER:
        raise TypeError("`toString` writes whole numbers alone in another base, from 2 to 36")
    digits, rest = "", abs(int(value))
    while rest or not digits:
        rest, last = divmod(rest, int(radix))
        digits = _DIGITS[last] + digits
    return "-" + digits if value < 0 else digits


def _rounded(value: float, digits: int) -> Decimal:
    return Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal(Decimal(value))


def _precision(value: float, digits: Any = _NONE) -> str:
    if isinstance(digits, jinja2.Undefined) or not math.isfinite(value):
        return to_string(value)
    places = _whole_number(digits)
    if not 1 <= places <= 100:
        raise TypeError("`toPrecision` takes 1 to 100 digits")
    rounded = _rounded(value, int(places))
    exponent = rounded.adjusted() if rounded else 0
    if -6 <= exponent < places:
        return f"{rounded:.{int(places) - 1 - exponent}f}"
    return f"{rounded:.{int(places) - 1}e}"


def _exponential(value: float, digits: Any = _NONE) -> str:
    if not math.isfinite(value):
        return to_string(value)
    if isinstance(digits, jinja2.Undefined):
        shortest = Decimal(repr(value)).normalize()
        return f"{shortest:.{len(shortest.as_tuple().digits) - 1}e}"
    places = _whole_number(digits)
    if not 0 <= places <= 100:
        raise TypeError("`toExponential` takes 0 to 100 digits")
    return f"{_rounded(value, int(places) + 1):.{int(places)}e}"


def _normalized(value: str, form: Any = _NONE) -> str:
    wanted = "NFC" if isinstance(form, jinja2.Undefined) else to_string(form)
    for name in _FORMS:
        if name == wanted:
            return unicodedata.normalize(name, whole(value))
    raise TypeError("`normalize` takes NFC, NFD, NFKC or NFKD")


def _code_point(value: str, index: Any = _NONE) -> Any:
    at = _whole_number(index)
    if not 0 <= at < len(value):
        return UNDEFINED()
    pair = value[int(at) : int(at) + 2]
    joined = whole(pair)
    return ord(joined) if len(joined) == 1 and len(pair) == 2 else ord(pair[0])


_TEXT: dict[str, Callable[..., Any]] = {
    "toUpperCase": lambda value: value.upper(),
    "toLowerCase": lambda value: value.lower(),
    "toLocaleUpperCase": lambda value: value.upper(),
    "toLocaleLowerCase": lambda value: value.lower(),
    "trim": lambda value: value.strip(SPACE),
    "trimStart": lambda value: value.lstrip(SPACE),
    "trimEnd": lambda value: value.rstrip(SPACE),
    "toString": lambda value: value,
    "valueOf": lambda value: value,
    "concat": lambda value, *more: value + "".join(map(to_string, more)),
    "includes": lambda value, part=_NONE, start=_NONE: to_string(part) in value[_within(start, len(value)) :],
    "startsWith": lambda value, part=_NONE, at=_NONE: value.startswith(to_string(part), _within(at, len(value))),
    "endsWith": lambda value, part=_NONE, end=_NONE: value[: _within(end, len(value), len(value))].endswith(to_string(part)),
    "indexOf": lambda value, part=_NONE, start=_NONE: value.find(to_string(part), _within(start, len(value))),
    "lastIndexOf": _last_index,
    "slice": _slice,
    "substring": _substring,
    "substr": _substr,
    "split": _split,
    "replace": _replace(1),
    "replaceAll": _replace(-1),
    "padStart": _pad(before=True),
    "padEnd": _pad(before=False),
    "repeat": _repeat,
    "at": _at,
    "charAt": _char,
    "charCodeAt": _code,
    "codePointAt": _code_point,
    "normalize": _normalized,
}  # fmt: skip
_LIST: dict[str, Callable[..., Any]] = {
    "join": _join,
    "toString": _join,
    "includes": lambda value, item=_NONE, start=_NONE: _list_index(value, item, start) >= 0,
    "indexOf": _list_index,
    "lastIndexOf": _list_last_index,
    "slice": _list_slice,
    "concat": _concat,
    "flat": _flat,
    "at": _at,
    "toReversed": lambda value: Built(reversed(value)),
    "toSorted": lambda value, *function: _sort(Built(value), *function),
    "push": _push,
    "unshift": _unshift,
    "pop": _pop(-1),
    "shift": _pop(0),
    "reverse": _reverse,
    "sort": _sort,
}
CHANGING = frozenset({"push", "unshift", "pop", "shift", "reverse", "sort", "fill", "splice", "copyWithin"})
_NUMBER: dict[str, Callable[..., Any]] = {
    "toFixed": _fixed,
    "toString": _number_text,
    "toPrecision": _precision,
    "toExponential": _exponential,
    "valueOf": lambda value: value,
}
_BOOLEAN: dict[str, Callable[..., Any]] = {"toString": to_string, "valueOf": lambda value: value}
_OBJECT: dict[str, Callable[..., Any]] = {
    "toString": to_string,
    "hasOwnProperty": lambda value, name=_NONE: to_string(name) in value,
}
_METHODS: tuple[tuple[type, Mapping[str, Callable[..., Any]]], ...] = (
    (str, {name: _text(method) for name, method in _TEXT.items()}),
    (list, _LIST),
    (tuple, {name: method for name, method in _LIST.items() if name not in CHANGING}),
    (Mapping, _OBJECT),
    (bool, _BOOLEAN),
    (int, _NUMBER),
    (float, _NUMBER),
)


def method(value: Any, name: str) -> Callable[..., Any] | None:
    """The function of that name, which takes the value first; what changes a list is there for those that a template built."""
    for kind, known in _METHODS:
        if isinstance(value, kind):
            changes = name in CHANGING and not isinstance(value, Built)
            return None if changes else known.get(name)  # `True` is an `int` in Python alone, so the first kind counts
    return None


TEXT, LIST, NUMBER, OBJECT = (frozenset(known) for known in (_TEXT, _LIST, _NUMBER, _OBJECT))
