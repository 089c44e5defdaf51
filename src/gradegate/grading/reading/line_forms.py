"""Replies in which every line counts: marked sentences, quotations, and lists of texts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from gradegate.access.hiding import excerpt
from gradegate.errors import Unreadable
from gradegate.grading.reading import prose


def _filled(text: str) -> list[str]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise Unreadable("it is empty")
    return lines


def marked(text: str, marks: Sequence[str], is_quoted: Callable[[str], bool]) -> list[tuple[str, str]]:
    """The text of every line with its one mark. A list item or quotation that does not end ``is_quoted``. Raises Unreadable."""
    words = "|".join(map(re.escape, marks))
    last = re.compile(rf"[*_]{{0,3}}\[({words})\][*_]{{0,3}}\.?", re.IGNORECASE)
    another = re.compile(rf"\[[^\[\]]*(?:{words})", re.IGNORECASE)
    pairs: list[tuple[str, str]] = []
    for line in _filled(text):
        start = line.rfind("[")
        start = len(line[:start].rstrip("*_")) if start > 0 else 0
        mark = last.fullmatch(line, start)
        sentence, is_item = prose.unmarked(line[:start])
        if mark is None or another.search(sentence) or not prose.is_plain(sentence):
            raise Unreadable(f"the line {excerpt(line, 80)!r} does not end in one mark, [{'] or ['.join(marks)}]")
        known = prose.ends(sentence) or ((is_item or sentence[-1:] in prose.WRAPPING) and is_quoted(prose.unwrapped(sentence)))
        if not any(map(str.isalnum, sentence)) or prose.goes_on(sentence) or not known:
            raise Unreadable(f"the text before the mark does not end: {excerpt(line, 80)!r}")
        pairs.append((prose.unwrapped(sentence), mark[1].lower()))
    return pairs


def quoted(text: str) -> list[str]:
    """Every line without list marks; whoever asks holds them against the context. Raises Unreadable."""
    lines = [prose.unmarked(line)[0] for line in _filled(text)]
    if any("QUESTION" in unicodedata.name(prose.last_sign(line) or " ", "") for line in lines):
        raise Unreadable("a line of it is a question")
    return lines


def items(text: str) -> list[str]:
    """Every line as a text: each is a list item, or it ends. Raises Unreadable."""
    lines = [(line, *prose.unmarked(line)) for line in _filled(text)]
    if not prose.is_plain(text) or not all(bare and (is_item or prose.ends(line)) for line, bare, is_item in lines):
        raise Unreadable("it is neither an object nor a list with one text to a line")
    return [bare.strip(prose.WRAPPING) for _, bare, _ in lines]


def single(text: str) -> str:
    """The one line of a text. Raises Unreadable."""
    lines = _filled(text)
    line = prose.unmarked(lines[0])[0].strip(prose.WRAPPING)
    if len(lines) > 1 or not prose.is_plain(text) or not any(map(str.isalnum, line)):
        raise Unreadable("it is neither an object nor one line")
    return line
