"""Finds what a grader's reply says: reasoning taken away, JSON objects read leniently, one letter, yes or no.

Pure functions over text. What cannot be read raises Unreadable with words that the grader can act on; nothing here
ever supplies a default.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from gradegate.errors import Unreadable
from gradegate.grading import lenient

T = TypeVar("T", bound=Hashable)

_REASONING = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
_TAG = re.compile(rf"<(/?)({_REASONING})\b[^<>\n]*>|\[(/?)(THINK)\]", re.IGNORECASE)
_QUOTE = re.compile(r'(?<!\\)"')
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[^\n`]*$", re.MULTILINE)
_WRAPPING = "\"'`*_()[]{}<>“”‘’«» \t\r\n"
_TRUE = frozenset({"true", "yes", "y", "pass"})
_FALSE = frozenset({"false", "no", "n", "fail"})


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply without its reasoning: the text outside JSON objects, and the objects themselves, keys in lower case."""

    text: str
    objects: tuple[dict[str, Any], ...]
    plain: str  # the whole answer, objects as they were written

    def without(self, graded: str) -> Answer:
        """Leave out objects quoted from the graded text: they are not the grader's own.

        A reply that is one object and nothing else quotes nobody.
        """
        if not self.objects or "{" not in graded or (len(self.objects) == 1 and not self.text):
            return self
        quoted = answer(graded).objects
        return replace(self, objects=tuple(found for found in self.objects if found not in quoted))


def answer(reply: str) -> Answer:
    """Take the reasoning blocks away and read the JSON objects. Quotes are respected in both."""
    reply = _unescaped(reply)
    outside: list[str] = []
    objects: list[dict[str, Any]] = []
    position, start, plain = 0, 0, []
    for position, kind, end, found in _pieces(reply):
        outside.append(reply[start:position])
        plain.append(reply[start:position])
        if kind == "closer":  # the opener was in the prompt: all before it was reasoning
            outside, objects, plain = [], [], []
        elif kind == "object":
            plain.append(reply[position:end])
            if isinstance(found, dict):
                objects.append(found)
        start = end
    outside.append(reply[start:])
    plain.append(reply[start:])
    return Answer(_FENCE.sub("", "".join(outside)).strip(), tuple(objects), _FENCE.sub("", "".join(plain)).strip())


def _unescaped(reply: str) -> str:
    r"""A reply that was escaped as a whole, ``{\"pass\": true}`` with or without quotes around it, as it was meant."""
    text = reply.strip()
    if '{\\"' not in text or _QUOTE.search(text.strip('"')):
        return reply
    try:
        found = json.loads(text if text.startswith('"') else f'"{text}"', strict=False)
    except ValueError:
        return reply
    return found if isinstance(found, str) else reply


def _pieces(reply: str) -> Iterable[tuple[int, str, int, Any]]:
    """Reasoning blocks, stray closers and objects from left to right: (start, kind, end, object)."""
    position = 0
    while True:
        tag = _TAG.search(reply, position)
        brace = reply.find("{", position)
        if brace >= 0 and (tag is None or brace < tag.start()):
            found, end = lenient.read_object(reply, brace)
            yield brace, "object", end, found
            position = end
        elif tag is None:
            return
        elif tag[1] or tag[3]:
            yield tag.start(), "closer", tag.end(), None
            position = tag.end()
        else:
            position = _end_of_block(reply, tag)
            yield tag.start(), "block", position, None


def _end_of_block(reply: str, opener: re.Match[str]) -> int:
    """Where a reasoning block ends; one that is never closed goes on to the end, nested ones count."""
    name, depth = (opener[2] or opener[4]).lower(), 0
    for tag in _TAG.finditer(reply, opener.start()):
        if (tag[2] or tag[4]).lower() == name:
            depth += -1 if tag[1] or tag[3] else 1
            if depth == 0:
                return tag.end()
    return len(reply)


def one(readings: Iterable[T], missing: str) -> T:
    """The reading that all agree on. Raises Unreadable when there is none, or when two differ."""
    found = list(dict.fromkeys(readings))
    if not found:
        raise Unreadable(f"it holds {missing}")
    if len(found) > 1:
        raise Unreadable("it holds several verdicts that differ; give one")
    return found[0]


def verdict_object(given: Answer, read: Callable[[dict[str, Any]], T | None], shape: str) -> T:
    """What ``read`` makes of the objects; it returns None for one that is not a verdict. Raises Unreadable."""
    readings = (read(found) for found in given.objects)
    return one((reading for reading in readings if reading is not None), f"no JSON object {shape}")


def the_list(given: Answer, key: str) -> list[Any]:
    """The list under a key of the one object that has it. Raises Unreadable."""
    found = [item[key] for item in given.objects if key in item]
    if not found:
        raise Unreadable(f'it holds no JSON object with the key "{key}"')
    if any(other != found[0] for other in found[1:]):
        raise Unreadable(f'it holds several objects with the key "{key}" that differ; give one')
    if not isinstance(found[0], list):
        raise Unreadable(f'"{key}" is not a list')
    return found[0]


def texts_alone(given: Answer) -> list[str]:
    """The texts of a reply that is one JSON list of texts and nothing else; empty for any other reply."""
    try:
        found = json.loads(given.plain) if given.plain.startswith("[") else None
    except (ValueError, RecursionError):
        return []
    texts = [item.strip() for item in found if isinstance(item, str) and item.strip()] if found else []
    return texts if found and len(texts) == len(found) else []


def untagged(text: str) -> str:
    """A text without simple tags: ``<answer>C</answer>``."""
    return _ELEMENT.sub(" ", text)


def truth(value: Any) -> bool | None:
    """True or False for a boolean or a word that means it, None for all else."""
    if isinstance(value, bool):
        return value
    word = value.strip(_WRAPPING + ".!,;:").lower() if isinstance(value, str) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def number(value: Any) -> float | None:
    """A finite number or numeric text as float, None for all else (booleans are no numbers)."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value.strip() if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) and not (isinstance(value, str) and "_" in value) else None


def words(value: Any) -> str:
    """A reason as text, whatever the grader put there."""
    return value.strip() if isinstance(value, str) else "" if value is None else str(value)


_ELEMENT = re.compile(r"</?[A-Za-z_]{2,20}>")  # <answer>C</answer>

# --- one letter -----------------------------------------------------------------------------------------------

_LETTER = "([A-Za-z])"
_OPEN, _CLOSE = r"[\s\"'`*_(\[“‘]*", r"[\"'`*_)\]”’]*"
_LONE = re.compile(rf"^\W*{_LETTER}\W*$", re.MULTILINE)
_LEADING = re.compile(rf"^{_OPEN}{_LETTER}{_CLOSE}(?:[.):,;!?](?=\s|$|[\"'`*_])|\s*[-–—:](?=\s)|\s*$)", re.MULTILINE)
_BRACKETED = re.compile(
    r"(?<!\w)(?:\(\s*([A-Za-z])\s*\)|\[\s*([A-Za-z])\s*\]|\*\*\s*\(?([A-Z])\)?\s*\*\*)|\\boxed\{?\s*([A-Za-z])\s*\}"
)
_NAMED = re.compile(
    r"\b(?:answer|category|option|choice|verdict|grade|classification|conclusion|letter|result)\b"
    r"(?:\s+(?:is|was|would\s+be|should\s+be))?(?:\s+(?:clearly|therefore|thus|hence|category|option))?"
    rf"[*_`]*\s*[:=]?{_OPEN}{_LETTER}(?!\w|['’]\w|\+)",
    re.IGNORECASE,
)
# "A" and then a word is the article, unless the word goes on about the letter.
_ARTICLE = re.compile(rf"{_CLOSE}\s+(?!because|since|as\b|for\b|and\b|or\b|with\b|but\b|\()\w", re.IGNORECASE)
_AND_ANOTHER = re.compile(rf"{_CLOSE}\s*(?:[,/|&;]|or\b|and\b)\s*{_OPEN}{_LETTER}(?!\w)", re.IGNORECASE)


def letter(text: str, known: str) -> str:
    """The one letter that a text answers with, in upper case. Raises Unreadable for none, two, or one not ``known``."""
    text = untagged(_FENCE.sub("", text)).strip()
    found: set[str] = set()
    first_line_end = text.find("\n") if "\n" in text else len(text)
    for pattern in (_LONE, _LEADING, _BRACKETED, _NAMED):
        for match in pattern.finditer(text):
            if pattern is _LEADING and match.start() > first_line_end:
                continue  # further down, "B. something" is an item of a list
            position = match.start(match.lastindex or 1)
            if pattern is _NAMED and text[position] in "aA" and _ARTICLE.match(text, position + 1):
                continue
            found.add(text[position].upper())
            found.update(other[1].upper() for other in [_AND_ANOTHER.match(text, position + 1)] if other)
    if len(found) != 1:
        raise Unreadable(
            f"it holds {'several letters' if found else 'no letter'}; answer with one of {', '.join(known)}"
        )
    only = found.pop()
    if only not in known:
        raise Unreadable(f"{only} is none of {', '.join(known)}")
    return only


# --- yes or no ------------------------------------------------------------------------------------------------

_LAST_WORD = re.compile(r"(?:^|[^\w'’-])(yes|no|y|n)$", re.IGNORECASE)
_DENIED = re.compile(r"(?:\b(?:not|never|cannot)|n['’]t)\s+(?:\w+\s+){0,2}(?:yes|no|y|n)$", re.IGNORECASE)
_BOTH = re.compile(r"\b(?:yes|no|y|n)\b\W{0,3}(?:/|\||or)\W{0,3}(?:yes|no|y|n)$", re.IGNORECASE)


def last_yes_no(text: str) -> bool:
    """Whether the last line that is not empty ends in yes (True) or no (False). Raises Unreadable."""
    lines = [line.strip() for line in untagged(_FENCE.sub("", text)).splitlines() if line.strip(_WRAPPING)]
    line = lines[-1].rstrip(_WRAPPING + ".!,;:-") if lines else ""
    found = _LAST_WORD.search(line)
    if found is None or _BOTH.search(line) or _DENIED.search(line):
        raise Unreadable("its last line is not Y or N")
    return found[1].lower() in _TRUE
