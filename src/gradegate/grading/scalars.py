"""What single values of an object mean: a truth, a number, a word, a text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading.reading import prose

_TRUTHS = {word: word in ("true", "yes", "y", "pass") for word in ("true", "yes", "y", "pass", "false", "no", "n", "fail")}
_NUMBER = re.compile(r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")


def truth(value: Any) -> bool | None:
    """True or False for a boolean or a word that means it, None for all else."""
    return value if isinstance(value, bool) else _TRUTHS.get(word(value))


def word(value: Any) -> str:
    """A text in lower case without blanks, brackets and a full stop around it; a boolean as its word; empty for all else."""
    if isinstance(value, bool):
        return str(value).lower()
    return prose.unwrapped(value).lower() if isinstance(value, str) else ""


def number(value: Any) -> float | None:
    """A finite number or numeric text as float, None for all else (booleans are not numbers)."""
    if isinstance(value, str):
        value = value.strip()
        return number(float(value)) if _NUMBER.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        converted = float(value)
    except OverflowError:
        return None
    return converted if math.isfinite(converted) else None


def words(value: Any) -> str:
    """A reason as text, whatever the grader put there."""
    return value.strip() if isinstance(value, str) else "" if value is None else str(value)


def entry(item: Mapping[str, Any], key: str) -> Any:
    """The value of a key. Raises Unreadable where there is none."""
    if key not in item:
        raise Unreadable(f"its object has no key `{key}`")
    return item[key]


def table(item: Mapping[str, Any], key: str) -> list[Any]:
    """The list under a key. Raises Unreadable."""
    value = entry(item, key)
    if not isinstance(value, list):
        raise Unreadable(f"`{key}` is not a list")
    return value


def texts(item: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The texts under a key; the list may be empty, none of its texts may. Raises Unreadable."""
    listed = table(item, key)
    if not all(isinstance(text, str) and prose.stripped(text) for text in listed):
        raise Unreadable(f"`{key}` is not a list of texts")
    return tuple(text.strip() for text in listed)
