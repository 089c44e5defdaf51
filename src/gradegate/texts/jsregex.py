"""JavaScript's regular expressions (without flags, as promptfoo makes them) in the words of the package `regex`.

What JavaScript has not is a mistake by name, where the other engine would read something else. Texts are matched by code
points, not by UTF-16 units; docs/assertions/text.md says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
    (?P<escape>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|c[A-Za-z]|k<[^>]*>|[1-9][0-9]*|.))
    |(?P<set>\[\^?(?:\\.|[^\]\\])*\])
    |(?P<group>\(\?(?:[a-z]*-?[a-z]+:|[:=!]|<[=!]|<[A-Za-z_$][\w$]*>)|\((?!\?))
    |(?P<repeat>\{\d+(?:,\d*)?\}\??|[*+?]\??)
    |(?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_SET = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|c[A-Za-z]|.)|.", re.DOTALL)
_SPACES = r"\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
_ANY_BUT_LINES = r"[^\n\r\u2028\u2029]"
_CLASSES = {r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"}
_KNOWN = frozenset("dDwWbBntrvf")
# What means something in other engines, and the letter itself in JavaScript.
_INSTEAD = {"A": "^", "Z": "$", "z": "$", "h": r"[ \t]", "R": r"\r?\n", "G": "^", "p": "[A-Za-z]", "P": "[^A-Za-z]"}


def translated(pattern: str) -> str:
    """The same expression for `regex` with its flag ASCII. Raises ValueError for what JavaScript does not know."""
    return "".join(_translated(pattern))


def _translated(pattern: str) -> Iterator[str]:
    repeats = True  # at the beginning there is nothing to repeat
    names = set(re.findall(r"\(\?<([A-Za-z_$][\w$]*)>", pattern))
    for match in _TOKEN.finditer(pattern):
        text, kind = match[0], match.lastgroup
        if kind == "repeat":
            if repeats:
                raise ValueError(f"`{text}` at character {match.start() + 1} repeats nothing in JavaScript")
            repeats = True
            yield text
            continue
        repeats = kind == "group" or text in ("|", "^")
        if kind == "escape":
            yield _escape(text, names)
        elif kind == "set":
            yield _set(text)
        elif kind == "sign":
            yield _sign(text, pattern[match.start() : match.start() + 4])
        else:
            yield text


def _sign(sign: str, ahead: str) -> str:
    if sign == "(":
        cure = "`[Aa]` is either letter, and icontains heeds no case" if "i" in ahead else "write it otherwise"
        raise ValueError(f"`{ahead}` is no group of JavaScript's expressions: {cure}")
    return {".": _ANY_BUT_LINES, "$": r"\Z", "{": r"\{", "}": r"\}", "]": r"\]"}.get(sign, sign)


def _escape(text: str, names: set[str]) -> str:
    letter = text[1]
    if text.startswith(r"\k<"):
        return f"(?P={text[3:-1]})" if text[3:-1] in names else re.escape(text[1:])
    if letter in "sS":
        return f"[{'^' if letter == 'S' else ''}{_SPACES}]"
    return _plain_escape(text)


def _plain_escape(text: str) -> str:
    letter = text[1]
    if letter in _KNOWN or text[1:].isdigit():
        return text if letter != "0" else r"\x00"
    if len(text) > 2:
        return f"\\x{ord(text[2]) % 32:02x}" if letter == "c" else text
    if letter in _INSTEAD:
        raise ValueError(f"`{text}` is the letter {letter} in JavaScript's expressions: write `{_INSTEAD[letter]}`")
    return re.escape(letter)


def _set(text: str) -> str:
    inside = text[2:-1] if text.startswith("[^") else text[1:-1]
    if not inside:
        return r"[\s\S]" if text == "[^]" else "(?!)"
    members = _IN_SET.findall(inside)
    beside = zip(["", *members], members, [*members[1:], ""], strict=False)
    # Beside a whole class `-` is itself, and no range.
    written = [r"\-" if it == "-" and {before, after} & _CLASSES else _member(it) for before, it, after in beside]
    return text[: len(text) - len(inside) - 1] + "".join(written) + "]"


def _member(text: str) -> str:
    if text == r"\s":
        return _SPACES
    if text in (r"\S", r"\b"):
        return text
    if text == r"\B":
        return "B"
    return _plain_escape(text) if text.startswith("\\") else re.escape(text) if text in "[&|~" else text
