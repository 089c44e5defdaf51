"""Values as templates see and print them: the way of JavaScript and Nunjucks."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import jinja2
from jinja2.runtime import LoopContext

SAFE_INTEGER = 2**53  # beyond it JavaScript counts in steps of two
SPACE = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
_HALF = re.compile(r"[\ud800-\udfff]")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_EXPONENT = re.compile(
    r'"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.]*e[+-]\d+'
)  # a text of JSON, or a number that Python writes with one
_BASED = re.compile(r"0[xX][\da-fA-F]+|0[bB][01]+|0[oO][0-7]+")


class Array(list[Any]):
    """A list that is true even when it is empty, as in JavaScript."""

    def __bool__(self) -> bool:
        return True


class Built(Array):
    """A list that the template itself made: no variable, so it may be changed."""


class Object(dict[str, Any]):
    """A mapping that is true even when it is empty."""

    def __bool__(self) -> bool:
        return True


class Printed(Object):
    """A mapping that prints as its JSON text."""


class _NaN(float):
    """Not a number, which is false in JavaScript."""

    def __bool__(self) -> bool:
        return False


class _Infinite(float):
    """An infinite number: of a kind of its own, because Jinja would write it into its code as ``inf``."""


NAN = _NaN("nan")


def printed(value: Any) -> Any:
    """A variable as grading prompts show it: an object, also one in a list, prints as JSON and still has its members."""
    if isinstance(value, Mapping):
        return Printed({key: javascript(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return Array(printed(item) for item in value)
    return value


def javascript(value: Any) -> Any:
    """A value as templates see it; what has been through this once is not converted again."""
    if isinstance(value, str | Array | Object):  # first what most are
        return value
    if isinstance(value, Mapping):
        return Object({key: javascript(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return Array(javascript(item) for item in value)
    return value


def show(value: Any) -> str:
    """A value as Nunjucks prints it: ``true``, ``1`` for 1.0, ``a,b`` for a list, nothing for null."""
    return value if isinstance(value, str) else "" if is_nothing(value) else to_string(value)


def is_nothing(value: Any) -> bool:
    """Whether a value is null or undefined."""
    return value is None or isinstance(value, jinja2.Undefined)


def to_string(value: Any) -> str:
    """A value as JavaScript makes a text of it: ``null`` and ``undefined`` by name. Raises TypeError for a function."""
    if isinstance(value, str):
        return value
    if is_nothing(value):
        return "null" if value is None else "undefined"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value) if isinstance(value, int) and abs(value) <= SAFE_INTEGER else _number(number(value))
    if isinstance(value, list | tuple):
        return ",".join(map(show, value))
    if isinstance(value, Mapping):
        return dump(value) if isinstance(value, Printed) else "[object Object]"
    if isinstance(value, LoopContext):  # which may be called in Jinja
        return "[object Object]"
    if callable(value):
        raise TypeError("a function is no text: call it, with `()`")
    return str(value) if isinstance(value, date | Decimal) else "[object Object]"


def to_number(value: Any) -> float:
    """A value as JavaScript makes a number of it: NaN for what is none."""
    if isinstance(value, bool | None):
        return int(value or 0)
    if isinstance(value, int | float):
        return number(value)
    text = "" if isinstance(value, jinja2.Undefined) else to_string(value).strip(SPACE)
    if not text:
        return NAN if isinstance(value, jinja2.Undefined) else 0
    if _BASED.fullmatch(text):
        return number(int(text, 0))
    if text in ("Infinity", "+Infinity", "-Infinity"):
        return _Infinite(text)
    return number(float(text)) if _DECIMAL.fullmatch(text) else NAN


def number(value: float) -> float:
    """A number as JavaScript keeps it: an integer as such as long as it is exact."""
    if isinstance(value, int):
        if abs(value) <= SAFE_INTEGER:
            return value
        try:
            return float(value)
        except OverflowError:
            return _Infinite(math.copysign(math.inf, value))
    if math.isnan(value):
        return NAN
    if math.isinf(value):
        return _Infinite(value)
    return int(value) if value.is_integer() and 0 < abs(value) <= SAFE_INTEGER else value


def _number(value: float) -> str:
    """As JavaScript prints it (ECMA-262, Number::toString): plain digits from 1e-6 up to below 1e21."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    if 1e-6 <= abs(value) < 1e21:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    digits, _, exponent = repr(value).partition("e")
    return f"{digits.removesuffix('.0')}e{int(exponent):+d}"


def dump(value: Any, indent: float | str | None = None) -> str:
    """A value as JSON text, as ``JSON.stringify`` writes it."""
    if isinstance(indent, float):
        indent = int(indent)
    indent = min(indent, 10) if isinstance(indent, int) else (indent or "")[:10]
    separators = None if indent else (",", ":")
    text = json.dumps(
        _jsonable(value), ensure_ascii=False, indent=indent or None, separators=separators, default=to_string
    )
    if "e-" in text or "e+" in text:
        text = _EXPONENT.sub(lambda it: it[0] if it[0].startswith('"') else _number(float(it[0])), text)
    return text if text.isascii() else _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _jsonable_number(value: float) -> float | None:
    if isinstance(value, int) or not math.isfinite(value):
        return value if isinstance(value, int) else None
    return int(Decimal(repr(value))) if value.is_integer() and abs(value) < 1e21 else value  # without an exponent


def _jsonable(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _jsonable_number(number(value))
    if isinstance(value, Mapping):
        return {key: _jsonable(item) for key, item in value.items() if not isinstance(item, jinja2.Undefined)}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    return None if isinstance(value, jinja2.Undefined) else value
