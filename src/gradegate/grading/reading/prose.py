"""How a text ends, and what a text of a verdict never holds. No word of it is looked at."""

import re
import unicodedata

# Braces, fences, strike-through in Markdown, in signs laid over letters and of a terminal, and tags in any brackets.
_NOT_PROSE = re.compile(r"[{}\x1b\u0335-\u0338◁]|```|~~|[<＜](?=[^\s\d=<>-])|\[/?THINK\]", re.IGNORECASE)
_STOP = re.compile(r"FULL STOP|EXCLAMATION MARK|ELLIPSIS|DANDA|SIGN KHAN|SIGN SECTION|MARK SHAD")
_OPEN = re.compile(r"COLON|COMMA|QUESTION|INVERTED")  # semicolons, too
RULE = re.compile(r"^[ \t]*[-*_]{3,}[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"\s*(?:\*\*|__)?(?:[-+*•◦▪–—]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))(?:\*\*|__)?(?:\s+|$)")
_UNSEEN = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))
_CLOSING = frozenset(("Pe", "Pf", "Pi", *_UNSEEN))
_FILLERS = "\u034f\u115f\u1160\u2800\u3164\uffa0\ufffc" + "".join(map(chr, range(0xFE00, 0xFE10)))
_QUOTES = "\"'“”‘’«»„‚"
WRAPPING = f"*_`{_QUOTES}()[]"  # emphasis, quotes and brackets


def is_plain(text: str) -> bool:
    """Whether a text holds no brace, fence, tag or strike-through."""
    return _NOT_PROSE.search(text) is None


def ends(text: str) -> bool:
    """Whether the last line of a text ends in a full stop, an exclamation mark or an ellipsis, perhaps inside closing signs.

    A heading and a row of a table are no end, and neither is a list mark alone, nor a stop behind a colon or a question mark.
    """
    lines = text.rstrip().splitlines()
    line, is_item = unmarked(lines[-1] if lines else "")
    return not line.startswith(("#", "|")) and not (is_item and not line) and _is_stop(last_sign(line)) and _settles(line)


def _settles(text: str) -> bool:
    """Whether the stops at the end of a text stand behind something, and not behind a colon, a comma or a question mark."""
    before = without_end(text)[-1:]
    return bool(before) and _OPEN.search(unicodedata.name(before, "")) is None


def without_end(text: str) -> str:
    """A text without the stops and closing signs at its end."""
    end = len(text)
    while end and (_is_closing(text[end - 1]) or _is_stop(text[end - 1])):
        end -= 1
    return text[:end]


def _is_stop(sign: str) -> bool:
    name = unicodedata.name(sign, "") if unicodedata.category(sign or " ").startswith("P") else ""
    return _STOP.search(name) is not None and _OPEN.search(name) is None


def goes_on(text: str) -> bool:
    """Whether a text ends in neither a word nor a stop, perhaps inside closing signs: in a colon, a question mark, an arrow."""
    text = seen(text)
    sign = last_sign(text)
    return not sign.isalnum() and not (_is_stop(sign) and _settles(text))


def is_paired(line: str) -> bool:
    """Whether emphasis, quotes and brackets of a line are in pairs on it, and it is no line of an indented block."""
    even = (line.count("*"), line.count("_"), line.count("`"), sum(map(line.count, _QUOTES)))
    brackets = line.count("(") == line.count(")") and line.count("[") == line.count("]")
    return brackets and not any(number % 2 for number in even) and not line.startswith(("    ", "\t"))


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
    return sign in WRAPPING or sign in _FILLERS or unicodedata.category(sign) in _CLOSING


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
