"""Writes results as JSON and reads them back, with msgspec.

``encode`` can write every value, whatever a model or a config put into it. ``decode`` reads only the declared types, because
anybody may have written the text.
"""

import math
import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from msgspec import DecodeError, json

from gradegate.core.conversation import Image
from gradegate.files.documents import encodable
from gradegate.security.redaction import excerpt
from gradegate.structs import field_names

T = TypeVar("T")
# Longer integers are not numbers to most readers, and Python refuses to print very long ones.
_LARGE = 10**300
_MAX_DEPTH = 60  # levels of a value that cannot be written as it is
# The words for the types that msgspec names.
_TYPE_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "object": "a mapping",
    "array": "a list",
}
# Messages of msgspec, and the words for them that follow the place.
_COMPLAINTS = {
    r"Object missing required field `(.*)`": ".{} is missing",
    r"Object contains unknown field `(.*)`": ".{} is unknown",
    r"Invalid enum value (.*)": " cannot be {}",
    r"Expected `(.*)`, got `(.*)`": " must be {}, not {}",
    r"Expected `(.*)` ([<>]=) (.*)": " must be {} {} {}",
    r"Expected `(.*)` of length (.*)": " must be {} of length {}",
    r"JSON is malformed: .* \(byte (\d+)\)": " is no JSON from byte {} on",
    r"Input data was truncated": " is no JSON, or breaks off",
    r".*recursion.*": " is nested too deeply",
}


class MisfitError(ValueError):
    """A text is not JSON of the expected type. The message says where, and what is wrong."""


def encode(value: Any) -> str:
    """Write a value as one line of JSON, a struct by its fields. A number that is not finite becomes null."""
    try:
        return _ENCODER.encode(value).decode()
    except (TypeError, ValueError, RecursionError):  # a lone surrogate, a key that is no text ...
        return _ENCODER.encode(_rebuild(value, _writable, _MAX_DEPTH)).decode()


def decode(content: bytes, kind: type[T]) -> T:
    """Read a value of this type from JSON. Raises MisfitError."""
    try:
        return _decoder_of(kind).decode(content)  # type: ignore[arg-type,no-any-return]  # a class can be hashed
    except (DecodeError, UnicodeDecodeError, RecursionError) as e:
        raise MisfitError(_reason_not_utf8(content) or _explain(str(e))) from e


def _reason_not_utf8(content: bytes) -> str:
    """Why bytes are no UTF-8 without a byte order mark. Empty if they are."""
    if content.startswith((BOM_UTF8, BOM_UTF16_LE, BOM_UTF16_BE)):
        return "begins with a byte order mark: save it as UTF-8 without one"
    try:
        content.decode()
    except UnicodeDecodeError as e:
        return f"is not UTF-8 at byte {e.start}"
    return ""


@cache
def _decoder_of(kind: type) -> json.Decoder[Any]:
    return json.Decoder(kind)


def _explain(message: str) -> str:
    """Where and what is wrong, from a message of msgspec: ``cases.0.outcome cannot be 'PASS'``."""
    complaint = message
    path = ""
    located = re.fullmatch(r"(.*) - at `\$(.*)`", message, re.DOTALL)
    if located:
        complaint, path = located.groups()
    dotted_path = re.sub(r"\[(\d+)\]", r".\1", path)
    place = excerpt(dotted_path, 200)

    problem = " is not of its form"
    for pattern, words in _COMPLAINTS.items():
        match = re.fullmatch(pattern, complaint, re.DOTALL)
        if match:
            details = [excerpt(_word_types(part), 60) for part in match.groups()]
            problem = words.format(*details)
            break
    return f"{place}{problem}".lstrip(". ")


def _word_types(types: str) -> str:
    """The types that msgspec names, in words: ``str | null`` is ``text or null``."""
    words = [_TYPE_WORDS.get(name, name) for name in types.split(" | ")]
    return " or ".join(words)


def to_plain_data(value: Any, depth: int = 40) -> Any:
    """Any value as data that every JSON reader accepts. NaN, infinities and anything unknown become text."""
    return _rebuild(value, _readable, depth)


def _readable(value: Any) -> Any:
    """A value without items as JSON data: a number, a text, true, false or null."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -_LARGE < value < _LARGE else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return encodable(str(value))


def _writable(value: Any) -> Any:
    """A text or a number as msgspec can write it. Other types that a struct declares have a form in msgspec."""
    if isinstance(value, Image):
        return {"image": encodable(str(value))}
    return _readable(value) if isinstance(value, str | int) else value


def _supported(value: Any) -> Any:
    """A value of a type that msgspec does not know, as data."""
    return _writable(value) if isinstance(value, str) else to_plain_data(value)


_ENCODER = json.Encoder(enc_hook=_supported)


def _rebuild(value: Any, leaf: Callable[[Any], Any], depth: int) -> Any:
    """Rebuild everything that has items or fields of lists and mappings with text keys, at most ``depth`` levels deep.

    ``leaf`` converts all other values.
    """
    if isinstance(value, str | int | float | bytes):
        return leaf(value)
    fields = field_names(value)
    if fields:
        value = {name: getattr(value, name) for name in fields}
    if not isinstance(value, Iterable):
        return leaf(value)
    if depth == 0:
        return "…"

    if not isinstance(value, Mapping):
        return [_rebuild(item, leaf, depth - 1) for item in value]
    rebuilt = {}
    for key, item in value.items():
        rebuilt[encodable(str(key))] = _rebuild(item, leaf, depth - 1)
    return rebuilt


def finite_or_none(number: float | None) -> float | None:
    """The number, or None for what JSON cannot write."""
    return number if number is not None and math.isfinite(number) else None
