"""What a grader reads: its object, the last line or the lines that its classic prompt asks for, and what they mean to it."""

import math
import re
from collections.abc import Callable, Mapping
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
_NUMBER = re.compile(r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")


class Form(FrozenStruct, Generic[T]):
    """The forms of one question. Whichever a reply has, it becomes the object of ``schema``, and ``read`` takes that.

    ``read`` raises Unreadable. ``line`` is the declared last line; ``lines`` makes the object of a reply in which every line counts, each
    with one of ``marks``. ``texts`` is the key of a list of texts, which is no verdict: a JSON list is read, and the text under judgement
    does not matter.
    """

    schema: Object
    read: Callable[[Object], T]
    line: LastLine | None = None
    lines: Callable[[str], Object] | None = None
    texts: str = ""
    marks: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the object, in the order in which they are asked for."""
        return tuple(self.schema.get("properties", ()))


# --- what single values of the object mean --------------------------------------------------------------------


def truth(value: Any) -> bool | None:
    """True or False for a boolean or a word that means it, None for all else."""
    return value if isinstance(value, bool) else _TRUTHS.get(word(value))


def word(value: Any) -> str:
    """A text in lower case without blanks, brackets and a full stop around it; a boolean as its word; empty for all else."""
    if isinstance(value, bool):
        return str(value).lower()
    return prose.unwrapped(value).lower() if isinstance(value, str) else ""


def number(value: Any) -> float | None:
    """A finite number or numeric text as float, None for all else (booleans are not numbers)."""
    if isinstance(value, str):
        value = value.strip()
        return number(float(value)) if _NUMBER.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        converted = float(value)
    except OverflowError:
        return None
    return converted if math.isfinite(converted) else None


def words(value: Any) -> str:
    """A reason as text, whatever the grader put there."""
    return value.strip() if isinstance(value, str) else "" if value is None else str(value)


def reason(item: Object) -> str:
    """The reason under its key; empty where the grader gave none."""
    return words(item.get("reason"))


def entry(item: Object, key: str) -> Any:
    """The value of a key. Raises Unreadable where there is none."""
    if key not in item:
        raise Unreadable(f"its object has no key `{key}`")
    return item[key]


def table(item: Object, key: str) -> list[Any]:
    """The list under a key. Raises Unreadable."""
    value = entry(item, key)
    if not isinstance(value, list):
        raise Unreadable(f"`{key}` is not a list")
    return value


def texts(item: Object, key: str) -> tuple[str, ...]:
    """The texts under a key; the list may be empty, none of its texts may. Raises Unreadable."""
    listed = table(item, key)
    if not all(isinstance(text, str) and prose.has_words(text) for text in listed):
        raise Unreadable(f"`{key}` is not a list of texts")
    return tuple(text.strip() for text in listed)
