"""Changes of a YAML or JSON file at the places of its values: what is not changed stays byte for byte.

The text is edited and the values are changed side by side; a text that does not read as these values afterwards, as where an anchor
shares them, is not given out.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import yaml

from gradegate.errors import ConfigError, Origin
from gradegate.files import documents as document
from gradegate.structs import JsonObject

_LOADER: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_VERSION = re.compile(
    r"[ \t]+#[ \t]*v?\d[\w.+-]*[ \t]*(?=\r?$)", re.MULTILINE
)  # behind the commit of an action
_BY_HAND = "write out what its anchors stand for, end it with one line break, and start again"
Steps = Sequence[str | int]
Replacement = tuple[int, int, str]  # from where to where in the text, and what takes the place


class Remarked(str):
    """A text with a comment behind it, which takes the place of a version there."""

    __slots__ = ()
    remark = "put the commit of a release here"


class Edits:
    """A file with the changes that are to be made to it. Raises ConfigError for one that cannot be read."""

    def __init__(self, content: bytes, file: str) -> None:
        self.values = document.read(content, file)
        self.wanted = json.loads(document.to_json(self.values))  # a copy in which nothing is shared
        whole = content.decode()
        # The byte order mark is no part of a YAML text.
        self.mark = whole[: whole.startswith("\ufeff")]
        self.text, self.file = whole.removeprefix(self.mark), file
        try:
            self._root = yaml.compose(self.text, Loader=_LOADER)
        except yaml.YAMLError as e:  # JSON with escapes that YAML does not know
            raise ConfigError.at(
                "its escapes cannot be changed here",
                Origin(file),
                "write them as plain signs, and start again",
            ) from e
        self._changes: dict[
            tuple[str | int, ...], tuple[set[str], dict[str, Any], dict[str, str]]
        ] = {}
        self._newline = "\r\n" if "\r\n" in self.text else "\n"

    def origin(self, path: Steps) -> Origin:
        """The place of a value."""
        return document.origin_of(self.file, self.values, *path)

    def change(
        self,
        path: Steps,
        drop: Collection[str] = (),
        put: JsonObject | None = None,
        rename: Mapping[str, str] | None = None,
    ) -> None:
        """Change a mapping: keys to leave out, values to set or to add, and new names of keys, whose values stay."""
        values, put, rename = self.wanted, put or {}, rename or {}
        for step in path:
            values = values[step]
        renamed = {rename.get(key, key): value for key, value in values.items() if key not in drop}
        values.clear()
        values.update({**renamed, **put})
        earlier = self._changes.setdefault(tuple(path), (set(), {}, {}))
        earlier[0].update(drop)
        earlier[0].difference_update(put)
        earlier[1].update(put)
        earlier[2].update(rename)

    def result(self) -> str:
        """The text with all changes. Raises ConfigError where it would mean something else than these."""
        edits: list[Replacement] = []
        # At one place, what is further inside comes first.
        for path in sorted(self._changes, key=len, reverse=True):
            node: Any = self._root
            for step in path:
                if isinstance(step, int):
                    node = node.value[step]
                else:
                    node = next((value for key, value in node.value if key.value == step), None)
                if node is None:  # what is inside something new is written with that
                    break
            if isinstance(node, yaml.MappingNode):
                edits += self._edits(node, *self._changes[path])
        text, last = [], 0
        for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
            text += [self.text[last:start], new.replace("\n", self._newline)]
            last = max(end, last)
        whole = "".join([*text, self.text[last:]])
        try:
            same = document.read(whole.encode(), self.file) == self.wanted
        except ConfigError:
            same = False
        if not same:
            what = "its form keeps this file from being changed by machine"
            raise ConfigError.at(what, Origin(self.file), _BY_HAND)
        return self.mark + whole

    def _edits(
        self, node: Any, drop: Collection[str], put: JsonObject, rename: Mapping[str, str]
    ) -> Iterator[Replacement]:
        there = set()
        for key, value in node.value:
            if key.value in drop:
                continue
            name = rename.get(key.value, key.value)
            there.add(name)
            if name != key.value:
                yield *self._span(key), json.dumps(name) if key.style else name
            if name in put:
                new = put[name]
                start, end = self._span(value)
                if isinstance(new, Mapping) and not node.flow_style:
                    start = len(self.text[:start].rstrip())
                if isinstance(new, Remarked) and (version := _VERSION.match(self.text, end)):
                    end = version.end()
                yield start, end, self._show(new, node)
        added = {key: value for key, value in put.items() if key not in there}
        yield from (self._in_flow if node.flow_style else self._in_block)(node, drop, added)

    def _span(self, node: Any) -> tuple[int, int]:
        """Where a value stands, without blank lines and comments that follow it."""
        while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            start = node.start_mark.index
            last = node.value[-1]
            return start, self._span(last[1] if isinstance(last, tuple) else last)[1]
        start, end = node.start_mark.index, node.end_mark.index
        return start, max(start, len(self.text[:end].rstrip())) if end > start else end

    def _in_block(
        self, node: Any, drop: Collection[str], added: JsonObject
    ) -> Iterator[Replacement]:
        for (key, value), after in pairwise([*node.value, (None, None)]):
            if key.value not in drop:
                continue
            start, end = key.start_mark.index, self._span(value)[1]
            line, below = self.text.rfind("\n", 0, start) + 1, self._below(end)
            if not self.text[line:start].strip():
                yield line, below, ""
            elif after[0] is not None:  # the key stands behind a dash: the next one takes its place
                yield start, after[0].start_mark.index, ""
        indent = " " * node.start_mark.column
        at = self._below(self._span(node)[1])
        for key, value in added.items():
            shown = self._show(value, node)
            space = "" if shown.startswith("\n") else " "
            before = "\n"
            if not at or self.text[at - 1] == "\n" or node.value[-1][0].value in drop:
                before = ""
            yield at, at, f"{before}{indent}{key}:{space}{shown}\n"

    def _below(self, end: int) -> int:
        """Where the line below a place begins."""
        return (self.text.find("\n", end) + 1) or len(self.text)

    def _in_flow(
        self, node: Any, drop: Collection[str], added: JsonObject
    ) -> Iterator[Replacement]:
        """Between braces commas separate, and the last entry has none behind it."""
        last = node.start_mark.index + 1
        left = [pair for pair in node.value if pair[0].value not in drop]
        gone = None
        for key, value in node.value:
            if key.value in drop:
                gone = key.start_mark.index if gone is None else gone
                continue
            if gone is not None:
                yield gone, key.start_mark.index, ""
            gone, last = None, self._span(value)[1]
        if gone is not None:
            yield last, self._span(node.value[-1][1])[1], ""
        first = node.value[0][0].start_mark.index if node.value else last
        line = self.text.rfind("\n", 0, first) + 1
        own = self.text[line:first]
        comma = f",\n{own}" if line and not own.strip() else ", "
        for position, (key, value) in enumerate(added.items()):
            before = comma if left or position else ""
            yield last, last, f"{before}{json.dumps(key)}: {self._show(value, node)}"

    def _show(self, value: Any, node: Any) -> str:
        """A value as it is written into a mapping: JSON between braces, plain where that is the same text."""
        indent = " " * node.start_mark.column
        if node.flow_style:
            return json.dumps(value, ensure_ascii=False)
        if isinstance(value, Mapping) and not any(
            isinstance(item, Mapping | list) for item in value.values()
        ):
            return "".join(f"\n{indent}  {key}: {_plain(item)}" for key, item in value.items())
        if isinstance(value, Remarked):
            return f"{_plain(value)} # {value.remark}"
        return _plain(value) if not isinstance(value, Mapping | list) else _inline(value)


def _inline(value: Any) -> str:
    """Braces and brackets in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return _plain(value, "[{}]")


def _plain(value: Any, within: str = "{}") -> str:
    """A value without quotes where it reads as itself."""
    text = value if isinstance(value, str) else json.dumps(value)
    try:
        read = document.read(f"x: {within.replace('{}', text)}\n".encode(), "x")
    except ConfigError:
        read = None
    return text if read in ({"x": value}, {"x": [value]}) else json.dumps(value, ensure_ascii=False)
