"""The form of a question: the object that a grader replies with, the classic forms that stand for it, and its values."""

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
    """The forms in which a reply to one question is a verdict. Each becomes an object of ``schema``, and ``read`` takes that.

    ``read`` raises Unreadable. ``last_line`` is the declared last line. ``read_lines`` makes the object of a reply in which
    every line counts, each with one of ``marks``. ``texts_key`` is the key of a list of texts, which is no verdict: a JSON
    list is read, too, and the text under judgement does not matter.
    """

    schema: Object
    read: Callable[[Object], T]
    last_line: LastLine | None = None
    read_lines: Callable[[str], Object] | None = None
    texts_key: str | None = None
    marks: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the object, in the order in which they are asked for."""
        return tuple(self.schema.get("properties", ()))


# --- what single values of the object mean --------------------------------------------------------------------


def parse_truth(value: Any) -> bool | None:
    """True or False for a boolean, or for a word that means one. None for anything else."""
    return value if isinstance(value, bool) else _TRUTHS.get(parse_word(value))


def parse_word(value: Any) -> str:
    """A text in lower case, without blanks, brackets and a full stop around it. Empty for anything but text and booleans."""
    if isinstance(value, bool):
        return str(value).lower()
    return prose.unwrap(value).lower() if isinstance(value, str) else ""


def parse_number(value: Any) -> float | None:
    """A finite number, or a numeric text, as float. None for anything else; a boolean is no number."""
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
    return reason.strip() if isinstance(reason, str) else str(reason)


def required_value(item: Object, key: str) -> Any:
    """The value under a key. Raises Unreadable if there is none."""
    if key not in item:
        raise Unreadable(f"its object has no key `{key}`")
    return item[key]


def required_list(item: Object, key: str) -> list[Any]:
    """The list under a key. Raises Unreadable."""
    value = required_value(item, key)
    if not isinstance(value, list):
        raise Unreadable(f"`{key}` is not a list")
    return value


def required_texts(item: Object, key: str) -> tuple[str, ...]:
    """The texts under a key. The list may be empty, a text may not. Raises Unreadable."""
    texts = required_list(item, key)
    if not all(isinstance(text, str) and prose.has_words(text) for text in texts):
        raise Unreadable(f"`{key}` is not a list of texts")
    return tuple(text.strip() for text in texts)
