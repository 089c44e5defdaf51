"""What single values mean: a truth, a number, a reason."""

from __future__ import annotations

import math
import re
from typing import Any

_TRUE = frozenset({"true", "yes", "y", "pass"})
_FALSE = frozenset({"false", "no", "n", "fail"})
_NUMBER = re.compile(r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")
_AROUND = "\"'`*_()[]“”‘’«» \t\r\n"


def truth(value: Any) -> bool | None:
    """True or False for a boolean or a word that means it, None for all else."""
    if isinstance(value, bool):
        return value
    word = value.strip(_AROUND).rstrip(".!" + _AROUND).lower() if isinstance(value, str) else ""
    return True if word in _TRUE else False if word in _FALSE else None


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
