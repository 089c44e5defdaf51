"""Values as templates see and print them: the way of JavaScript and Nunjucks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import jinja2


class Array(list[Any]):
    """A list that is true even when it is empty, as in JavaScript."""

    def __bool__(self) -> bool:
        return True


class Object(dict[str, Any]):
    """A mapping that is true even when it is empty."""

    def __bool__(self) -> bool:
        return True


class Printed(Object):
    """A mapping that prints as its JSON text."""


def printed(value: Any) -> Any:
    """A variable as grading prompts show it: an object, also one in a list, prints as JSON and still has its members."""
    if isinstance(value, Mapping):
        return Printed({key: javascript(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return Array(printed(item) for item in value)
    return value


def javascript(value: Any) -> Any:
    """A value as templates see it; what has been through this once is not converted again."""
    if isinstance(value, Array | Object):
        return value
    if isinstance(value, Mapping):
        return Object({key: javascript(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return Array(javascript(item) for item in value)
    return value


def show(value: Any) -> str:
    """A value as Nunjucks prints it: ``true``, ``1`` for 1.0, ``a,b`` for a list, nothing for null."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, jinja2.Undefined):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list | tuple):
        return ",".join(map(show, value))
    if isinstance(value, Mapping):
        return dump(value) if isinstance(value, Printed) else "[object Object]"
    return str(value)


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


def dump(value: Any, indent: int | None = None) -> str:
    """A value as JSON text, as ``JSON.stringify`` writes it."""
    separators = (",", ":") if indent is None else None
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators, default=str)
