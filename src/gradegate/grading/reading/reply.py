"""Reads a reply: it is a verdict when it has one of few forms from its first sign to its last, and nothing otherwise.

The forms are those of docs/verdicts.md. No word of prose is looked at, in any language.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from gradegate.errors import Unreadable
from gradegate.grading.reading import objects, prose
from gradegate.grading.reading.form import Form
from gradegate.grading.reading.neutral_keys import Keys, before_a_colon
from gradegate.grading.reading.peel import peeled, reasons, unfenced

T = TypeVar("T")
Way = Literal["constrained", "alone", "apart", "last_line", "lines"]
LONGEST = 1 << 20  # bytes of a reply
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})", re.IGNORECASE)
ALONE = "the text under judgement holds such a verdict, too; reply with your own alone and nothing else"
_OBJECT_BEGINS = re.compile(r"(?:\A|\n)[ \t]*\n[ \t]*\Z|\n[ \t]*(?:`{3,}|~{3,})(?:json|text)?[ \t]*\n\s*\Z", re.IGNORECASE)
_FENCE_BEGINS = re.compile(r"(?:`{3,}|~{3,})(?:json|text)?[ \t]*\n\s*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known beside a reply: the texts under judgement, the user's own prompt, and the keys that are neutral."""

    judged: Sequence[str] = ()
    prompt: Sequence[str] = ()
    keys: Keys = field(default_factory=Keys)


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What a reply says, and in which form."""

    value: T
    way: Way


def constrained(reply: str, form: Form[T]) -> Reading[T]:
    """A reply whose endpoint enforces the schema of ``form``. Raises Unreadable."""
    _hold_size(reply)
    return Reading(form.read(objects.strict(reply, form.schema)), "constrained")


def read(reply: str, form: Form[T], beside: Circumstances) -> Reading[T]:
    """Any other reply. Raises Unreadable."""
    _hold_size(reply)
    text = reply.strip()
    if not (text[:1] == "{" and text[-1:] == "}"):
        text = peeled(reply)
        if reasons(reply) and any(reasons(_decoded(text)) for text in beside.judged):
            raise Unreadable(ALONE)
    value, way, alone = _in_form(text, form, beside.keys)
    if not alone and not form.texts:
        _hold_own(way, form, beside)
    return Reading(form.read(value), way)


def _hold_size(reply: str) -> None:
    if len(reply) > LONGEST or (not reply.isascii() and len(reply.encode("utf-8", "surrogatepass")) > LONGEST):
        raise Unreadable(f"it is longer than {LONGEST:,} bytes")


def _in_form(text: str, form: Form[T], keys: Keys) -> tuple[Mapping[str, Any], Way, bool]:
    """The grader's object, the form of the reply, and whether nothing stands beside the verdict. Raises Unreadable."""
    if not text:
        raise Unreadable("it is empty")
    if text[0] == "{":
        return _object(text, form, keys), "alone", True
    if form.texts and text[0] == "[":
        return {form.texts: form.listed(objects.lenient(text))}, "alone", True
    found = _apart(text)
    if found:
        return _object(found, form, keys), "apart", False
    if form.line:
        value, alone = form.line.read(text)
        return value, "last_line", alone
    if form.lines:
        return form.lines(text), "lines", False
    raise Unreadable("it is not one JSON object alone, or after prose that ends and a blank line")


def _object(text: str, form: Form[T], keys: Keys) -> Mapping[str, Any]:
    value = objects.lenient(text)
    if not isinstance(value, dict):
        raise Unreadable("it is not a JSON object")
    keys.check(value, form.schema)
    return value


def _apart(text: str) -> str:
    """The object at the end of a text, after prose that ends and a blank line or the object's own fence; else empty."""
    start = text.find("{")
    begins = _OBJECT_BEGINS.search(text, max(0, start - 60), start) if start > 0 else None
    if begins is None:
        return ""
    fence = _FENCE_BEGINS.search(text, begins.start(), start)
    before = text[: fence.start() if fence else start]
    if not prose.is_plain(before) or not prose.ends(before):
        return ""
    return unfenced(text[fence.start() :]) if fence else text[start:]


def _decoded(text: str) -> str:
    """A text without the escapes of JSON and HTML: a judge that repeats it may write what they stand for."""
    text = re.sub(r"(?<=&#)[0-9]+(?=[0-9]{8})", "", text.replace("\\/", "/"))  # no sign has a longer number
    return html.unescape(_ESCAPED.sub(lambda sign: chr(int(sign[1], 16)), text))


def _hold_own(way: Way, form: Form[T], beside: Circumstances) -> None:
    """Raise Unreadable where a text under judgement talks like the judge."""
    pattern = before_a_colon(*form.all_keys)
    if form.line:
        pattern += "|" + form.line.echoes()
    if form.marks:
        pattern += rf"|\[[\W_]*(?:{'|'.join(map(re.escape, form.marks))})"
    talks = re.compile(pattern, re.IGNORECASE)
    texts = [*beside.judged, *(beside.prompt if way == "apart" else ())]
    if any(talks.search(_decoded(text)) for text in texts):
        raise Unreadable(ALONE)
