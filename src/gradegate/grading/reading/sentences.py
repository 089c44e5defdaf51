"""Lines, list items and sentences of a text, and whether one text quotes another; pure functions."""

from __future__ import annotations

import re

# promptfoo's rule, and the full stops of Chinese and Japanese, which no blank follows.
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")
_NUMBER = re.compile(r"\(?\d+[.)]?$")
_ITEM = re.compile(
    r"(?:[-+•◦▪*–—>](?=\s)|\(?\d{1,3}[.):\]](?=\s|\D)|\(?[a-zA-Z]\)(?=\s)|\[\d{1,3}\]"
    r"|(?:statement|claim|sentence|quote)\s*#?\d+\s*[.):–—-])\s*",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"([^\"\n]+)\"|“([^“”\n]++)”|«([^«»\n]++)»")
_WRAPPING = "\"'`*_“”‘’«»[] \t"
_MOST_MARKS = 5  # bullets and numbers before one item
_LEAST_WORDS = 3  # fewer words, or fewer letters of a script without blanks, are not a quotation
_LEAST_LETTERS = 6


def lines(text: str) -> list[str]:
    """The lines that are not blank, without the blanks around them."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def sentences(text: str) -> list[str]:
    """Pieces that end in a full stop, question or exclamation mark; a bare number such as "1." is not one."""
    pieces = (piece.strip() for piece in _END.split(text))
    return [piece for piece in pieces if piece and not _NUMBER.match(piece)]


def units(text: str) -> list[str]:
    """The lines where there are two or more, else the sentences: promptfoo's units of a context."""
    rows = lines(text)
    return rows if len(rows) > 1 else sentences(text)


def is_item(line: str) -> bool:
    """Whether a line starts with a bullet or a number."""
    return _ITEM.match(_unbold(line)) is not None


def bare(line: str) -> str:
    """A line without the bullets and numbers it starts with, and without the quotes and asterisks around it."""
    line = _unbold(line)
    for _ in range(_MOST_MARKS):
        item = _ITEM.match(line)
        if item is None or item.end() >= len(line):
            break
        line = line[item.end() :]
    return line.strip(_WRAPPING)


def _unbold(line: str) -> str:
    """``**1.** text`` as ``1. text``."""
    return re.sub(r"^(\*\*|__)(\W?\w{1,12}\W?)\1", r"\2", line.strip())


def items(text: str) -> list[str]:
    """The items of a list, bare; of a text without bullets and numbers, its lines but for a heading."""
    rows = lines(text)
    listed = [line for line in rows if is_item(line)]
    if not listed:
        headed = len(rows) > 1 and rows[0].rstrip("*_ ").endswith(":")
        listed = rows[1:] if headed else rows
    return [item for item in map(bare, listed) if any(map(str.isalnum, item))]


def folded(text: str) -> str:
    """A text for comparison: lower case, one blank between words, straight quotes, no full stop at the end."""
    text = text.translate({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0xA0: " "})
    return " ".join(text.lower().split()).rstrip(".!?,;:…。！？ ")


def stands_in(part: str, whole: str) -> bool:
    """Whether a folded text is in another, from word to word."""
    start = whole.find(part) if part else -1
    while start >= 0:
        end = start + len(part)
        if not _joined(whole, start) and not _joined(whole, end):
            return True
        start = whole.find(part, start + 1)
    return False


def _joined(text: str, position: int) -> bool:
    """Whether a word goes on over a position. Scripts without blanks have no words that could be told apart."""
    around = text[position - 1 : position + 1] if position else ""
    return len(around) == 2 and all(character.isascii() and character.isalnum() for character in around)


def is_quotable(part: str) -> bool:
    """Whether a folded text is long enough to be a quotation, and not a word that every text holds."""
    return len(part.split()) >= _LEAST_WORDS or sum(not c.isascii() and c.isalpha() for c in part) >= _LEAST_LETTERS


def quoted(text: str) -> list[str]:
    """What is in quotation marks."""
    return [double or curly or angled for double, curly, angled in _QUOTED.findall(text)]
