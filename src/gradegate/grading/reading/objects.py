"""One JSON object: strict for a constrained reply, and in the few other spellings that models have for any other."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from gradegate.errors import OffSchema, Unreadable
from gradegate.files.document import TwiceError, unique
from gradegate.texts import jsonobjects

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "number": (int, float),
    "integer": (int, float),
    "array": (list,),
    "object": (dict,),
}


def strict(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The object of a constrained reply: RFC 8259, every key once, finite numbers, valid by ``schema``. Raises OffSchema."""
    try:
        value = _STRICT.decode(text)
    except (ValueError, RecursionError):
        raise OffSchema("it is not one JSON object and nothing else, with each key once") from None
    _check(value, schema, "")
    assert isinstance(value, dict)
    return value


def lenient(text: str) -> Any:
    """What a text is as JSON, its keys in lower case: also in single quotes, with bare keys, a comma before a closing
    bracket, `True`, `False`, `None`, and raw line ends in texts. Raises Unreadable, also for a key that stands twice.
    """
    try:
        return _LENIENT.decode(text)
    except (ValueError, RecursionError):
        pass
    try:
        return _LENIENT.decode(jsonobjects.rewritten(text))
    except (ValueError, RecursionError) as e:
        known = "a key stands twice in its object" if isinstance(e, TwiceError) else "its object cannot be read as JSON"
        raise Unreadable(known) from None


_STRICT = json.JSONDecoder(object_pairs_hook=unique, parse_constant=jsonobjects.no_number)
_LENIENT = json.JSONDecoder(
    object_pairs_hook=lambda pairs: unique([(key.lower(), it) for key, it in pairs]), parse_constant=jsonobjects.no_number
)


def _check(value: Any, schema: Mapping[str, Any], place: str) -> None:
    """Raise OffSchema where a value is not of one of our schemas: types, keys, words, and finite numbers."""
    kind = schema["type"]
    of_type = isinstance(value, _TYPES[kind]) and isinstance(value, bool) is (kind == "boolean")
    if kind == "integer" and isinstance(value, float):
        of_type = value.is_integer()
    if not of_type or (isinstance(value, float) and not math.isfinite(value)):
        raise OffSchema(f"{place or 'it'} is not of the type {kind}")
    if value not in schema.get("enum", (value,)):
        raise OffSchema(f"{place} is not one of {', '.join(schema['enum'])}")
    if isinstance(value, dict):
        properties = schema["properties"]
        if value.keys() != properties.keys():
            raise OffSchema(f"{place or 'its object'} has not just the keys {', '.join(properties)}")
        for key, inner in properties.items():
            _check(value[key], inner, f"`{key}`")
    elif isinstance(value, list):
        for item in value:
            _check(item, schema["items"], f"an item of {place}")
