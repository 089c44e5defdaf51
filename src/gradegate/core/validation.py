"""Turns an error of pydantic into words for people: what is wrong with a value, and what to write instead."""

import re
from collections.abc import Mapping
from typing import Any

from gradegate.registry import suggest
from gradegate.structs import JsonObject

_TEXT = ("text", "write text")
_NUMBER = ("a number", "write a number, such as 0.5")
_WHOLE = ("a whole number", "write a whole number, such as 2")
_FLAG = ("true or false", "write true or false")
_LIST = ("a list", "write each item on a line of its own, with `- ` before it")
_MAPPING = ("a mapping", "write lines of `key: value`")
# By pydantic's type of the error: what the value has to be, and the cure
_KINDS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("string_type", "string_sub_type", "string_unicode"), _TEXT),
    **dict.fromkeys(("float_type", "float_parsing"), _NUMBER),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), _WHOLE),
    **dict.fromkeys(("bool_type", "bool_parsing"), _FLAG),
    **dict.fromkeys(
        ("list_type", "tuple_type", "set_type", "frozen_set_type", "iterable_type"), _LIST
    ),
    **dict.fromkeys(
        ("dict_type", "model_type", "model_attributes_type", "dataclass_type", "mapping_type"),
        _MAPPING,
    ),
    "finite_number": ("a finite number", "write a number, such as 0.5"),
}
# The words for a bound, by its name in pydantic.
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
# A number with a unit or a decimal comma: "$5", "5 USD", "300 ms", "0,7".
# 1,000 may be a thousand, or one
_AMOUNT = re.compile(r"\$? ?(\d+)(?:[.,](\d{1,2}))? ?(?:\$|USD|ms)?", re.IGNORECASE)
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?s")
_MAX_SHOWN = 60  # characters of a value that is repeated


def explain_invalid(detail: JsonObject, share: bool = False, name: str = "") -> tuple[str, str]:
    """The problem and its cure, such as ``must be at most 1, not 95`` and ``write 0.95``.

    ``detail`` is an error of pydantic. ``share`` says that the value must be from 0 to 1, if the error does not say it. ``name``
    is the key of the value.
    """
    # 1. Does the error have words for people?
    context = detail.get("ctx", {})
    value = detail.get("input")
    if detail["type"] == "value_error":  # raised by our own code
        return detail["msg"].removeprefix("Value error, "), "correct it"
    if "cure" in context:
        return detail["msg"], context["cure"]
    if detail["type"] == "missing":
        return "is missing", "add it"

    # 2. Do we know what the value has to be? Otherwise pydantic's words must do.
    need, cure = _requirement(detail["type"], context, value)
    if not need:
        text = detail["msg"].removeprefix("Input ")
        return text[0].lower() + text[1:] + _not_this(value), "correct it"

    # 3. A cure for this value is better than one for all values.
    is_share = share or 1 in (context.get("le"), context.get("lt")) or str(value).endswith("%")
    cure = _cure_of_value(value, need, is_share, name) or cure
    return f"must be {need}{_not_this(value)}", cure


def _requirement(kind: str, context: JsonObject, value: Any) -> tuple[str, str]:
    """What the value has to be, and the cure for all values. Both are empty for an unknown kind of error."""
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        suggestion = isinstance(value, str) and suggest(value, choices)
        return context["expected"], suggestion or "write one of these"
    if kind in _KINDS:
        return _KINDS[kind]
    for sign, words in _BOUNDS.items():
        if sign in context:
            bound = f"{words} {context[sign]:g}"
            return bound, f"write a number that is {bound}"
    return "", ""


def _cure_of_value(value: Any, need: str, is_share: bool, name: str) -> str:
    """What to write in place of this value. Empty if nothing better is known than the cure for all values."""
    share = parse_percent(value)
    if is_share and share is not None:
        return f"write {share:g}"
    if need == _TEXT[0] and isinstance(value, int | float):
        return "put it in quotes"
    if not isinstance(value, str):
        return ""

    # A latency, as promptfoo has it
    seconds = _SECONDS.fullmatch(value)
    if name == "threshold" and seconds:
        return f"write {float(seconds[1]) * 1000:g}: a latency is in milliseconds"
    amount = _AMOUNT.fullmatch(value.strip())
    if amount and need in (_NUMBER[0], _WHOLE[0]):
        number = ".".join(filter(None, amount.groups()))
        if "." not in number or need == _NUMBER[0]:
            return f"write {number}"
    return ""


def parse_percent(value: Any) -> float | None:
    """The share that a percentage means: 0.95 for 95 and for "95%". None for anything else."""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    match = re.fullmatch(r"(\d{1,3}(?:\.\d+)?) ?%?", text)
    if match and 1 < float(match[1]) <= 100:
        return float(match[1]) / 100
    return None


def _not_this(value: Any) -> str:
    """Say ``, not 95`` or ``, not a list``. Empty for a value that is too long to show."""
    if isinstance(value, Mapping):
        return ", not a mapping"
    if isinstance(value, list):
        return ", not a list"
    if value is None:
        return ", and it is empty"
    if isinstance(value, bool):
        return f", not {str(value).lower()}"
    shown = ""
    if isinstance(value, float):
        shown = f"{value:g}"
    elif isinstance(value, str | int):
        shown = repr(value)
    return f", not {shown}" if 0 < len(shown) < _MAX_SHOWN else ""
