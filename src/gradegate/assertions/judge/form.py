"""The forms in which a reply to a question is a verdict, and what single values in the grader's object mean."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from gradegate.assertions.judge import prose
from gradegate.assertions.judge.last_line import LastLine
from gradegate.errors import Unreadable
from gradegate.structs import FrozenStruct

T = TypeVar("T")
Object = Mapping[str, Any]
_TRUTHS = {
    **dict.fromkeys(("true", "yes", "y", "pass"), True),
    **dict.fromkeys(("false", "no", "n", "fail"), False),
}
# A number as a text: `8`, `-0.5`, `.5`, `1e3`. Never `010`, which could be 10 or 0.10.
_NUMBER = re.compile(r"[-+]?(?!0[0-9])(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")


class Form(FrozenStruct, Generic[T]):
    """The forms in which a reply to one question is a verdict.

    A reply has an object of ``schema``, or stands for one. ``read`` makes the value of that object, or raises Unreadable.
    """

    schema: Object
    read: Callable[[Object], T]
    last_line: LastLine | None = None  # a reply with such a last line stands for an object
    # Makes the object of a reply in which every line counts. Raises Unreadable.
    read_lines: Callable[[str], Object] | None = None
    marks: tuple[str, ...] = ()  # at the ends of these lines
    # The key of a list of texts. Texts are no verdict: a JSON list of them is read, too, and a text under judgement may
    # look like the reply.
    texts_key: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the object, in the order in which they are asked for."""
        return tuple(self.schema.get("properties", ()))


def parse_truth(value: Any) -> bool | None:
    """True or False for a boolean, or for a word that means one. None for anything else."""
    if isinstance(value, bool):
        return value
    return _TRUTHS.get(parse_word(value))


def parse_word(value: Any) -> str:
    """A text in lower case, without blanks, brackets and a full stop around it. Empty for anything but text and booleans."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return prose.unwrap(value).lower()
    return ""


def parse_number(value: Any) -> float | None:
    """A finite number, or a numeric text, as float. None for anything else, also for a boolean."""
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            return None
        value = float(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def reason_of(item: Object) -> str:
    """The grader's reason as text, whatever the grader wrote there. Empty if there is no reason."""
    reason = item.get("reason")
    if reason is None:
        return ""
    if isinstance(reason, str):
        return reason.strip()
    return str(reason)


def required_value(item: Object, key: str) -> Any:
    """The value under a key. Raises Unreadable if the key is missing."""
    if key not in item:
        raise Unreadable(f"its object has no key `{key}`")
    return item[key]


def required_list(item: Object, key: str) -> list[Any]:
    """The list under a key. Raises Unreadable if the key is missing or has no list."""
    value = required_value(item, key)
    if not isinstance(value, list):
        raise Unreadable(f"`{key}` is not a list")
    return value


def required_texts(item: Object, key: str) -> tuple[str, ...]:
    """The list of texts under a key, without blanks around each. Raises Unreadable, also for an empty text."""
    texts = []
    for text in required_list(item, key):
        if not isinstance(text, str) or not prose.has_words(text):
            raise Unreadable(f"`{key}` is not a list of texts")
        texts.append(text.strip())
    return tuple(texts)


def list_schema(
    key: str,
    item: Object,
    count: int | None = None,
    each: Sequence[Object] = (),
) -> Object:
    """JSON Schema of an object with a list of such items under ``key``. With ``count``, the list has exactly so many.

    ``each`` is the schema of every single item, in order, for the servers that accept ``prefixItems``.
    """
    list_type: dict[str, Any] = {"type": "array", "items": item}
    if count is not None:
        list_type["minItems"] = count
        list_type["maxItems"] = count
    if each:
        list_type["prefixItems"] = [*each]
    return object_schema(**{key: list_type})


def object_schema(**properties: Object) -> Object:
    """JSON Schema of an object with exactly these properties, in this order: put the reason before the verdict."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
