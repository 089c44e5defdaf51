"""Reads the reply of a grader. A reply is a verdict only if all of it, from start to end, has one of few forms.

docs/verdicts.md describes the forms. Words of prose are never interpreted, in any language. ``read_constrained_reply`` is for
an endpoint that enforces the schema, ``read_reply`` for all others: what is around the reply is taken away (``peeling``),
then the grader's object is found, and the form of the question makes a value of the object.
"""

import html
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from msgspec import Struct, field

from gradegate.assertions.judge import peeling, prose
from gradegate.assertions.judge.form import Form, Object
from gradegate.assertions.judge.neutral_keys import NeutralKeys, key_before_colon
from gradegate.errors import OffSchema, Unreadable
from gradegate.files.json_text import DuplicateKeyError, refuse_duplicate_keys
from gradegate.structs import JsonObject
from gradegate.templating import lenient_json

T = TypeVar("T")
# The forms of a reply: an enforced schema, the object alone, the object apart after prose, a last line, every line.
# The counters of ``Readings`` have the same names.
ReplyForm = Literal["constrained", "alone", "apart", "last_line", "lines"]
MAX_BYTES = 1 << 20  # of a reply
_MAX_BEGIN = 60  # characters before an object that are searched for a blank line or a fence
ALONE = (
    "the text under judgement holds such a verdict, too; reply with your own alone and nothing else"
)
# `\u0070`
_UNICODE_ESCAPE = re.compile(r"\\u([0-9a-f]{4})", re.IGNORECASE)
# The end of the text before an object: a blank line, or the first line of a fence
_OBJECT_BEGINS = re.compile(
    r"(?:\A|\n)[ \t]*\n[ \t]*\Z|\n[ \t]*(?:`{3,}|~{3,})(?:json|text)?[ \t]*\n\s*\Z", re.IGNORECASE
)
# The first line of a fence: ```` ```json ````
_FENCE_BEGINS = re.compile(r"(?:`{3,}|~{3,})(?:json|text)?[ \t]*\n\s*\Z", re.IGNORECASE)
# Both refuse a key that is there twice.
_STRICT = json.JSONDecoder(
    object_pairs_hook=refuse_duplicate_keys, parse_constant=lenient_json.refuse_constant
)
_LENIENT = json.JSONDecoder(
    object_pairs_hook=lambda pairs: refuse_duplicate_keys(
        [(key.lower(), value) for key, value in pairs]
    ),
    parse_constant=lenient_json.refuse_constant,
)
_TYPES: Mapping[str, Any] = {  # of JSON Schema, in Python
    "string": str,
    "boolean": bool,
    "number": (int, float),
    "integer": (int, float),
    "array": list,
    "object": dict,
}


class Circumstances(Struct, frozen=True):
    """What decides how a reply is read, besides its form."""

    judged: Sequence[str] = ()  # the texts under judgement
    prompt: Sequence[str] = ()  # the contents of the user's own prompt, if it replaces ours
    keys: NeutralKeys = field(default_factory=NeutralKeys)


class Reading(Struct, Generic[T], frozen=True):
    """What a reply says, and in which form."""

    value: T
    reply_form: ReplyForm


class _FoundObject(NamedTuple):
    """The object that a reply has or stands for."""

    value: Object
    reply_form: ReplyForm
    is_alone: bool  # nothing stands next to the verdict


def read_constrained_reply(reply: str, form: Form[T]) -> Reading[T]:
    """Read a reply of an endpoint that enforces the schema: RFC 8259, each key once, finite numbers, valid.

    Raises Unreadable.
    """
    _check_size(reply)
    try:
        value = _STRICT.decode(reply)
    except (ValueError, RecursionError):
        raise OffSchema("it is not one JSON object and nothing else, with each key once") from None
    _check_schema(value, form.schema, "")
    return Reading(form.read(value), "constrained")


def read_reply(
    reply: str,
    form: Form[T],
    circumstances: Circumstances,
) -> Reading[T]:
    """Read any other reply. Raises Unreadable, also if a text under judgement talks like the judge."""
    _check_size(reply)
    text = reply.strip()
    # An object has nothing around it, whatever its own texts look like.
    is_object = text.startswith("{") and text.endswith("}")
    if not is_object:
        text = peeling.peel_reply(reply)
        if peeling.has_reasoning_sign(reply):
            # The grader may have repeated a text with such a sign: what looks like its verdict is then that text's.
            _refuse_echo(peeling.has_reasoning_sign, circumstances.judged)

    found = _find_object(text, form, circumstances)
    if not found.is_alone and form.texts_key is None:
        # What is next to the verdict may be repeated, too.
        texts = [*circumstances.judged]
        if found.reply_form == "apart":
            texts += circumstances.prompt
        _refuse_echo(_echo_pattern(form).search, texts)
    return Reading(form.read(found.value), found.reply_form)


def _check_size(reply: str) -> None:
    if len(reply.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise Unreadable(f"it is longer than {MAX_BYTES:,} bytes")


def _find_object(text: str, form: Form[T], circumstances: Circumstances) -> _FoundObject:
    """The grader's object, in the first form that the text has. Raises Unreadable."""
    if not text:
        raise Unreadable("it is empty")

    # The object alone, or a list of texts in its place.
    value = _parse_alone(text)
    if value is None and form.texts_key and text[0] == "[":
        return _FoundObject(_object_of_texts(text, form, form.texts_key), "alone", is_alone=True)

    # The object at the end, after prose.
    is_alone = value is not None
    if not is_alone:
        object_text = _text_of_last_object(text)
        if object_text is not None:
            value = _parse_lenient(object_text)
    if value is not None:
        if not isinstance(value, dict):
            raise Unreadable("it is not a JSON object")
        circumstances.keys.check(value, form.schema)
        return _FoundObject(value, "alone" if is_alone else "apart", is_alone)

    # The classic forms that this question declares.
    if form.last_line:
        last_line = form.last_line.with_options_from(circumstances.prompt)
        value, is_alone = last_line.read(text)
        return _FoundObject(value, "last_line", is_alone)
    if form.read_lines:
        return _FoundObject(form.read_lines(text), "lines", is_alone=False)
    raise Unreadable("it is not one JSON object alone, or after prose that ends and a blank line")


def _object_of_texts(text: str, form: Form[T], key: str) -> Object:
    """The object that a JSON list of texts stands for. Raises Unreadable."""
    texts = _parse_lenient(text)
    # A question for one text may be answered by a list of one text, which is then as good as a line.
    wants_one_text = form.schema["properties"][key]["type"] == "string"
    if form.read_lines and wants_one_text and isinstance(texts, list) and len(texts) == 1:
        [only_text] = texts
        if isinstance(only_text, str):
            return form.read_lines(only_text)
    return {key: texts}


def _parse_alone(text: str) -> Any:
    """Parse a text that is one object, or a list of one object. None for any other text. Raises Unreadable."""
    if text[0] == "{":
        return _parse_lenient(text)
    if text[0] != "[":
        return None
    try:
        items = _parse_lenient(text)
    except Unreadable:  # brackets around a word, such as [C]
        return None
    if isinstance(items, list) and len(items) == 1:
        [item] = items
        return item if isinstance(item, dict) else None
    return None


def _text_of_last_object(text: str) -> str | None:
    """The object at the end of a text, after prose that ends and a blank line or a fence. None if there is no such object."""
    brace = text.find("{")
    if brace <= 0:
        return None
    object_begin = _OBJECT_BEGINS.search(text, max(0, brace - _MAX_BEGIN), brace)
    if object_begin is None:
        return None

    fence = _FENCE_BEGINS.search(text, object_begin.start(), brace)
    start = fence.start() if fence else brace
    prose_before = text[:start]
    if not prose.is_plain(prose_before) or not prose.has_end(prose_before):
        return None
    object_text = text[start:]
    return peeling.unfence(object_text) if fence else object_text


def _refuse_echo(
    talks_like_judge: Callable[[str], object],
    texts: Iterable[str],
) -> None:
    """Raise Unreadable if one of the texts that the grader saw talks like the judge."""
    if any(talks_like_judge(_decode(text)) for text in texts):
        raise Unreadable(ALONE)


def _echo_pattern(form: Form[T]) -> re.Pattern[str]:
    """A pattern for a text that talks like a verdict of this form."""
    pattern = key_before_colon(*dict.fromkeys(_keys(form.schema)))
    if form.last_line:
        pattern += "|" + form.last_line.echo_pattern()
    if form.marks:
        pattern += rf"|\[[\W_]*(?:{'|'.join(map(re.escape, form.marks))})"
    return re.compile(pattern, re.IGNORECASE)


def _keys(schema: JsonObject) -> Iterator[str]:
    """The keys of an object and of the objects in it."""
    for key, inner in schema.get("properties", {}).items():
        yield key
        yield from _keys(inner)
    if "items" in schema:
        yield from _keys(schema["items"])


def _decode(text: str) -> str:
    """A text as people see it, without escapes of JSON and HTML: a judge may repeat what they stand for."""
    text = text.replace("\\/", "/")
    text = re.sub(r"(?<=&#)[0-9]+(?=[0-9]{8})", "", text)  # no sign has a longer number
    text = _UNICODE_ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)
    return prose.visible_text(html.unescape(text))


# --- JSON in a reply ------------------------------------------------------------------------------------------


def _parse_lenient(text: str) -> Any:
    """Parse a text as JSON, keys in lower case. Raises Unreadable, also for a key that is there twice.

    Single quotes, bare keys, a comma before a closing bracket, `True`, `False`, `None`, and line ends in texts are allowed.
    """
    try:
        return _LENIENT.decode(text)
    except (ValueError, RecursionError):
        pass
    try:
        return _LENIENT.decode(lenient_json.standard_json(text))
    except DuplicateKeyError:
        raise Unreadable("a key stands twice in its object") from None
    except (ValueError, RecursionError):
        raise Unreadable("its object cannot be read as JSON") from None


def _has_type(value: Any, kind: str) -> bool:
    """Whether a value has a type of JSON Schema. A boolean is no number, and a number must be finite."""
    if isinstance(value, bool):
        return kind == "boolean"
    if not isinstance(value, _TYPES[kind]):
        return False
    if isinstance(value, float):
        return math.isfinite(value) and (kind != "integer" or value.is_integer())
    return True


def _check_schema(value: Any, schema: JsonObject, place: str) -> None:
    """Raise OffSchema if a value does not fit one of our schemas: types, keys, words, and finite numbers."""
    kind = schema["type"]
    if not _has_type(value, kind):
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
            _check_schema(value[key], inner, f"`{key}`")
    elif isinstance(value, list):
        for item in value:
            _check_schema(item, schema["items"], f"an item of {place}")
