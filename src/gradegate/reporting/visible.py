"""Makes characters visible that hide in a text, reorder it, or cannot be written as UTF-8."""

from __future__ import annotations

import re

# Joiners and emoji variants keep their meaning behind a letter that needs them; anywhere else they only hide things.
_JOINERS = "\u200c\u200d\ufe0f"
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_ODD = re.compile(rf"(?<=[^\x00-\x7f\s{_HIDDEN}])[{_JOINERS}]|([{_HIDDEN}])")


def visible(text: str) -> str:
    r"""The text with line feeds and tabs as they are, and other control and hidden characters as ``\x00``, ``\u202e``."""
    return _ODD.sub(_escaped, text.replace("\r\n", "\n"))


def clip(text: str, limit: int) -> str:
    """At most ``limit`` characters of the text, and how many were left out."""
    if len(text) <= limit:
        return text
    left = len(text) - limit
    return f"{text[:limit].rstrip()}… ({left:,} more character{'' if left == 1 else 's'})"


def fact(label: str, text: str, limit: int) -> str:
    """At most ``limit`` characters of a text behind its label, further lines indented."""
    first, *rest = visible(clip(text.strip(), limit)).split("\n")
    return "\n".join([f"{label}: {first}", *(f"  {line}" for line in rest)])


def one_line(text: str, limit: int = 200) -> str:
    """The text in one visible line of at most so many characters, before those that hide are written out."""
    line = " ".join(text[: 16 * limit].split())  # a text of many megabytes costs nothing
    whole = len(line) <= limit and len(text) <= 16 * limit
    return visible(line if whole else f"{line[:limit].rstrip()}…")


def _escaped(match: re.Match[str]) -> str:
    hidden = match[1]
    if not hidden:
        return match[0]
    code = ord(hidden)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
