"""Values as templates see, print and join them: by the rules of JavaScript and Nunjucks."""

import json
import math
import operator
import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

SAFE_INTEGER = 2**53  # beyond it JavaScript counts in steps of two
SPACE = "\t\n\v\f\r \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
# Half of a character that takes two units of UTF-16: JavaScript's texts may have such a half without the other.
_HALF = re.compile(r"[\ud800-\udfff]")
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")
# A text of JSON, or a number that Python writes with one
_EXPONENT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.]*e[+-]\d+')
# `0xff`, `0b101`, `0o17`
_BASED = re.compile(r"0[xX][\da-fA-F]+|0[bB][01]+|0[oO][0-7]+")


class _Undefined:
    """JavaScript's undefined; None is its null."""


UNDEFINED = _Undefined()


class JsonMapping(dict[str, Any]):
    """A mapping that prints as its JSON text."""


def with_json_text(value: Any) -> Any:
    """A variable as grading prompts show it: an object, also one in a list, prints as JSON and still has its members."""
    if isinstance(value, Mapping):
        return JsonMapping(value)
    if isinstance(value, list | tuple):
        return [with_json_text(item) for item in value]
    return value


def has_json_text(value: Any) -> bool:
    """Whether ``with_json_text`` made a value print in another way."""
    if isinstance(value, list):
        return any(map(has_json_text, value))
    return isinstance(value, JsonMapping)


# --- kinds of values ----------------------------------------------------------------------------------------------


def is_nothing(value: Any) -> bool:
    """Whether a value is null or undefined."""
    return value is None or value is UNDEFINED


def is_true(value: Any) -> bool:
    """Whether a value counts as true: empty lists and objects do."""
    if isinstance(value, Mapping | list | tuple):
        return True
    return bool(value) and value is not UNDEFINED and value == value  # noqa: PLR0124 - NaN does not equal itself


def is_js_number(value: Any) -> bool:
    """Whether a value is a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


# --- texts and numbers --------------------------------------------------------------------------------------------


def show_value(value: Any) -> str:
    """A value as Nunjucks prints it: ``true``, ``1`` for 1.0, ``a,b`` for a list, nothing for null."""
    if isinstance(value, str):
        return value
    return "" if is_nothing(value) else to_string(value)


def to_string(value: Any) -> str:
    """A value as JavaScript makes a text of it: ``null`` and ``undefined`` by name."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if value is UNDEFINED:
        return "undefined"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) <= SAFE_INTEGER:
        return str(value)
    if isinstance(value, int | float):
        return _print_number(js_number(value))
    if isinstance(value, list | tuple):
        return ",".join(map(show_value, value))
    if isinstance(value, JsonMapping):
        return dump_json(value)
    if isinstance(value, date | Decimal):
        return str(value)
    return "[object Object]"


def to_number(value: Any) -> float:
    """A value as JavaScript makes a number of it: NaN if it is none."""
    if isinstance(value, bool | None):
        return int(value or 0)
    if isinstance(value, int | float):
        return js_number(value)
    if value is UNDEFINED:
        return math.nan
    text = to_string(value).strip(SPACE)
    if not text:
        return 0
    if _BASED.fullmatch(text):
        return js_number(int(text, 0))
    if text in ("Infinity", "+Infinity", "-Infinity"):
        return float(text)
    if _DECIMAL.fullmatch(text):
        return js_number(float(text))
    return math.nan


def js_number(value: float) -> float:
    """A number as JavaScript keeps it: an integer stays one as long as it is exact."""
    if isinstance(value, int):
        if abs(value) <= SAFE_INTEGER:
            return value
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if value.is_integer() and 0 < abs(value) <= SAFE_INTEGER:
        return int(value)
    return value


def _print_number(value: float) -> str:
    """As JavaScript prints it (ECMA-262, Number::toString): plain digits from 1e-6 up to below 1e21."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    if 1e-6 <= abs(value) < 1e21:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    digits, _, exponent = repr(value).partition("e")
    return f"{digits.removesuffix('.0')}e{int(exponent):+d}"


def dump_json(value: Any, indent: float | str | None = None) -> str:
    """A value as JSON text, as ``JSON.stringify`` writes it.

    ``indent`` is a text, or a number of spaces; JavaScript uses at most 10 characters of it.
    """
    if isinstance(indent, int | float):
        indent = min(int(indent), 10)
    elif indent:
        indent = indent[:10]
    text = json.dumps(
        _to_json(value),
        ensure_ascii=False,
        indent=indent or None,
        separators=None if indent else (",", ":"),
        default=to_string,
    )
    # Python writes 1e-06 where JavaScript writes 0.000001.
    if "e-" in text or "e+" in text:
        text = _EXPONENT.sub(_reprint_number, text)
    if text.isascii():
        return text
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _reprint_number(match: re.Match[str]) -> str:
    if match[0].startswith('"'):
        return match[0]
    return _print_number(float(match[0]))


def _to_json(value: Any) -> Any:
    """Data with the numbers of JavaScript: integers without an exponent, null for what is not finite."""
    if is_js_number(value):
        number = js_number(value)
        if isinstance(number, int):
            return number
        if not math.isfinite(number):
            return None
        if number.is_integer() and abs(number) < 1e21:
            return int(Decimal(repr(number)))
        return number
    if isinstance(value, Mapping):
        return {key: _to_json(item) for key, item in value.items() if item is not UNDEFINED}
    if isinstance(value, list | tuple):
        return [_to_json(item) for item in value]
    return None if value is UNDEFINED else value


def utf16_units(text: str) -> str:
    """The text in UTF-16 units: two halves for each character that JavaScript counts as two, such as an emoji."""
    if text.isascii() or max(text) < "\U00010000":
        return text
    raw = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(raw[at] | raw[at + 1] << 8) for at in range(0, len(raw), 2))


def join_units(text: str) -> str:
    """The text with its halves put together; half a character is U+FFFD, as where JavaScript writes it out."""
    if text.isascii() or not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


# --- members and operators ----------------------------------------------------------------------------------------


def get_member(value: Any, key: Any) -> Any:
    """``value.key`` and ``value[key]``: members of an object, ``length`` and items of a list or a text, else undefined."""
    if isinstance(value, Mapping):
        key = key if isinstance(key, str | int | float) else to_string(key)
        return value[key] if key in value else value.get(to_string(key), UNDEFINED)
    if not isinstance(value, str | list | tuple):
        return UNDEFINED

    items = utf16_units(value) if isinstance(value, str) else value
    if key == "length":
        return len(items)
    # Only a number in its usual form names an item: `1` and not `01`
    name = to_string(key)
    if not _INDEX.fullmatch(name):
        return UNDEFINED
    index = int(name)
    if index >= len(items):
        return UNDEFINED
    return join_units(items[index]) if isinstance(items, str) else items[index]


def add_values(left: Any, right: Any) -> Any:
    """``+``: texts are put together, and so is what stands beside a text."""
    left = _primitive(left)
    right = _primitive(right)
    if isinstance(left, str) or isinstance(right, str):
        return to_string(left) + to_string(right)
    return js_number(to_number(left) + to_number(right))


def strictly_equal(left: Any, right: Any) -> bool:
    """``===``: of one kind and the same. A list or an object equals only itself."""
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
    if not isinstance(left, str | int | float) and not isinstance(right, str | int | float):
        return left is right
    return bool(operator.eq(*_comparable(left, right)))


def is_in(key: Any, container: Any) -> bool:
    """``in``. Raises TypeError for a value that contains nothing."""
    if isinstance(container, str | Mapping):
        return to_string(key) in container
    if isinstance(container, list | tuple):
        return any(strictly_equal(key, item) for item in container)
    raise TypeError("`in` looks into texts, lists and objects alone")


def _comparable(left: Any, right: Any) -> tuple[Any, Any]:
    """Two values as a comparison sees them: both as texts if they are texts, else both as numbers."""
    left = _primitive(left)
    right = _primitive(right)
    if isinstance(left, str) and isinstance(right, str):
        return left, right
    return to_number(left), to_number(right)


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: compare(*_comparable(left, right))


def _divide(left: Any, right: Any) -> float:
    dividend = to_number(left)
    divisor = to_number(right)
    if divisor:
        return js_number(dividend / divisor)
    if not dividend or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def _remainder(left: Any, right: Any) -> float:
    """The remainder, with the sign of the dividend."""
    dividend = to_number(left)
    divisor = to_number(right)
    if not divisor or not math.isfinite(dividend):
        return math.nan
    return js_number(math.fmod(dividend, divisor))


def _primitive(value: Any) -> Any:
    if is_nothing(value) or isinstance(value, str | int | float):
        return value
    return to_string(value)


OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": loosely_equal,
    "!=": lambda left, right: not loosely_equal(left, right),
    "===": strictly_equal,
    "!==": lambda left, right: not strictly_equal(left, right),
    "<": _comparison(operator.lt),
    "<=": _comparison(operator.le),
    ">": _comparison(operator.gt),
    ">=": _comparison(operator.ge),
    "in": is_in,
    "not in": lambda left, right: not is_in(left, right),
    "+": add_values,
    "-": lambda left, right: js_number(to_number(left) - to_number(right)),
    "*": lambda left, right: js_number(to_number(left) * to_number(right)),
    "/": _divide,
    "%": _remainder,
}
