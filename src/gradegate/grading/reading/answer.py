"""An answer: a reply without its reasoning, with the JSON objects in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading.reading import lenient, peel

LONGEST = 1 << 20  # characters of a reply; a longer one is not a verdict
MOST_BROKEN = 20  # objects that cannot be read, and
MOST_SIGNS = 50_000  # signs that could open something
MOST_PIECES = 2000  # objects and tags in one reply: more is not a grader's reply
_QUOTE = re.compile(r'(?<!\\)"')
_TOKEN = re.compile(rf"(?P<comment><!--)|(?P<struck>(?<!~)~~(?!~))|(?P<tag>{peel.TAG})|(?P<brace>\{{)", re.IGNORECASE)
_STRUCK = re.compile(r"~~(?!~)(?:(?!~~).){1,4000}~~(?!~)", re.DOTALL)
_SENTENCE_END = re.compile(r"(?:\A|\n|[.!?:…。！？：])[ \t*_>\"'”’)\]]*\Z")


@dataclass(frozen=True, slots=True)
class Span:
    """Where an object is in an answer; ``value`` is None for one that cannot be read. Keys are in lower case."""

    start: int
    end: int
    value: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply without its reasoning. ``strict``: it counts only when it is wholly in the form asked for."""

    text: str
    spans: tuple[Span, ...] = ()
    strict: bool = False

    @property
    def holds_json(self) -> bool:
        """Whether there is JSON of any kind in it; then only JSON counts."""
        return bool(self.spans) or _JSON_LIKE.search(self.text) is not None


_JSON_LIKE = re.compile(r"\A\s*+[\[{](?:\s*+[\"'{\[\]]|\s*+\Z)|\"[\w $-]{1,60}\"\s{0,9}:|\"\s{0,9}[}\]]\s*+\Z")


def parse(reply: str) -> Answer:
    """The answer of a reply. Raises Unreadable for one that is too long, ends in its reasoning, or in the middle of JSON."""
    if len(reply) > LONGEST:
        raise Unreadable(f"it has {len(reply)} characters, and at most {LONGEST} are read")
    if sum(map(reply.count, "<[{~&＜◁")) > MOST_SIGNS:
        raise Unreadable("it has too many brackets and tags to be a verdict")
    text = peel.outer(reply)
    text = peel.outer(_unescaped(text))
    scan = _Scan(text)
    scan.run()
    return scan.answer()


def _unescaped(text: str) -> str:
    r"""A reply that was escaped as a whole, ``{\"pass\": true}`` with or without quotes around it, as it was meant."""
    if not text.startswith(('"{', '"[', '{\\"', '[{\\"')) or _QUOTE.search(text.strip('"')):
        return text
    try:
        plain = json.loads(text if text.startswith('"') else f'"{text}"', strict=False)
    except ValueError:
        return text
    return plain if isinstance(plain, str) else text


class _Scan:
    """Goes once through a text: reasoning is left out, objects are kept with their places."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._kept = ""
        self._parts: list[str] = []
        self._length = 0
        self._tail = ""  # the end of what is kept, as far as it says whether a line or a sentence begins
        self._spans: list[Span] = []
        self._open: set[str] = set()  # names of elements that are not closed from here on
        self._broken = 0
        self._trailing = False  # the last thing is reasoning

    def answer(self) -> Answer:
        if self._trailing:
            raise Unreadable("it ends in its reasoning")
        text = "".join(self._parts)
        return Answer(text, tuple(self._spans))

    def run(self) -> None:
        position = 0
        for _ in range(MOST_PIECES):
            match = _TOKEN.search(self._text, position)
            if match is None:
                self._keep(self._text[position:])
                return
            self._keep(self._text[position : match.start()])
            position = self._step(match)
        raise Unreadable("it has too many brackets and tags to be a verdict")

    def _keep(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)
            self._tail = (self._tail + text[-40:])[-40:]
            self._trailing = self._trailing and not text.strip()

    def _step(self, match: re.Match[str]) -> int:
        """Take in one piece; where the next one is looked for."""
        if match["brace"]:
            return self._object(match.start())
        if match["comment"]:
            end = self._text.find("-->", match.end())
            if end < 0:
                raise Unreadable("it ends in a comment")
            self._trailing = True
            return end + 3
        if match["struck"]:
            struck = _STRUCK.match(self._text, match.start())
            if struck is None:
                self._keep(match[0])
            return struck.end() if struck else match.end()
        return self._element(match)

    def _object(self, start: int) -> int:
        if not lenient.looks_like_object(self._text, start):
            self._keep("{")
            return start + 1
        piece = lenient.read_object(self._text, start)
        if piece.value is None:
            self._broken += 1
            closer = self._stray_closer(start) if not piece.closed else None
            if closer is not None:
                self._forget()
                return closer
            if not piece.closed or self._broken > MOST_BROKEN:
                raise Unreadable("its JSON is cut off" if not piece.closed else "its JSON cannot be read")
        self._spans.append(Span(self._length, self._length + piece.end - start, piece.value))
        self._keep(self._text[start : piece.end])
        return piece.end

    def _stray_closer(self, start: int) -> int | None:
        """Where reasoning ends that was opened in the prompt, and that holds a brace which is never closed."""
        if self._text.startswith("{"):
            return None
        for count, tag in enumerate(_TAG.finditer(self._text, start)):
            name, closes = peel.name_of(tag)
            if count > MOST_PIECES or not peel.is_reasoning(name):
                continue
            return tag.end() if closes else None
        return None

    def _forget(self) -> None:
        self._parts, self._length, self._tail, self._spans, self._trailing = [], 0, "", [], True

    def _element(self, tag: re.Match[str]) -> int:
        name, closes = peel.name_of(tag)
        begins = _SENTENCE_END.search(self._tail) is not None
        instead = peel.in_place_of(tag[0], name, begins)
        if instead is not None:
            self._keep("\n" if closes and "\n" in peel.in_place_of("", name, True) else "" if closes else instead)  # type: ignore[operator]
            return tag.end()
        if closes and peel.is_reasoning(name):  # it was opened in the prompt: all before it was reasoning
            self._forget()
            return tag.end()
        end = None if closes or name in self._open else self._close(name, tag)
        if end is not None:
            self._trailing = True
            return end
        if not closes and (peel.is_reasoning(name) or (begins and peel.holds_something(tag[0], name))):
            raise Unreadable(f"its <{name}> is never closed, so it ends in its reasoning")
        self._open.add(name)
        self._keep(tag[0])
        return tag.end()

    def _close(self, name: str, opener: re.Match[str]) -> int | None:
        depth = 0
        for tag in _TAG.finditer(self._text, opener.start()):
            other, closes = peel.name_of(tag)
            if other == name:
                depth += -1 if closes else 1
                if depth == 0:
                    return tag.end()
        return None


_TAG = re.compile(peel.TAG, re.IGNORECASE)


def walk(value: Any) -> Iterator[Any]:
    """A value of JSON and all values inside it."""
    stack = [value]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
