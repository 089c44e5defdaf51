"""Plain data that remembers its lines: what YAML and JSON files are read into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MAX_DEPTH = 64
_UNCOUNTED: Mapping[str, int] = {}


class Map(dict[str, Any]):
    """A mapping with the line it starts at, and the line of each key."""

    __slots__ = ("line", "lines", "places")

    def __init__(self, line: int, pairs: Mapping[str, Any] = _UNCOUNTED, lines: Sequence[int] = ()) -> None:
        super().__init__(pairs)
        self.line = line
        self.lines = lines
        self.places: Mapping[str, int] = _UNCOUNTED

    def place(self, key: str) -> int:
        """Which of the keys one is, from 0."""
        if len(self.places) != len(self) or key not in self.places:  # counted once: each of the keys may ask
            self.places = {name: place for place, name in enumerate(self)}
        return self.places[key]


class Seq(list[Any]):
    """A list with the line it starts at; one right below the keys of a file has those of its first items."""

    __slots__ = ("line", "lines")

    def __init__(self, line: int, items: Iterable[Any] = ()) -> None:
        super().__init__(items)
        self.line = line
        self.lines: Sequence[int] = ()


def line_of(document: Any, path: Sequence[str | int]) -> int:
    """The line of the value at a path, or of the nearest thing around it that has one."""
    line = getattr(document, "line", 0)
    for step in path:
        if isinstance(document, Map) and step in document:
            position = document.place(str(step))
            if position < len(document.lines):
                line = document.lines[position]
            document = document[str(step)]
        elif isinstance(document, Seq) and isinstance(step, int) and 0 <= step < len(document):
            line = document.lines[step] if step < len(document.lines) else line
            document = document[step]
        else:
            break
        line = getattr(document, "line", line) if isinstance(document, Map) else line
    return int(line)


def at_line(value: Any, line: int, levels: int = -1) -> Any:
    """Plain data, every mapping and list of which is said to start at ``line``.

    Raises RecursionError for more than ``levels`` levels of mappings and lists; -1 is any number.
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
