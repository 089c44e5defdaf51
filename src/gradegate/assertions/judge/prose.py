"""Looks at the signs of a text, never at its words: how the text ends, what is around it, and what is not prose."""

import re
import unicodedata

# Braces, fences, tags in any brackets, and strike-through: in Markdown, in signs laid over letters, and of a terminal.
_NOT_PROSE = re.compile(
    r"[{}\x1b\u0335-\u0338◁]|```|~~|[<＜](?=[^\s\d=<>-])|\[/?THINK\]", re.IGNORECASE
)
# Names of signs in Unicode.
_STOP = re.compile(r"FULL STOP|EXCLAMATION MARK|ELLIPSIS|DANDA|SIGN KHAN|SIGN SECTION|MARK SHAD")
_OPEN_END = re.compile(r"COLON|COMMA|QUESTION|INVERTED")  # semicolons, too
# A line across the page: `---`, `***`
RULE = re.compile(r"^[ \t]*[-*_]{3,}[ \t]*$", re.MULTILINE)
# `- `, `1. `, `(a) `, `**2)** `
_LIST_MARK = re.compile(
    r"\s*(?:\*\*|__)?(?:[-+*•◦▪–—]|\(?\d{1,3}[.)]|\(?[A-Za-z]\))(?:\*\*|__)?(?:\s+|$)"
)
_INVISIBLE = frozenset(("Cc", "Cf", "Zl", "Zp", "Zs"))  # categories of signs in Unicode
_CLOSING = frozenset(("Pe", "Pf", "Pi", *_INVISIBLE))
_FILLERS = "\u034f\u115f\u1160\u2800\u3164\uffa0\ufffc" + "".join(map(chr, range(0xFE00, 0xFE10)))
_QUOTES = "\"'“”‘’«»„‚"
WRAPPING = f"*_`{_QUOTES}()[]"  # emphasis, quotes and brackets


def is_plain(text: str) -> bool:
    """Whether a text contains no brace, fence, tag or strike-through."""
    return _NOT_PROSE.search(text) is None


def has_end(text: str) -> bool:
    """Whether the last line of a text ends in a full stop, an exclamation mark or an ellipsis, perhaps inside closing signs.

    A heading, a row of a table and a lone list mark are no end. A stop after a colon or a question mark is none either.
    """
    lines = text.rstrip().splitlines()
    line, has_mark = split_list_mark(lines[-1] if lines else "")
    if line.startswith(("#", "|")) or (has_mark and not line):
        return False
    return _is_stop(last_sign(line)) and _ends_sentence(line)


def is_open_ended(text: str) -> bool:
    """Whether a text ends in neither a word nor a stop, but in a colon, a question mark or an arrow."""
    text = visible_text(text)
    sign = last_sign(text)
    return not sign.isalnum() and not (_is_stop(sign) and _ends_sentence(text))


def has_paired_signs(line: str) -> bool:
    """Whether emphasis, quotes and brackets of a line are in pairs. False for a line of an indented block."""
    if line.startswith(("    ", "\t")):
        return False
    # Quotes of several kinds may pair: `“C"`.
    quote_count = sum(map(line.count, _QUOTES))
    counts = (*map(line.count, "*_`"), quote_count)
    if any(count % 2 for count in counts):
        return False
    has_paired_parentheses = line.count("(") == line.count(")")
    return has_paired_parentheses and line.count("[") == line.count("]")


def visible_text(text: str) -> str:
    """A text as people see it: without invisible and overlaid signs; signs that look the same are the same."""
    if text.isascii():
        return text
    return "".join(
        sign
        for sign in unicodedata.normalize("NFKC", text)
        if sign.isascii() or (sign not in _FILLERS and unicodedata.category(sign)[0] not in "CM")
    )


def has_words(text: str) -> bool:
    """Whether a text shows a letter or a digit."""
    return any(map(str.isalnum, visible_text(text)))


def last_sign(text: str) -> str:
    """The last sign of a text before blanks, closing quotes, brackets and emphasis. Empty if there is no sign."""
    end = len(text)
    while end and _is_closing(text[end - 1]):
        end -= 1
    return text[end - 1 : end]


def without_end(text: str) -> str:
    """A text without the stops and closing signs at its end."""
    end = len(text)
    while end and (_is_closing(text[end - 1]) or _is_stop(text[end - 1])):
        end -= 1
    return text[:end]


def split_list_mark(line: str) -> tuple[str, bool]:
    """A line without the bullet or number that it begins with, and whether there is one."""
    match = _LIST_MARK.match(line)
    mark = match[0] if match else ""
    return line.removeprefix(mark).strip(), match is not None


def unwrap(text: str) -> str:
    """A text without emphasis, quotes and brackets around it, and without one full stop at its end."""
    text = text.strip().strip(WRAPPING)
    if text and "FULL STOP" in unicodedata.name(text[-1], ""):
        text = text[:-1].rstrip(WRAPPING)
    return text


def strip_invisible(text: str) -> str:
    """A text without the blank and invisible signs at its ends."""
    start = skip_invisible(text, 0)
    end = len(text)
    while start < end and _is_invisible(text[end - 1]):
        end -= 1
    return text[start:end]


def skip_invisible(text: str, start: int) -> int:
    """The position of the first visible sign, from ``start`` on."""
    while start < len(text) and _is_invisible(text[start]):
        start += 1
    return start


def _ends_sentence(text: str) -> bool:
    """Whether the stops at the end of a text come after something, but not after a colon, a comma or a question mark."""
    before = without_end(text)[-1:]
    return bool(before) and _OPEN_END.search(unicodedata.name(before, "")) is None


def _is_stop(sign: str) -> bool:
    if not sign or not unicodedata.category(sign).startswith("P"):
        return False
    name = unicodedata.name(sign, "")
    return _STOP.search(name) is not None and _OPEN_END.search(name) is None


def _is_closing(sign: str) -> bool:
    return sign in WRAPPING or sign in _FILLERS or unicodedata.category(sign) in _CLOSING


def _is_invisible(sign: str) -> bool:
    return sign in _FILLERS or unicodedata.category(sign) in _INVISIBLE
