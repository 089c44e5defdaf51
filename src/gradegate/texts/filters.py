"""The filters of Nunjucks, as it has them; what it refuses raises TypeError."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import jinja2

from gradegate.texts.listfilters import LISTS, Safe, listed, size_of, text_of
from gradegate.texts.members import member
from gradegate.texts.methods import UNDEFINED
from gradegate.texts.operators import power
from gradegate.texts.units import length, units, whole
from gradegate.texts.values import SPACE, dump, is_nothing, number, to_number, to_string

_NONE = UNDEFINED()
MAX_SLICES = 100_000
_ESCAPES = str.maketrans({"&": "&amp;", '"': "&quot;", "'": "&#39;", "<": "&lt;", ">": "&gt;", "\\": "&#92;"})
_TAGS = re.compile(r"</?[a-z][a-z0-9]*\b[^>]*>|<!--.*?-->", re.IGNORECASE | re.DOTALL)
_LEADING_FLOAT = re.compile(r"\s*([+-]?(?:Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))")
_LEADING_INT = re.compile(r"\s*([+-]?\d+)")


def _text(value: Any) -> str:
    """A text, empty for nothing and ``false``. Raises TypeError."""
    if is_nothing(value) or value is False:
        return ""
    return text_of(value)


# --- texts ------------------------------------------------------------------------------------------------------


def _capitalize(value: Any) -> str:
    text = _text(value).lower()
    return text[:1].upper() + text[1:]


def _title(value: Any) -> str:
    return " ".join(map(_capitalize, _text(value).split(" ")))


def _center(value: Any, width: Any = 80) -> str:
    text = _text(value)
    spaces = size_of(width, 80) - length(text)
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
    space = " " * size_of(width, 4)
    return (
        "" if lines == [""] else "\n".join(line if not (at or first) else space + line for at, line in enumerate(lines))
    )


def _nl2br(value: Any) -> str:
    return "" if is_nothing(value) else text_of(value).replace("\r\n", "\n").replace("\n", "<br />\n")


def _replace(value: Any, old: Any, new: Any = _NONE, most: Any = _NONE) -> Any:
    old = to_string(old) if isinstance(old, int | float) and not isinstance(old, bool) else old
    if not isinstance(old, str):
        return value
    value = to_string(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(value, str):
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
    text, most = units(_text(value)), size_of(size, 255)
    if len(text) <= most:
        return str(whole(text))
    if not cut_words:
        space = text.rfind(" ", 0, most + 1)
        most = most if space < 0 else space
    return str(whole(text[: max(0, most)])) + ("..." if is_nothing(end) else to_string(end))


def _urlencode(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    pairs = value.items() if isinstance(value, Mapping) else ((member(it, 0), member(it, 1)) for it in listed(value))
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
    factor = power(10, to_number(places or 0))
    given = to_number(value) * factor if math.isfinite(factor) else math.nan
    if not math.isfinite(given):
        return number(given)
    rounded = {"ceil": math.ceil, "floor": math.floor}.get(method, lambda it: math.floor(it + 0.5))(given)
    return number(rounded / factor)


def _default(value: Any, otherwise: Any = _NONE, falsy: Any = False) -> Any:
    return (value or otherwise) if falsy else otherwise if isinstance(value, jinja2.Undefined) else value


def _dump(value: Any, spaces: Any = None) -> Any:
    return value if isinstance(value, jinja2.Undefined) else dump(value, spaces)


def _load(value: Any) -> Any:
    return json.loads(value)


FILTERS: Mapping[str, Callable[..., Any]] = {
    **LISTS,
    "abs": lambda value: number(abs(to_number(value))),
    "capitalize": _capitalize,
    "center": _center,
    "d": _default,
    "default": _default,
    "dump": _dump,
    "e": _escape,
    "escape": _escape,
    "float": _float,
    "forceescape": _force_escape,
    "indent": _indent,
    "int": _int,
    "load": _load,
    "lower": lambda value: _text(value).lower(),
    "nl2br": _nl2br,
    "replace": _replace,
    "round": _round,
    "safe": _safe,
    "string": _string,
    "striptags": _striptags,
    "title": _title,
    "trim": lambda value: text_of(value).strip(SPACE),
    "truncate": _truncate,
    "upper": lambda value: _text(value).upper(),
    "urlencode": _urlencode,
    "wordcount": _wordcount,
}
