"""Keys that speak of thresholds where no tool reads any: what they are meant for is a rule of the gate."""

from __future__ import annotations

import re
from typing import Any

from gradegate.registry import near, plain

_RULES = ("min-pass-rate", "min-score", "max-new-failures", "max-drop", "min-cases")
_COUNTS = ("max-new-failures", "min-cases")
_EXAMPLE = 0.9
_LARGEST = 1_000_000  # number that a cure repeats


def is_limit(key: str) -> bool:
    """Whether a key speaks of a threshold, or is nearly one of a rule."""
    return "threshold" in plain(key) or bool(near(key, _RULES))


def of_a_rule(key: str) -> bool:
    """Whether a key is nearly one of a rule."""
    return bool(near(key, _RULES))


def as_rule(key: str, value: Any, place: str) -> str:
    """What to write in place of such a key, where ``place`` is its place as wrongkeys.py calls it ("root", "gate", "rule")."""
    wanted = near(key, _RULES) or ("min-score" if "score" in key.lower() else "min-pass-rate")
    limit = f"{wanted}: {_number(value) if wanted in _COUNTS else _share(value)}"
    if place == "rule":
        return f"write `{limit}`" if wanted != "min-pass-rate" else f"write `{limit}` or `min-score`"
    rule = f"rules: [{{name: {'mean score' if wanted == 'min-score' else 'pass rate'}, {limit}}}]"
    if place == "gate":
        return f"write `{rule}`"
    of_one = ", or, where it is one of a test or an assertion, write it there" if key == "threshold" else ""
    return f"write `gate: {{{rule}}}`{' at the top of the file' if place != 'root' else ''}{of_one}"


def _number(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= _LARGEST else 0


def _share(value: Any) -> str:
    """A share from 0 to 1 as it is meant: 80 and "80%" are 0.8."""
    text = value if isinstance(value, str) else repr(value) if type(value) in (int, float) and abs(value) <= 100 else ""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    number = float(match[1]) if match else _EXAMPLE
    number = number / 100 if number > 1 or (match and match[2]) else number
    return f"{number if number <= 1 else _EXAMPLE:.10g}"
