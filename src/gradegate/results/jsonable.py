"""Turns any value of a config or a reply into plain data that every JSON reader accepts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

_DEPTH = 40
_LARGE = 10**300  # longer integers are not numbers to most readers, and Python refuses to print very long ones


def plain(value: Any, depth: int = _DEPTH) -> Any:
    """Strings, finite numbers, lists and objects; NaN, infinities and anything unknown become text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, int):
        return int(value) if -_LARGE < value < _LARGE else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        return {encodable(str(key)): plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [plain(item, depth - 1) for item in value]
    return encodable(str(value))


def finite(number: float | None) -> float | None:
    """The number, or None for what JSON cannot write."""
    return number if number is not None and math.isfinite(number) else None


def encodable(text: str) -> str:
    """The text with lone surrogates written out, so that it is valid UTF-8; everything else stays."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
