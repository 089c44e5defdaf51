"""How a text ends, and what a text of a verdict never holds. No word of it is looked at."""

from __future__ import annotations

import re
import unicodedata

# Braces, fences, strike-through in Markdown, in signs laid over letters and of a terminal, and tags in any brackets.
_NOT_PROSE = re.compile(r"[{}\x1b\u0335-\u0338◁]|```|~~|[<＜](?=[^\s\d=<>-])|\[/?THINK\]", re.IGNORECASE)
_STOP = re.compile(r"FULL STOP|EXCLAMATION MARK|ELLIPSIS|DANDA|SIGN KHAN|SIGN SECTION|MARK SHAD")
_OPEN = re.compile(r"COLON|COMMA|QUESTION|INVERTED")  # semicolons, too
_RULE = re.compile(r"\s*[-*_]{3,}\s*")
_ITEM = re.compile(r"\s*(?:\*\*|__)?(?:[-+*•◦▪–—]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))(?:\*\*|__)?(?:\s+|$)")
_UNSEEN = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))
_CLOSING = frozenset(("Pe", "Pf", "Pi", *_UNSEEN))
_FILLERS = "\u034f\u115f\u1160\u2800\u3164\uffa0\ufffc" + "".join(map(chr, range(0xFE00, 0xFE10)))
WRAPPING = "*_`\"'“”‘’«»„‚()[]"  # emphasis, quotes and brackets


def is_plain(text: str) -> bool:
    """Whether a text holds no brace, fence, tag or strike-through."""
    return _NOT_PROSE.search(text) is None


def ends(text: str) -> bool:
    """Whether the last line of a text ends in a full stop, an exclamation mark or an ellipsis, perhaps inside closing signs.

    A heading and a row of a table are no end, and neither is a list mark alone, nor a stop behind a colon or a question mark.
    """
    lines = text.rstrip().splitlines()
    line, is_item = unmarked(lines[-1] if lines else "")
    if line.startswith(("#", "|")) or (is_item and not line) or not _is_stop(last_sign(line)):
        return False
    end = len(line)
    while end and (_is_closing(line[end - 1]) or _is_stop(line[end - 1])):
        end -= 1
    return end > 0 and _OPEN.search(unicodedata.name(line[end - 1], "")) is None


def _is_stop(sign: str) -> bool:
    name = unicodedata.name(sign, "") if unicodedata.category(sign or " ").startswith("P") else ""
    return _STOP.search(name) is not None and _OPEN.search(name) is None


def goes_on(text: str) -> bool:
    """Whether a text ends in neither a word nor a stop, perhaps inside closing signs: in a colon, a question mark, an arrow."""
    sign = last_sign(seen(text))
    return not sign.isalnum() and not _is_stop(sign)


def without_rule(lines: list[str]) -> list[str]:
    """The lines of a text without those at its end that are blank, or one of Markdown's rules."""
    end = len(lines)
    while end and (not lines[end - 1].strip() or _RULE.fullmatch(lines[end - 1])):
        end -= 1
    return lines[:end]


def seen(text: str) -> str:
    """A text as people see it: without signs that show nothing, or that are laid over others, and those of one look as one."""
    if text.isascii():
        return text
    folded = unicodedata.normalize("NFKC", text)
    return "".join(sign for sign in folded if sign.isascii() or (sign not in _FILLERS and unicodedata.category(sign)[0] not in "CM"))


def last_sign(text: str) -> str:
    """The last sign of a text before blanks, closing quotes, brackets and emphasis; empty for none."""
    end = len(text)
    while end and _is_closing(text[end - 1]):
        end -= 1
    return text[end - 1 : end]


def _is_closing(sign: str) -> bool:
    return sign in WRAPPING or unicodedata.category(sign) in _CLOSING


def unmarked(line: str) -> tuple[str, bool]:
    """A line without the bullet or number that it begins with, and whether it has one."""
    item = _ITEM.match(line)
    return (line[item.end() :].strip(), True) if item else (line.strip(), False)


def unwrapped(text: str) -> str:
    """A text without emphasis, quotes and brackets around it, and without one full stop at its end."""
    text = text.strip().strip(WRAPPING)
    if text and "FULL STOP" in unicodedata.name(text[-1], ""):
        text = text[:-1].rstrip(WRAPPING)
    return text


def stripped(text: str) -> str:
    """A text without the blank and invisible signs at its ends."""
    start, end = beginning(text, 0), len(text)
    while start < end and _is_unseen(text[end - 1]):
        end -= 1
    return text[start:end]


def beginning(text: str, start: int) -> int:
    """Where a text begins, from a place on, after blank and invisible signs."""
    while start < len(text) and _is_unseen(text[start]):
        start += 1
    return start


def _is_unseen(sign: str) -> bool:
    return sign in _FILLERS or unicodedata.category(sign) in _UNSEEN
