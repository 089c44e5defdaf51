"""Whether a verdict stands in the texts under judgement, in whatever disguise: then it may be quoted and not given."""

from __future__ import annotations

import html
import itertools
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from gradegate.errors import Unreadable
from gradegate.grading.reading import contradiction, labels, lenient, peel
from gradegate.grading.reading.answer import Answer, Span, walk
from gradegate.grading.reading.marks import Marked

T = TypeVar("T")

LONGEST = 1 << 20  # characters of the texts that are searched; a longer text counts as one that talks like a judge
MOST_READ = 1 << 22  # characters of objects in them, those inside others counted again; with more, the same
MOST = 400  # objects and lines that are held against the verdict; with more, the text counts as one that talks like a judge
DEPTH = 3  # strings inside strings
_INVISIBLE = {ord(sign): None for sign in peel.INVISIBLE if not sign.isspace()}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[nrt\"'\\/])")
_SEPARATOR = re.compile(r"(?P<sign>[:=?])|\b(?:is|are)\b")
_LAST_WORD = re.compile(r"(?P<word>[^\W\d_][\w-]{0,30})[ \t*_`\"'”]{0,6}(?:\([^()\n]{0,12}\))?[ \t*_`\"'”]{0,6}\Z")
_VALUE = re.compile(r"[ \t*_`\"'“(\[]{0,6}(?P<first>[^\s\"'”)\],;<>*`]{1,30})(?P<rest>[^\n\"'”)\],;<]{0,60})")
_BEFORE_MARK = 400  # characters of a line
_MARK = re.compile("attributed", re.IGNORECASE)
_MARKED = re.compile(rf"[^\n]{{0,{_BEFORE_MARK}}}attributed[\])*_`]*", re.IGNORECASE)
_FINAL = re.compile(r"final\s+(?:verdict|answer)[^\n]{0,300}\b(?:yes|no)\b", re.IGNORECASE)
_NOUNS = labels.NOUNS | frozenset(
    "category option choice letter score rating points index output winner best criterion met pass passed verdicts".split()
)
_TAG = re.compile(peel.TAG, re.IGNORECASE)


class _TooMuch(Exception):
    """A text holds more than is read."""


def stands_in(verdict: T, read: Callable[[Answer], T], texts: Iterable[str]) -> bool:
    """Whether ``read`` makes the verdict of anything in one of the texts."""
    for text in filter(None, texts):
        if len(text) > LONGEST:
            return True
        try:
            parts = {part.text: part for part in itertools.islice(_parts(text), 2 * MOST)}
        except _TooMuch:
            return True
        for number, part in enumerate(parts.values()):
            if number >= MOST or _same(verdict, _read(read, part)):
                return True
    return False


def _read(read: Callable[[Answer], T], part: Answer) -> T | None:
    try:
        return read(part)
    except Unreadable:
        return None


def _same(verdict: Any, other: Any) -> bool:
    """Equal in what decides; of sentences that are each marked, any one that is marked alike."""
    if isinstance(verdict, tuple) and isinstance(other, tuple) and any(isinstance(item, Marked) for item in verdict):
        return any(item in other for item in verdict)
    return other is not None and bool(getattr(verdict, "decides", verdict) == getattr(other, "decides", other))


def _parts(text: str) -> Iterator[Answer]:
    """Everything in a text that could be a reply: objects at any depth, labelled lines, marked lines."""
    for plain in _spellings(text):
        yield from _objects(plain, 0)
        yield from _labelled(plain)
        for meaning, _ in contradiction.said(plain):
            yield _as_object(meaning)
        for match in (*_marked(plain), *_FINAL.finditer(plain)):
            yield Answer(match[0].strip())


def _marked(text: str) -> Iterator[re.Match[str]]:
    """The ends of lines up to a mark; looked for from the mark, since most lines of a long text hold none."""
    end = 0
    for found in _MARK.finditer(text):
        if found.start() < end:
            continue
        start = max(end, found.start() - _BEFORE_MARK)
        start = max(start, text.rfind("\n", start, found.start()) + 1)
        match = _MARKED.match(text, start)
        assert match is not None  # it reaches to the mark at least
        end = match.end()
        yield match


def _as_object(meaning: bool | str) -> Answer:
    """What a labelled line says, for readers of objects alone."""
    word = str(meaning) if isinstance(meaning, str) else "yes" if meaning else "no"
    item = {"pass": word, "verdict": word}
    written = json.dumps(item)
    return Answer(written, (Span(0, len(written), item),))


def _labelled(text: str) -> Iterator[Answer]:
    """What comes after a noun of a verdict and a colon or "is"."""
    for separator in _SEPARATOR.finditer(text):
        label = _LAST_WORD.search(text, max(0, separator.start() - 60), separator.start())
        value = _VALUE.match(text, separator.end())
        if label is None or value is None or label["word"].lower() not in _NOUNS:
            continue
        sign = separator["sign"] or " is"
        yield Answer(
            f"{label['word']}{sign} {value['first'].strip('.!')}"
            if _ends(value)
            else f"{label['word']}{sign} {value['first']}{value['rest']}"
        )


def _ends(value: re.Match[str]) -> bool:
    """Whether the value is its first word: "a subset" begins with an article."""
    return value["first"].lower() != "a" or not value["rest"].strip(" .!)")


def _spellings(text: str) -> Iterator[str]:
    """A text as it is and as it is meant: without tags, escapes, entities, invisible signs and signs of full width."""
    seen: dict[str, None] = {text: None}
    plain = unicodedata.normalize("NFKC", text).translate(_INVISIBLE)
    for _ in range(DEPTH):
        seen[plain] = None
        seen[_TAG.sub("\n", plain)] = None
        plain = _ESCAPE.sub(_meant, html.unescape(plain))
        if plain in seen:
            break
    return iter(seen)


def _meant(escape: re.Match[str]) -> str:
    sign = escape[1]
    if sign[0] in "ux":
        return chr(int(sign[1:], 16))
    return {"n": "\n", "r": "\r", "t": "\t"}.get(sign, sign)


def _objects(text: str, depth: int) -> Iterator[Answer]:
    position, tried, read = text.find("{"), 0, 0
    while position >= 0 and tried < MOST:
        if not lenient.looks_like_object(text, position):
            position = text.find("{", position + 1)
            continue
        tried += 1
        piece = lenient.read_object(text, position)
        read += piece.end - position
        if read > MOST_READ:
            raise _TooMuch
        if piece.value is not None:
            for item in walk(piece.value):
                yield from _inside(item, depth)
        position = text.find("{", position + 1)


def _inside(item: Any, depth: int) -> Iterator[Answer]:
    if isinstance(item, dict):
        written = json.dumps(item, default=str)
        yield Answer(written, (Span(0, len(written), item),))
    elif isinstance(item, str) and "{" in item and depth < DEPTH:
        yield from _objects(item, depth + 1)
