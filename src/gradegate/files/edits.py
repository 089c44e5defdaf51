"""Changes a YAML or JSON file at the places of its values; the rest stays byte for byte.

The text and the values are changed side by side. If the new text does not read as the new values, for example because an
anchor shares them, it is not given out.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple, Self

import yaml

from gradegate.core.provider_spec import NOTHING
from gradegate.errors import ConfigError, Origin
from gradegate.files import documents
from gradegate.structs import JsonObject, Struct

_LOADER: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
# The comment with a version after the commit of an action, such as ` # v1.2.0`
_VERSION = re.compile(r"[ \t]+#[ \t]*v?\d[\w.+-]*[ \t]*(?=\r?$)", re.MULTILINE)
_BY_HAND = "write out what its anchors stand for, end it with one line break, and start again"
Steps = Sequence[str | int]


class CommentedText(str):
    """A text that is written with a comment after it, or without one if ``comment`` is empty.

    Either way, a comment with a version that stands there goes.
    """

    __slots__ = ("comment",)
    comment: str

    def __new__(cls, text: str, comment: str) -> Self:
        """Make a text with its comment."""
        commented = super().__new__(cls, text)
        commented.comment = comment
        return commented


class _Replacement(NamedTuple):
    """A new text for a part of the file."""

    start: int
    end: int
    text: str


class _Entry(NamedTuple):
    """Where a key and its value are in the text."""

    name: str
    start: int
    key_end: int
    value_start: int
    end: int  # without blanks and comments after the value
    is_quoted: bool  # the key is in quotes


class _MappingChange(Struct):
    """The changes of one mapping."""

    dropped: set[str] = set()
    values: dict[str, Any] = {}  # to set or to add
    names: dict[str, str] = {}  # new names by the old ones


class Edits:
    """A file with the changes that are to be made. Raises ConfigError if the file cannot be read."""

    def __init__(self, content: bytes, file: str) -> None:
        self.file = file
        self.values = documents.read(content, file)
        # A copy in which nothing is shared
        self.wanted = json.loads(documents.to_json(self.values))
        text = content.decode()
        # A byte order mark is no part of the YAML text.
        self.mark = "\ufeff" if text.startswith("\ufeff") else ""
        self.text = text.removeprefix(self.mark)
        try:
            self._root = yaml.compose(self.text, Loader=_LOADER)
        except yaml.YAMLError as e:  # JSON with escapes that YAML does not know
            what = "its escapes cannot be changed here"
            cure = "write them as plain signs, and start again"
            raise ConfigError.at(what, Origin(file), cure) from e
        self._changes: dict[tuple[str | int, ...], _MappingChange] = {}
        self._newline = "\r\n" if "\r\n" in self.text else "\n"

    def origin(self, path: Steps) -> Origin:
        """The place of a value."""
        return documents.origin_of(self.file, self.values, *path)

    def change(
        self,
        path: Steps,
        drop: Collection[str] = (),
        put: JsonObject = NOTHING,
        rename: Mapping[str, str] = NOTHING,
    ) -> None:
        """Change the mapping at a path.

        ``drop`` has keys to leave out, ``put`` values to set or to add, ``rename`` new names by the old ones.
        """
        mapping = self.wanted
        for step in path:
            mapping = mapping[step]
        changed = {}
        for key, value in mapping.items():
            if key not in drop:
                changed[rename.get(key, key)] = value
        mapping.clear()
        mapping.update({**changed, **put})

        change = self._changes.setdefault(tuple(path), _MappingChange())
        change.dropped.update(drop)
        change.dropped.difference_update(put)
        change.values.update(put)
        change.names.update(rename)

    def result(self) -> str:
        """The text with all changes. Raises ConfigError if it would mean something else."""
        replacements: list[_Replacement] = []
        # At the same place, the innermost change comes first.
        for path in sorted(self._changes, key=len, reverse=True):
            node = self._node_at(path)
            if isinstance(node, yaml.MappingNode):
                replacements += self._change_mapping(node, self._changes[path])

        parts = []
        position = 0
        for start, end, new in sorted(replacements, key=itemgetter(0, 1)):
            parts += [self.text[position:start], new.replace("\n", self._newline)]
            position = max(end, position)
        text = "".join([*parts, self.text[position:]])
        try:
            is_right = documents.read(text.encode(), self.file) == self.wanted
        except ConfigError:
            is_right = False
        if not is_right:
            what = "its form keeps this file from being changed by machine"
            raise ConfigError.at(what, Origin(self.file), _BY_HAND)
        return self.mark + text

    def _node_at(self, path: Steps) -> Any:
        """The node at a path; None inside of something new, which is written as a whole."""
        node: Any = self._root
        for step in path:
            if isinstance(step, int):
                node = node.value[step]
                continue
            members = {key.value: value for key, value in reversed(node.value)}
            if step not in members:
                return None
            node = members[step]
        return node

    def _change_mapping(self, node: Any, change: _MappingChange) -> Iterator[_Replacement]:
        """The replacements for all changes of a mapping."""
        entries = [self._locate_entry(key, value) for key, value in node.value]
        kept = [entry for entry in entries if entry.name not in change.dropped]
        added = dict(change.values)
        for entry in kept:
            name = change.names.get(entry.name, entry.name)
            if name != entry.name:
                text = json.dumps(name) if entry.is_quoted else name
                yield _Replacement(entry.start, entry.key_end, text)
            added.pop(name, None)
            if name in change.values:
                yield self._change_value(node, entry, change.values[name])

        if node.flow_style:
            yield from self._change_flow_mapping(node, entries, kept, added)
        else:
            yield from self._change_block_mapping(node, entries, kept, added)

    def _change_value(self, node: Any, entry: _Entry, value: Any) -> _Replacement:
        start = entry.value_start
        end = entry.end
        if isinstance(value, Mapping) and not node.flow_style:
            start = len(self.text[:start].rstrip())  # its text begins with a line break
        if isinstance(value, CommentedText) and (version := _VERSION.match(self.text, end)):
            end = version.end()
        return _Replacement(start, end, self._format(value, node))

    def _change_block_mapping(
        self, node: Any, entries: Sequence[_Entry], kept: Sequence[_Entry], added: JsonObject
    ) -> Iterator[_Replacement]:
        """Remove the lines of entries that are not kept, and add lines at the end.

        An entry after the dash of a list has no line of its own: the next entry takes its place.
        """
        for number, entry in enumerate(entries, 1):
            if entry in kept:
                continue
            line_start = self.text.rfind("\n", 0, entry.start) + 1
            is_first_in_line = not self.text[line_start : entry.start].strip()
            if is_first_in_line:
                yield _Replacement(line_start, self._next_line(entry.end), "")
            elif number < len(entries):
                yield _Replacement(entry.start, entries[number].start, "")

        indent = " " * node.start_mark.column
        end = self._next_line(self._span(node)[1])
        # The last line of a file may have no line break.
        keeps_last_line = entries[-1:] == kept[-1:]
        has_line_break = self.text[:end].endswith("\n")
        line_break = "\n" if end and keeps_last_line and not has_line_break else ""
        for name, value in added.items():
            text = self._format(value, node)
            space = "" if text.startswith("\n") else " "
            yield _Replacement(end, end, f"{line_break}{indent}{name}:{space}{text}\n")

    def _change_flow_mapping(
        self, node: Any, entries: Sequence[_Entry], kept: Sequence[_Entry], added: JsonObject
    ) -> Iterator[_Replacement]:
        """Remove entries between braces with the commas around them, and add entries after the last one that is kept."""
        end_of_kept = kept[-1].end if kept else node.start_mark.index + 1
        for entry, next_entry in pairwise(entries):
            if entry not in kept and entry.start < end_of_kept:
                yield _Replacement(entry.start, next_entry.start, "")
        if entries and entries[-1] not in kept:
            yield _Replacement(end_of_kept, entries[-1].end, "")

        # New entries are on lines of their own if the first entry is.
        first = entries[0].start if entries else end_of_kept
        line_start = self.text.rfind("\n", 0, first) + 1
        indent = self.text[line_start:first]
        has_own_line = line_start > 0 and not indent.strip()
        comma = f",\n{indent}" if has_own_line else ", "
        separator = comma if kept else ""
        for name, value in added.items():
            text = f"{separator}{json.dumps(name)}: {self._format(value, node)}"
            yield _Replacement(end_of_kept, end_of_kept, text)
            separator = comma

    def _locate_entry(self, key: Any, value: Any) -> _Entry:
        start, key_end = self._span(key)
        value_start, end = self._span(value)
        return _Entry(key.value, start, key_end, value_start, end, is_quoted=bool(key.style))

    def _span(self, node: Any) -> tuple[int, int]:
        """The start and the end of a value, without blank lines and comments after it."""
        start = node.start_mark.index
        while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            node = last[1] if isinstance(last, tuple) else last
        inner_start = node.start_mark.index
        end = node.end_mark.index
        if end > inner_start:
            end = max(inner_start, len(self.text[:end].rstrip()))
        return start, end

    def _next_line(self, position: int) -> int:
        """The start of the next line."""
        return (self.text.find("\n", position) + 1) or len(self.text)

    def _format(self, value: Any, node: Any) -> str:
        """A value as it is written into a mapping: JSON between braces, plain if that reads as the same value."""
        if node.flow_style:
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, CommentedText) and value.comment:
            return f"{_format_plain(value)} # {value.comment}"
        if isinstance(value, Mapping):
            is_nested = any(isinstance(item, Mapping | list) for item in value.values())
            if is_nested:
                return _format_inline(value)
            indent = " " * node.start_mark.column
            lines = [f"\n{indent}  {key}: {_format_plain(item)}" for key, item in value.items()]
            return "".join(lines)
        return _format_inline(value) if isinstance(value, list) else _format_plain(value)


def _format_inline(value: Any) -> str:
    """Braces and brackets on one line."""
    if isinstance(value, Mapping):
        entries = [f"{key}: {_format_inline(item)}" for key, item in value.items()]
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_format_inline, value)) + "]"
    return _format_plain(value, "[{}]")


def _format_plain(value: Any, context: str = "{}") -> str:
    """A value without quotes, if it reads as itself in this context."""
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        read = documents.read(f"x: {context.replace('{}', text)}\n".encode(), "x")
    except ConfigError:
        read = None
    return text if read in ({"x": value}, {"x": [value]}) else json.dumps(value, ensure_ascii=False)
