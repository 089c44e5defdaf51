"""Plain data that remembers the lines of its file: mappings, lists, and the place of any value in them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gradegate.errors import Origin
from gradegate.structs import JsonObject

_EMPTY: Mapping[str, int] = {}


class Map(dict[str, Any]):
    """A mapping with the line it starts at, and the line of each key."""

    __slots__ = ("line", "lines", "places")

    def __init__(self, line: int, pairs: JsonObject = _EMPTY, lines: Sequence[int] = ()) -> None:
        super().__init__(pairs)
        self.line = line
        self.lines = lines
        self.places: Mapping[str, int] = _EMPTY


class Seq(list[Any]):
    """A list with the line it starts at; right below the keys of a file, also with the lines of its first items."""

    __slots__ = ("line", "lines")

    def __init__(self, line: int, items: Iterable[Any] = ()) -> None:
        super().__init__(items)
        self.line = line
        self.lines: Sequence[int] = ()


def line_of(document: Any, path: Sequence[str | int]) -> int:
    """The line of the value at a path, or of the nearest thing around it that has one."""
    line = getattr(document, "line", 0)
    value = document
    for step in path:
        if isinstance(value, Map) and step in value:
            # The positions of keys are kept, because each key may ask for its line.
            if len(value.places) != len(value) or step not in value.places:
                value.places = {name: position for position, name in enumerate(value)}
            position = value.places[str(step)]
            item = value[str(step)]
        elif isinstance(value, Seq) and isinstance(step, int) and 0 <= step < len(value):
            position = step
            item = value[step]
        else:
            break
        if position < len(value.lines):
            line = value.lines[position]
        if isinstance(item, Map):
            line = item.line
        value = item
    return int(line)


def origin_of(file: str, document: Any, *path: str | int) -> Origin:
    """The place of the value at a path in the document of a file, or of the document itself."""
    return Origin(file, line_of(document, path))


def at_line(value: Any, line: int, levels: int = -1) -> Any:
    """Plain data with ``line`` as the line of every mapping and list.

    Raises RecursionError for more than ``levels`` levels of mappings and lists; -1 allows any number.
    """
    if not isinstance(value, dict | list):
        return value
    if levels == 0:
        raise RecursionError("nested too deeply")
    if isinstance(value, dict):
        mapping = Map(line, lines=(line,) * len(value))
        for key, item in value.items():
            mapping[key] = at_line(item, line, levels - 1)
        return mapping
    return Seq(line, (at_line(item, line, levels - 1) for item in value))
