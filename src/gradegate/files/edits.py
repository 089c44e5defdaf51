"""Changes a YAML or JSON file at the places of its values; the rest stays byte for byte.

The text and the values are changed side by side. If the new text does not read as the new values, for example because an
anchor shares them, it is not given out.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import yaml

from gradegate.core.provider_spec import NOTHING
from gradegate.errors import ConfigError, Origin
from gradegate.files import documents
from gradegate.structs import JsonObject, Struct

_LOADER: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
# The comment with a version after the commit of an action
_VERSION = re.compile(r"[ \t]+#[ \t]*v?\d[\w.+-]*[ \t]*(?=\r?$)", re.MULTILINE)
_BY_HAND = "write out what its anchors stand for, end it with one line break, and start again"
Steps = Sequence[str | int]


class Replacement(NamedTuple):
    """A new text for a part of the file."""

    start: int
    end: int
    text: str


class MappingChange(Struct):
    """The changes of one mapping."""

    dropped: set[str] = set()
    values: dict[str, Any] = {}  # to set or to add
    names: dict[str, str] = {}  # new names by the old ones


class Remarked(str):
    """A text with a comment after it, which replaces a version there."""

    __slots__ = ()
    remark = "put the commit of a release here"


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
        self._changes: dict[tuple[str | int, ...], MappingChange] = {}
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
        """Change a mapping: keys to leave out, values to set or to add, and new names of keys that keep their values."""
        mapping = self.wanted
        for step in path:
            mapping = mapping[step]
        changed = {}
        for key, value in mapping.items():
            if key not in drop:
                changed[rename.get(key, key)] = value
        mapping.clear()
        mapping.update({**changed, **put})

        change = self._changes.setdefault(tuple(path), MappingChange())
        change.dropped.update(drop)
        change.dropped.difference_update(put)
        change.values.update(put)
        change.names.update(rename)

    def result(self) -> str:
        """The text with all changes. Raises ConfigError if it would mean something else."""
        replacements: list[Replacement] = []
        # At the same place, the innermost change comes first.
        for path in sorted(self._changes, key=len, reverse=True):
            node = self._node_at(path)
            if isinstance(node, yaml.MappingNode):
                replacements += self._replace_in_mapping(node, self._changes[path])

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

    def _replace_in_mapping(self, node: Any, change: MappingChange) -> Iterator[Replacement]:
        added = dict(change.values)
        for key, value in node.value:
            if key.value in change.dropped:
                continue
            name = change.names.get(key.value, key.value)
            if name != key.value:
                yield Replacement(*self._span(key), json.dumps(name) if key.style else name)
            added.pop(name, None)
            if name in change.values:
                new = change.values[name]
                start, end = self._span(value)
                if isinstance(new, Mapping) and not node.flow_style:
                    start = len(self.text[:start].rstrip())
                if isinstance(new, Remarked) and (version := _VERSION.match(self.text, end)):
                    end = version.end()
                yield Replacement(start, end, self._format(new, node))
        if node.flow_style:
            yield from self._drop_and_add_in_flow(node, change.dropped, added)
        else:
            yield from self._drop_and_add_in_block(node, change.dropped, added)

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

    def _drop_and_add_in_block(
        self, node: Any, dropped: Collection[str], added: JsonObject
    ) -> Iterator[Replacement]:
        for (key, value), (next_key, _) in pairwise([*node.value, (None, None)]):
            if key.value not in dropped:
                continue
            start = key.start_mark.index
            line = self.text.rfind("\n", 0, start) + 1
            if not self.text[line:start].strip():
                yield Replacement(line, self._next_line(self._span(value)[1]), "")
            elif next_key is not None:  # after a dash, the next key takes the place
                yield Replacement(start, next_key.start_mark.index, "")

        indent = " " * node.start_mark.column
        end = self._next_line(self._span(node)[1])
        needs_newline = (
            bool(end)
            and self.text[end - 1] != "\n"
            and bool(added)
            and node.value[-1][0].value not in dropped
        )
        newline = "\n" if needs_newline else ""
        for key, value in added.items():
            text = self._format(value, node)
            space = "" if text.startswith("\n") else " "
            yield Replacement(end, end, f"{newline}{indent}{key}:{space}{text}\n")

    def _drop_and_add_in_flow(
        self, node: Any, dropped: Collection[str], added: JsonObject
    ) -> Iterator[Replacement]:
        """Between braces commas separate the entries, and none follows the last one."""
        end_of_kept = node.start_mark.index + 1
        dropped_start = None  # of the dropped entries right before this one
        has_kept = False
        for key, value in node.value:
            start = key.start_mark.index
            if key.value in dropped:
                if dropped_start is None:
                    dropped_start = start
                continue
            if dropped_start is not None:
                yield Replacement(dropped_start, start, "")
                dropped_start = None
            end_of_kept = self._span(value)[1]
            has_kept = True
        if dropped_start is not None:
            yield Replacement(end_of_kept, self._span(node.value[-1][1])[1], "")

        # New entries are on lines like those of the first one.
        first = node.value[0][0].start_mark.index if node.value else end_of_kept
        line = self.text.rfind("\n", 0, first) + 1
        indent = self.text[line:first]
        comma = f",\n{indent}" if line and not indent.strip() else ", "
        for key, value in added.items():
            separator = comma if has_kept else ""
            has_kept = True
            text = f"{separator}{json.dumps(key)}: {self._format(value, node)}"
            yield Replacement(end_of_kept, end_of_kept, text)

    def _format(self, value: Any, node: Any) -> str:
        """A value as it is written into a mapping: JSON between braces, plain if that reads as the same value."""
        if node.flow_style:
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, Remarked):
            return f"{_format_plain(value)} # {value.remark}"
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
