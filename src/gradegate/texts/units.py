"""Texts as JavaScript counts them, in UTF-16 units: an emoji is two."""

from __future__ import annotations

from typing import Any


def units(text: str) -> str:
    """The text with two halves for each character that JavaScript counts as two."""
    if text.isascii() or max(text) < "\U00010000":
        return text
    raw = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(raw[at] | raw[at + 1] << 8) for at in range(0, len(raw), 2))


def whole(value: Any) -> Any:
    """The text with its halves put together; half a character is U+FFFD, as where JavaScript writes it out."""
    if not isinstance(value, str) or value.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in value):
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def length(value: Any) -> int:
    """How many units a text has, or items a list."""
    return len(value) if not isinstance(value, str) or value.isascii() else len(units(value))
