"""What is wrong with a value that pydantic refused, in words for people: what it has to be, what it is, and what to write."""

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
# By pydantic's name of what is wrong: what the value has to be, and the cure.
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
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
# A number with a unit or a decimal comma: "$5", "5 USD", "300 ms", "0,7".
# 1,000 may be a thousand, or one
_AMOUNT = re.compile(r"\$? ?(\d+)(?:[.,](\d{1,2}))? ?(?:\$|USD|ms)?", re.IGNORECASE)
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?s")
_LONGEST = 60  # characters of a value that is repeated


def explain_invalid(detail: JsonObject, share: bool = False, name: str = "") -> tuple[str, str]:
    """``must be at most 1, not 95`` and ``write 0.95``, of one of pydantic's errors.

    ``share`` says that the value is one from 0 to 1, where the error does not; ``name`` is that of its key.
    """
    context = detail.get("ctx", {})
    value = detail.get("input")
    if detail["type"] == "value_error":  # our own words
        text = detail["msg"].removeprefix("Value error, ")
        return text, "correct it"
    if "cure" in context:
        return detail["msg"], context["cure"]
    if detail["type"] == "missing":
        return "is missing", "add it"
    bound = next(
        (f"{word} {context[sign]:g}" for sign, word in _BOUNDS.items() if sign in context), ""
    )
    need, cure = _KINDS.get(detail["type"], (bound, f"write a number that is {bound}"))
    if detail["type"] == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        need = context["expected"]
        cure = (isinstance(value, str) and suggest(value, choices)) or "write one of these"
    if not need:
        text = detail["msg"].removeprefix("Input ")
        return text[0].lower() + text[1:] + _not(value), "correct it"
    if need == "text" and isinstance(value, int | float):
        cure = "put it in quotes"
    amount = (
        _AMOUNT.fullmatch(value.strip())
        if isinstance(value, str) and need in (_NUMBER[0], _WHOLE[0])
        else None
    )
    number = ".".join(filter(None, amount.groups())) if amount else ""
    if number and ("." not in number or need == _NUMBER[0]):
        cure = f"write {number}"
    # Of `latency`, as promptfoo has it
    if name == "threshold" and isinstance(value, str) and (seconds := _SECONDS.fullmatch(value)):
        cure = f"write {float(seconds[1]) * 1000:g}: a latency is in milliseconds"
    meant = (
        parse_percent(value)
        if share or str(value).endswith("%") or context.get("le") == 1 or context.get("lt") == 1
        else None
    )
    return f"must be {need}{_not(value)}", cure if meant is None else f"write {meant:g}"


def parse_percent(value: Any) -> float | None:
    """The share that a per cent is: of 95 and of "95%"."""
    match = re.fullmatch(
        r"(\d{1,3}(?:\.\d+)?) ?%?", f"{value:g}" if isinstance(value, float) else str(value)
    )
    return float(match[1]) / 100 if match and 1 < float(match[1]) <= 100 else None


def _not(value: Any) -> str:
    """``, not 95``; of a mapping or a list that it is one; nothing of what is long."""
    if isinstance(value, Mapping | list):
        return ", not a mapping" if isinstance(value, Mapping) else ", not a list"
    if value is None:
        return ", and it is empty"
    if isinstance(value, bool):
        return f", not {str(value).lower()}"
    shown = (
        f"{value:g}"
        if isinstance(value, float)
        else repr(value)
        if isinstance(value, str | int)
        else ""
    )
    return f", not {shown}" if 0 < len(shown) < _LONGEST else ""
