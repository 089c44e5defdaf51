"""Plain data that remembers its lines; reads YAML into it, and refuses what only an attacker would write.

Built on PyYAML's event parser (libyaml where it is installed) instead of its loader: a loader holds a node with two
marks for every scalar, five kilobytes for a test case, and knows neither duplicate keys nor alias bombs.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.limits import MAX_ALIASED, MAX_VALUES, READ
from gradegate.structs import JsonObject

MAX_DEPTH = 64
_UNCOUNTED: Mapping[str, int] = {}
_PARSER: Any = yaml.cyaml.CParser if yaml.__with_libyaml__ else yaml.Loader  # type: ignore[attr-defined]
# The core schema of YAML 1.2 (yaml.org/spec/1.2.2, 10.3.2), as js-yaml has it: `yes`, `no` and `on` are text.
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?[0-9]+$")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_SPECIAL = {".inf": "inf", "+.inf": "inf", "-.inf": "-inf", ".nan": "nan"}
_TAGS = {"str": str, "int": int, "float": float, "bool": None, "null": None}
_MAP, _SEQ = "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"
_MAX_DIGITS = 1000
_ITEMS = (
    1_000  # of a list right below the keys of a file, whose lines are kept: prompts and providers
)
_BEFORE, _AFTER = 60, 40  # characters that are shown around the mark of a mistake
# Version control leaves these in a file of which both sides changed the same lines.
_MERGE = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)


class Map(dict[str, Any]):
    """A mapping with the line it starts at, and the line of each key."""

    __slots__ = ("line", "lines", "places")

    def __init__(
        self, line: int, pairs: JsonObject = _UNCOUNTED, lines: Sequence[int] = ()
    ) -> None:
        super().__init__(pairs)
        self.line = line
        self.lines = lines
        self.places: Mapping[str, int] = _UNCOUNTED


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
            # Counted once: each of the keys may ask.
            if len(document.places) != len(document) or step not in document.places:
                document.places = {name: place for place, name in enumerate(document)}
            position = document.places[str(step)]
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


def origin_of(file: str, document: Any, *path: str | int) -> Origin:
    """The place of the value at a path in the document of a file; without a path, that of the document itself."""
    return Origin(file, line_of(document, path))


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


# --- YAML -----------------------------------------------------------------------------------------------------


class NoYamlError(ConfigError):
    """A text is no YAML at all."""


def read(text: str, file: str) -> Any:
    """The value of one document. Raises ConfigError with file, line and column."""
    reader = _Reader(text, file)
    try:
        return reader.document()
    except yaml.MarkedYAMLError as e:
        raise NoYamlError(*reader.mistakes, _mistake(text, file, e)) from e
    except yaml.reader.ReaderError as e:
        line = text.count("\n", 0, e.position) + 1
        what = f"not valid YAML: character {e.character!r} is not allowed"
        raise NoYamlError(*reader.mistakes, Mistake(what, Origin(file, line), "delete it")) from e


def _plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "0123456789+-.":
        return text
    if _INT.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    if text[:2] in ("0x", "0o"):
        try:
            number = int(text, 0)
        except ValueError:
            return text
        if len(text) > _MAX_DIGITS:  # such a number could not be written out again
            raise ValueError("too many digits")
        return number
    return float(_SPECIAL[text.lower()]) if text.lower() in _SPECIAL else text


class _Reader:
    """Turns events into values. ``_sizes`` counts the values below each anchor, so that aliases have a price."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._text = text
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._aliased = 0
        self._count, self._most = 0, MAX_VALUES - READ.values
        self.mistakes: list[Mistake] = []
        self._keys: dict[str, str] = {}  # one string for each distinct key

    def document(self) -> Any:
        self._events: Iterator[Any] = iter(_PARSER(self._text).get_event, None)
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                break
        else:
            return None
        value, _ = self._value(next(self._events), 0)
        READ.add_values(self._count)
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                what = "the file holds more than one YAML document"
                raise self._error(what, event, "keep one document to a file")
        if self.mistakes:
            raise ConfigError(*self.mistakes)
        return value

    def _value(self, event: Any, depth: int) -> tuple[Any, int]:
        """The value that starts with an event, and how many values it holds."""
        self._count += 1
        if self._count > self._most:
            READ.add_values(self._count)  # which says that it is too much
        if isinstance(event, ScalarEvent):
            value, size = self._scalar(event), 1 + len(event.value) // 128
        elif isinstance(event, AliasEvent):
            if event.anchor not in self._anchors:
                cure = f"define &{event.anchor} first, or put it in quotes if it is text"
                raise self._error(f"the alias *{event.anchor} has no anchor above it", event, cure)
            value, size = self._anchors[event.anchor]
            self._aliased += size
            if self._aliased > MAX_ALIASED:
                raise self._error(
                    "aliases multiply this file beyond its limit", event, "write the values out"
                )
            return value, size
        elif event.tag not in (None, "!", _MAP, _SEQ):
            raise self._strange_tag(event)
        elif depth >= MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} levels", event, "flatten it")
        elif isinstance(event, SequenceStartEvent):
            value, size = self._sequence(event, depth)
        else:
            value, size = self._mapping(event, depth)
        if event.anchor:
            self._anchors[event.anchor] = (value, size)
        return value, size

    def _scalar(self, event: Any) -> Any:
        tag = event.tag
        if tag == "!" or (tag is None and not event.implicit[0]):
            return event.value
        kind = (tag or "").removeprefix("tag:yaml.org,2002:")
        if tag and kind not in _TAGS:
            raise self._strange_tag(event)
        try:
            return (_TAGS.get(kind) or _plain)(event.value)
        except ValueError as e:  # Python turns no more than 4,300 digits into a number
            if tag:
                raise self._error(
                    f"{event.value!r} is not of the type {kind}", event, "write another value"
                ) from e
            raise self._error(
                "a number with too many digits", event, "quote it if it is text"
            ) from e

    def _sequence(self, start: Any, depth: int) -> tuple[Seq, int]:
        items, total, lines = Seq(start.start_mark.line + 1), 1, []
        for event in self._events:
            if isinstance(event, SequenceEndEvent):
                break
            value, size = self._value(event, depth + 1)
            items.append(value)
            total += size
            if depth == 1 and len(items) <= _ITEMS:
                lines.append(event.start_mark.line + 1)
        items.lines = tuple(lines)
        self._count += 1
        return items, total

    def _mapping(self, start: Any, depth: int) -> tuple[Map, int]:
        mapping, lines, merged, total = Map(start.start_mark.line + 1), [], [], 1
        for event in self._events:
            if isinstance(event, MappingEndEvent):
                break
            line = event.start_mark.line + 1
            if not isinstance(event, ScalarEvent):
                cure = "if it is a template, put it in quotes: '{{ name }}'"
                raise self._error("a key must be text, and is a list or a mapping", event, cure)
            key = self._keys.setdefault(event.value, event.value)
            value, size = self._value(next(self._events), depth + 1)
            total += size
            if key == "<<" and event.implicit[0]:
                sources = value if isinstance(value, Seq) else [value]
                if not all(isinstance(source, Map) for source in sources):
                    raise self._error(
                        "`<<` merges mappings only", event, "give it an alias of a mapping"
                    )
                merged += sources
            elif key in mapping:
                origin = Origin(self._file, line)
                what = f"the key `{key}` occurs twice"
                self.mistakes.append(Mistake(what, origin, "merge both into one"))
            else:
                mapping[key] = value
                lines.append(line)
        for source in merged:
            for (key, value), line in zip(source.items(), source.lines, strict=True):
                if key not in mapping:
                    mapping[key] = value
                    lines.append(value.line if isinstance(value, Map) else line)
        mapping.lines = tuple(lines)
        self._count += 2 + len(lines)
        return mapping, total

    def _strange_tag(self, event: Any) -> ConfigError:
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        return self._error(
            f"the tag `{tag}` is not supported", event, "write the value without a tag"
        )

    def _error(self, what: str, event: Any, cure: str) -> ConfigError:
        return ConfigError(
            *self.mistakes, Mistake(what, Origin(self._file, event.start_mark.line + 1), cure)
        )


def _mistake(text: str, file: str, error: Any) -> Mistake:
    """A MarkedYAMLError in words of people; it may have no mark, and then the file as a whole is meant."""
    mark = error.problem_mark or error.context_mark
    said = " ".join(filter(None, (error.context, error.problem)))
    if mark is None:
        return Mistake(f"not valid YAML: {said}", Origin(file), "correct the YAML")
    if conflict := _MERGE.search(text):
        at = text.count("\n", 0, conflict.start()) + 1
        cure = "keep what is right of both, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`"
        return Mistake("a merge left its marks in the file", Origin(file, at), cure)
    lines = [*text.splitlines(), ""]
    line, what, cure = lines[min(mark.line, len(lines) - 1)], said, "correct the YAML here"
    if "\t" in line[: mark.column + 1] and not line[: mark.column + 1].strip():
        what, cure = "a tab indents this line, and YAML takes spaces alone", "indent it with spaces"
    elif "cannot start any token" in said:
        sign = line[mark.column : mark.column + 1]
        shown = "a tab" if sign == "\t" else f"`{sign}`" if sign.isprintable() else "this sign"
        what, cure = f"{shown} cannot begin a value", "put the text in quotes"
    elif "nesting depth" in said:  # libyaml's own limit: it scans ahead of our count of levels
        what, cure = f"nested deeper than {MAX_DEPTH} levels", "flatten it"
    else:
        table = resources.files("gradegate.files").joinpath("yaml_errors.yaml").read_text("utf-8")
        for words in yaml.safe_load(table):
            if words["said"] in said:
                if words["at"] == "start" and error.context_mark:
                    mark = error.context_mark
                line = lines[min(mark.line, len(lines) - 1)]
                what, cure = words["what"], words["cure"]
                break
    # The line, or what is around the column (from 0), and a mark below that column; tabs are shown as arrows.
    start, end = max(0, mark.column - _BEFORE), mark.column + _AFTER
    excerpt = ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
    excerpt = f"{excerpt}\n{' ' * (mark.column - start + (start > 0))}^".replace("\t", "→")
    what = f"not valid YAML, column {mark.column + 1}: {what}"
    return Mistake(what, Origin(file, mark.line + 1), cure, excerpt=excerpt)
