"""The words and signs of JavaScript, without its texts and comments: enough to see which names a program uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_SKIPPED = re.compile(r"(?:\s++|//[^\n]*+|/\*(?s:.*?\*/|.*))++")
_TEXT = re.compile(r"\"(?:[^\"\\\n]|\\(?s:.))*+\"?|'(?:[^'\\\n]|\\(?s:.))*+'?")
_PATTERN = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*+\])++/[a-z]*+")
_PART = re.compile(r"(?:[^`\\$]|\\(?s:.)|\$(?!\{))*+(`|\$\{)?")  # of a template literal
_WORD = re.compile(r"[\w$]++")
_SIGN = re.compile(r"=>|\.\.\.|\?\.(?!\d)|[=!]==?|(?s:.)")
CONDITIONS = frozenset({"if", "while", "for", "with"})  # behind their brackets no value ends
# Words after which a slash begins a pattern, as after most signs.
BEFORE_VALUES = frozenset("return typeof case in of delete void throw new do else instanceof yield await".split())


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a sign, where it starts, and in how many brackets it stands; texts and patterns have ``text`` "''"."""

    text: str
    place: int
    depth: int


@lru_cache(maxsize=1)  # a program is looked at for one thing after another
def tokens(code: str) -> tuple[Token, ...]:
    """All of a program, which is supposed to be right; of one that is not, something."""
    return tuple(_tokens(code))


def _tokens(code: str) -> Iterator[Token]:
    place, depth, before = 0, 0, ""
    opened: list[str] = []  # what stands before each open bracket
    patternless = 0  # up to where a slash begins no pattern: one that does not end in its line is looked for once
    templates: list[int] = []  # the depths at which the `}` of a template literal goes on with its text
    while skipped := _SKIPPED.match(code, place) or place < len(code):
        place = place if skipped is True else skipped.end()
        if place >= len(code):
            return
        start, sign = place, code[place]
        resumed = sign == "}" and bool(templates) and templates[-1] == depth
        if sign == "`" or resumed:
            part = _PART.match(code, place + 1)
            assert part
            place, text = part.end(), "''"
            if resumed:
                templates.pop()
                depth -= 1
            if part[1] == "${":
                depth += 1
                templates.append(depth)
                text = "${"
        else:
            match = _matched(code, place, before, place >= patternless)
            if match[0] == "/" and place >= patternless and not _is_value(before):
                patternless = code.find("\n", place) % (len(code) + 1)
            place, text = match.end(), match[0]
            if sign in "\"'" or (sign == "/" and len(text) > 1):
                text = "''"
            depth -= text in (")", "]", "}")
        yield Token(text, start, depth)
        depth += text in ("(", "[", "{")
        if text == "(":
            opened.append(before)
        before = "" if text == ")" and opened and opened.pop() in CONDITIONS else text


def _matched(code: str, place: int, before: str, may_be_pattern: bool) -> re.Match[str]:
    """Raises nothing: a sign is always there."""
    sign, match = code[place], None
    if sign in "\"'":
        match = _TEXT.match(code, place)
    elif sign == "/" and may_be_pattern and not _is_value(before):
        match = _PATTERN.match(code, place)
    else:
        match = _WORD.match(code, place)
    found = match or _SIGN.match(code, place)
    assert found
    return found


def _is_value(before: str) -> bool:
    """Whether a token ends a value, so that a slash behind it divides."""
    return before in (")", "]", "}", "''") or (before not in BEFORE_VALUES and _WORD.fullmatch(before) is not None)
