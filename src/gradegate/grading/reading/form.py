"""What a grader reads: its object, the last line or the lines that its classic prompt asks for, and what they mean to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gradegate.grading.reading.line import LastLine

T = TypeVar("T")
Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """The forms of one question. Whichever a reply has, it becomes the object of ``schema``, and ``read`` takes that.

    ``read`` raises Unreadable. ``line`` is the declared last line; ``lines`` makes the object of a reply in which every line counts, each
    with one of ``marks``. ``texts`` is the key of a list of texts, which is no verdict: a JSON list is read, and the text under judgement
    does not matter. ``object_only``: a prompt of the user's asks for the object, too, so that the schema can go with it.
    """

    schema: Mapping[str, Any]
    read: Callable[[Object], T]
    line: LastLine | None = None
    lines: Callable[[str], Object] | None = None
    texts: str = ""
    marks: tuple[str, ...] = ()
    object_only: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the object, in the order in which they are asked for."""
        return tuple(self.schema.get("properties", ()))

    def listed(self, texts: Any) -> Any:
        """A JSON list in place of the object: the list of ``texts``, or the one text where the schema has one."""
        is_one = self.schema["properties"][self.texts]["type"] == "string" and isinstance(texts, list) and len(texts) == 1
        return texts[0] if is_one else texts

    @property
    def all_keys(self) -> tuple[str, ...]:
        """The keys of the object and of the objects in it."""
        return tuple(dict.fromkeys(_keys(self.schema)))


def _keys(schema: Mapping[str, Any]) -> Iterator[str]:
    for key, inner in schema.get("properties", {}).items():
        yield key
        yield from _keys(inner)
    if "items" in schema:
        yield from _keys(schema["items"])
