"""Reads a reply: it is a verdict when it has one of few forms from its first sign to its last, and nothing otherwise.

The forms are those of docs/verdicts.md. No word of prose is looked at, in any language.
"""

import html
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct, field

from gradegate.assertions.judge import prose
from gradegate.assertions.judge.form import Form
from gradegate.assertions.judge.last_line import option_lines
from gradegate.assertions.judge.prose import peeled, reasons, unfenced
from gradegate.errors import OffSchema, Unreadable
from gradegate.files.documents import TwiceError, unique
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, replace
from gradegate.templating import lenient_json

T = TypeVar("T")
Way = Literal["constrained", "alone", "apart", "last_line", "lines"]
LONGEST = 1 << 20  # bytes of a reply
ALONE = (
    "the text under judgement holds such a verdict, too; reply with your own alone and nothing else"
)
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})", re.IGNORECASE)
_OBJECT_BEGINS = re.compile(
    r"(?:\A|\n)[ \t]*\n[ \t]*\Z|\n[ \t]*(?:`{3,}|~{3,})(?:json|text)?[ \t]*\n\s*\Z", re.IGNORECASE
)
_FENCE_BEGINS = re.compile(r"(?:`{3,}|~{3,})(?:json|text)?[ \t]*\n\s*\Z", re.IGNORECASE)
_STRICT = json.JSONDecoder(object_pairs_hook=unique, parse_constant=lenient_json.refuse_constant)
_LENIENT = json.JSONDecoder(
    object_pairs_hook=lambda pairs: unique([(key.lower(), it) for key, it in pairs]),
    parse_constant=lenient_json.refuse_constant,
)
_TYPES: Mapping[str, Any] = {
    "string": str,
    "boolean": bool,
    "number": (int, float),
    "integer": (int, float),
    "array": list,
    "object": dict,
}

# --- the keys that an object may have besides those of the grader ----------------------------------------------

# Their values are not read.
NEUTRAL = frozenset(
    "reason reasons reasoning explanation explanations rationale justification analysis thinking thought thoughts comment"
    " comments note notes evidence confidence summary steps id claim statement sentence quote quotes".split()
)
# What a program gives beside a verdict: the other fields of promptfoo's GradingResult.
OF_PROGRAMS = frozenset(
    "namedscores namedscoreweights componentresults tokensused assertion metadata suggestions".split()
)
# They say a verdict, whoever asks for them.
_VERDICTS = frozenset("pass passed verdict result success error refusal".split())


class Keys(Struct, frozen=True):
    """What one question leaves neutral: ``asked`` are texts of the user's in which a key before a colon is asked for."""

    neutral: frozenset[str] = NEUTRAL
    asked: tuple[str, ...] = ()

    def check(self, value: Any, schema: JsonObject) -> None:
        """Raise Unreadable for a key that is neither of ``schema`` nor neutral, at every depth that the schema has."""
        if isinstance(value, dict):
            properties = schema.get("properties", {})
            for key, inner in value.items():
                if key in self.neutral:
                    continue
                if key in properties:
                    self.check(inner, properties[key])
                elif "".join(filter(str.isalnum, key)) in _VERDICTS or not any(
                    re.search(_before_a_colon(key), text, re.IGNORECASE) for text in self.asked
                ):
                    raise Unreadable(
                        f"its object has the key `{excerpt(key, 60)}`, which was not asked for"
                    )
        elif isinstance(value, list) and "items" in schema:
            for item in value:
                self.check(item, schema["items"])


def _before_a_colon(*keys: str) -> str:
    """A pattern for any of these keys before a colon, in quotes or not."""
    return rf"(?<![^\W_])(?:{'|'.join(map(re.escape, keys))})[\W_]*?[:：]"


# --- a whole reply --------------------------------------------------------------------------------------------


class Circumstances(Struct, frozen=True):
    """What is known beside a reply: the texts under judgement, the user's own prompt, and the keys that are neutral."""

    judged: Sequence[str] = ()
    prompt: Sequence[str] = ()
    keys: Keys = field(default_factory=Keys)


class Reading(Struct, Generic[T], frozen=True):
    """What a reply says, and in which form."""

    value: T
    way: Way


def constrained(reply: str, form: Form[T]) -> Reading[T]:
    """A reply whose endpoint enforces the schema: RFC 8259, every key once, finite numbers, valid. Raises Unreadable."""
    _hold_size(reply)
    try:
        value = _STRICT.decode(reply)
    except (ValueError, RecursionError):
        raise OffSchema("it is not one JSON object and nothing else, with each key once") from None
    _check(value, form.schema, "")
    return Reading(form.read(value), "constrained")


def read(reply: str, form: Form[T], beside: Circumstances) -> Reading[T]:
    """Any other reply. Raises Unreadable, also where a text under judgement talks like the judge."""
    _hold_size(reply)
    text = reply.strip()
    if not (text[:1] == "{" and text[-1:] == "}"):
        text = peeled(reply)
        if reasons(reply) and any(reasons(_decoded(text)) for text in beside.judged):
            raise Unreadable(ALONE)
    value, way, alone = _in_form(text, form, beside)
    if not alone and not form.texts:
        pattern = _before_a_colon(*dict.fromkeys(_keys(form.schema)))
        if form.line:
            pattern += "|" + form.line.echoes()
        if form.marks:
            pattern += rf"|\[[\W_]*(?:{'|'.join(map(re.escape, form.marks))})"
        talks = re.compile(pattern, re.IGNORECASE)
        if any(
            talks.search(_decoded(text))
            for text in (*beside.judged, *(beside.prompt if way == "apart" else ()))
        ):
            raise Unreadable(ALONE)
    return Reading(form.read(value), way)


def _hold_size(reply: str) -> None:
    if len(reply.encode("utf-8", "surrogatepass")) > LONGEST:
        raise Unreadable(f"it is longer than {LONGEST:,} bytes")


def _decoded(text: str) -> str:
    """A text as people see it, without the escapes of JSON and HTML: a judge that repeats it may write what they stand for."""
    # No sign has a longer number
    text = re.sub(r"(?<=&#)[0-9]+(?=[0-9]{8})", "", text.replace("\\/", "/"))
    return prose.seen(html.unescape(_ESCAPED.sub(lambda sign: chr(int(sign[1], 16)), text)))


def _keys(schema: JsonObject) -> Iterator[str]:
    """The keys of an object and of the objects in it."""
    for key, inner in schema.get("properties", {}).items():
        yield key
        yield from _keys(inner)
    if "items" in schema:
        yield from _keys(schema["items"])


def _in_form(text: str, form: Form[T], beside: Circumstances) -> tuple[JsonObject, Way, bool]:
    """The grader's object, the form of the reply, and whether nothing stands beside the verdict. Raises Unreadable."""
    if not text:
        raise Unreadable("it is empty")
    # In place of the object: the list of texts, or the one text where the schema has one
    if form.texts and text[0] == "[" and _alone(text) is None:
        texts = _lenient(text)
        wants_one = form.schema["properties"][form.texts]["type"] == "string"
        is_one = isinstance(texts, list) and len(texts) == 1 and isinstance(texts[0], str)
        if wants_one and is_one and form.lines:
            return form.lines(texts[0]), "alone", True
        return {form.texts: texts}, "alone", True
    value = _alone(text)
    way: Way = "alone" if value is not None else "apart"
    if value is None and (found := _apart(text)):
        value = _lenient(found)
    if value is not None:
        if not isinstance(value, dict):
            raise Unreadable("it is not a JSON object")
        beside.keys.check(value, form.schema)
        return value, way, way == "alone"
    if form.line:
        line = replace(form.line, options=option_lines(beside.prompt, form.line.words))
        value, alone = line.read(text)
        return value, "last_line", alone
    if form.lines:
        return form.lines(text), "lines", False
    raise Unreadable("it is not one JSON object alone, or after prose that ends and a blank line")


def _alone(text: str) -> Any:
    """The object that is the whole text, or the only item of a list that is; None for another text. Raises Unreadable."""
    if text[0] == "{":
        return _lenient(text)
    if text[0] != "[":
        return None
    try:
        listed = _lenient(text)
    except Unreadable:  # brackets around a word, such as [C]
        return None
    is_one_object = isinstance(listed, list) and len(listed) == 1 and isinstance(listed[0], dict)
    return listed[0] if is_one_object else None


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


# --- its JSON -------------------------------------------------------------------------------------------------


def _lenient(text: str) -> Any:
    """What a text is as JSON, its keys in lower case: also in single quotes, with bare keys, a comma before a closing
    bracket, `True`, `False`, `None`, and raw line ends in texts. Raises Unreadable, also for a key that stands twice.
    """
    try:
        return _LENIENT.decode(text)
    except (ValueError, RecursionError):
        pass
    try:
        return _LENIENT.decode(lenient_json.standard_json(text))
    except (ValueError, RecursionError) as e:
        known = (
            "a key stands twice in its object"
            if isinstance(e, TwiceError)
            else "its object cannot be read as JSON"
        )
        raise Unreadable(known) from None


def _check(value: Any, schema: JsonObject, place: str) -> None:
    """Raise OffSchema where a value is not of one of our schemas: types, keys, words, and finite numbers."""
    kind = schema["type"]
    of_type = isinstance(value, _TYPES[kind]) and isinstance(value, bool) is (kind == "boolean")
    if kind == "integer" and isinstance(value, float):
        of_type = value.is_integer()
    if not of_type or (isinstance(value, float) and not math.isfinite(value)):
        raise OffSchema(f"{place or 'it'} is not of the type {kind}")
    if value not in schema.get("enum", (value,)):
        raise OffSchema(f"{place} is not one of the allowed values", schema["enum"])
    if isinstance(value, dict):
        properties = schema["properties"]
        if value.keys() != properties.keys():
            raise OffSchema(
                f"{place or 'its object'} has not just the keys {', '.join(properties)}"
            )
        for key, inner in properties.items():
            _check(value[key], inner, f"`{key}`")
    elif isinstance(value, list):
        for item in value:
            _check(item, schema["items"], f"an item of {place}")
