"""Reads YAML into plain data that remembers its lines, and refuses what only an attacker would write.

It uses PyYAML's event parser (libyaml where it is installed) and no loader. A loader keeps a node with two marks for
every scalar, five kilobytes for a test case, and notices neither duplicate keys nor alias bombs.
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
_EMPTY: Mapping[str, int] = {}
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
_PREFIX = "tag:yaml.org,2002:"  # of YAML's own tags
_COLLECTION_TAGS = (None, "!", f"{_PREFIX}map", f"{_PREFIX}seq")
_MAX_DIGITS = 1000
# Items of a list right below the keys of a file that have a line: prompts and providers
_MOST_LINES = 1_000
# Characters that are shown before and after the mark of a mistake
_BEFORE = 60
_AFTER = 40
# Version control leaves these marks in a file if both sides changed the same lines.
_MERGE_MARK = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)


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


# --- YAML -----------------------------------------------------------------------------------------------------


class NoYamlError(ConfigError):
    """A text is not YAML at all."""


def read_yaml(text: str, file: str) -> Any:
    """The value of one document. Raises ConfigError with file, line and column."""
    reader = _Reader(text, file)
    try:
        return reader.read_document()
    except yaml.MarkedYAMLError as e:
        raise NoYamlError(*reader.mistakes, _parser_mistake(text, file, e)) from e
    except yaml.reader.ReaderError as e:
        line = text.count("\n", 0, e.position) + 1
        what = f"not valid YAML: character {e.character!r} is not allowed"
        raise NoYamlError(*reader.mistakes, Mistake(what, Origin(file, line), "delete it")) from e


def _parse_plain(text: str) -> Any:
    """The value of a scalar without quotes and tag. Raises ValueError for a number with too many digits."""
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
    special = _SPECIAL.get(text.lower())
    return float(special) if special else text


class _Reader:
    """Turns the events of one document into values. Each value comes with its size, so that aliases have a price."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._text = text
        self._anchors: dict[str, tuple[Any, int]] = {}  # values with their sizes
        self._aliased = 0  # the size of all values that aliases repeat
        self._count = 0  # keys and values so far
        self._max_count = MAX_VALUES - READ.values
        self.mistakes: list[Mistake] = []
        self._keys: dict[str, str] = {}  # equal keys share one string

    def read_document(self) -> Any:
        self._events: Iterator[Any] = iter(_PARSER(self._text).get_event, None)
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                break
        else:
            return None
        value, _ = self._read_value(next(self._events), 0)
        READ.add_values(self._count)
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                what = "the file holds more than one YAML document"
                raise self._error(what, event, "keep one document to a file")
        if self.mistakes:
            raise ConfigError(*self.mistakes)
        return value

    def _read_value(self, event: Any, depth: int) -> tuple[Any, int]:
        """The value that starts with an event, and its size in values."""
        self._count += 1
        if self._count > self._max_count:
            READ.add_values(self._count)  # raises TooMuch
        if isinstance(event, AliasEvent):
            return self._repeat_value(event)

        if isinstance(event, ScalarEvent):
            value = self._read_scalar(event)
            size = 1 + len(event.value) // 128
        elif event.tag not in _COLLECTION_TAGS:
            raise self._unknown_tag(event)
        elif depth >= MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} levels", event, "flatten it")
        elif isinstance(event, SequenceStartEvent):
            value, size = self._read_sequence(event, depth)
        else:
            value, size = self._read_mapping(event, depth)
        if event.anchor:
            self._anchors[event.anchor] = value, size
        return value, size

    def _repeat_value(self, alias: Any) -> tuple[Any, int]:
        if alias.anchor not in self._anchors:
            what = f"the alias *{alias.anchor} has no anchor above it"
            cure = f"define &{alias.anchor} first, or put it in quotes if it is text"
            raise self._error(what, alias, cure)
        value, size = self._anchors[alias.anchor]
        self._aliased += size
        if self._aliased > MAX_ALIASED:
            what = "aliases multiply this file beyond its limit"
            raise self._error(what, alias, "write the values out")
        return value, size

    def _read_scalar(self, event: Any) -> Any:
        tag = event.tag
        if tag == "!" or (tag is None and not event.implicit[0]):
            return event.value
        kind = (tag or "").removeprefix(_PREFIX)
        if tag and kind not in _TAGS:
            raise self._unknown_tag(event)
        parse = _TAGS.get(kind) or _parse_plain
        try:
            return parse(event.value)
        except ValueError as e:
            if tag:
                what = f"{event.value!r} is not of the type {kind}"
                raise self._error(what, event, "write another value") from e
            # Python turns no more than 4,300 digits into a number.
            what = "a number with too many digits"
            raise self._error(what, event, "quote it if it is text") from e

    def _read_sequence(self, start: Any, depth: int) -> tuple[Seq, int]:
        items = Seq(start.start_mark.line + 1)
        lines = []
        total = 1
        for event in self._events:
            if isinstance(event, SequenceEndEvent):
                break
            value, size = self._read_value(event, depth + 1)
            items.append(value)
            total += size
            if depth == 1 and len(items) <= _MOST_LINES:
                lines.append(event.start_mark.line + 1)
        items.lines = tuple(lines)
        self._count += 1
        return items, total

    def _read_mapping(self, start: Any, depth: int) -> tuple[Map, int]:
        mapping = Map(start.start_mark.line + 1)
        lines = []
        merged = []  # mappings of `<<`
        total = 1
        for event in self._events:
            if isinstance(event, MappingEndEvent):
                break
            line = event.start_mark.line + 1
            if not isinstance(event, ScalarEvent):
                cure = "if it is a template, put it in quotes: '{{ name }}'"
                raise self._error("a key must be text, and is a list or a mapping", event, cure)
            key = self._keys.setdefault(event.value, event.value)
            value, size = self._read_value(next(self._events), depth + 1)
            total += size
            if key == "<<" and event.implicit[0]:
                sources = value if isinstance(value, Seq) else [value]
                if not all(isinstance(source, Map) for source in sources):
                    what = "`<<` merges mappings only"
                    raise self._error(what, event, "give it an alias of a mapping")
                merged += sources
            elif key in mapping:
                what = f"the key `{key}` occurs twice"
                self.mistakes.append(Mistake(what, Origin(self._file, line), "merge both into one"))
            else:
                mapping[key] = value
                lines.append(line)

        # The mapping's own keys win, wherever `<<` stands.
        for source in merged:
            for (key, value), line in zip(source.items(), source.lines, strict=True):
                if key not in mapping:
                    mapping[key] = value
                    lines.append(value.line if isinstance(value, Map) else line)
        mapping.lines = tuple(lines)
        self._count += 2 + len(lines)
        return mapping, total

    def _unknown_tag(self, event: Any) -> ConfigError:
        tag = event.tag.replace(_PREFIX, "!!")
        what = f"the tag `{tag}` is not supported"
        return self._error(what, event, "write the value without a tag")

    def _error(self, what: str, event: Any, cure: str) -> ConfigError:
        origin = Origin(self._file, event.start_mark.line + 1)
        return ConfigError(*self.mistakes, Mistake(what, origin, cure))


def _parser_mistake(text: str, file: str, error: Any) -> Mistake:
    """The mistake behind a MarkedYAMLError. Without a mark, it is about the file as a whole."""
    mark = error.problem_mark or error.context_mark
    message = " ".join(filter(None, (error.context, error.problem)))
    if mark is None:
        return Mistake(f"not valid YAML: {message}", Origin(file), "correct the YAML")
    if merge_mark := _MERGE_MARK.search(text):
        line_number = text.count("\n", 0, merge_mark.start()) + 1
        cure = "keep what is right of both, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`"
        return Mistake("a merge left its marks in the file", Origin(file, line_number), cure)

    lines = [*text.splitlines(), ""]
    line = lines[min(mark.line, len(lines) - 1)]
    what = message
    cure = "correct the YAML here"
    up_to_mark = line[: mark.column + 1]
    if "\t" in up_to_mark and not up_to_mark.strip():
        what = "a tab indents this line, and YAML takes spaces alone"
        cure = "indent it with spaces"
    elif "cannot start any token" in message:
        what = f"{_name_character(line[mark.column : mark.column + 1])} cannot begin a value"
        cure = "put the text in quotes"
    elif "nesting depth" in message:  # libyaml scans ahead of our count of levels
        what = f"nested deeper than {MAX_DEPTH} levels"
        cure = "flatten it"
    else:
        table = resources.files("gradegate.files").joinpath("yaml_errors.yaml").read_text("utf-8")
        for entry in yaml.safe_load(table):
            if entry["said"] in message:
                if entry["at"] == "start" and error.context_mark:
                    mark = error.context_mark
                    line = lines[min(mark.line, len(lines) - 1)]
                what = entry["what"]
                cure = entry["cure"]
                break
    what = f"not valid YAML, column {mark.column + 1}: {what}"
    return Mistake(what, Origin(file, mark.line + 1), cure, excerpt=_excerpt(line, mark.column))


def _name_character(character: str) -> str:
    if character == "\t":
        return "a tab"
    return f"`{character}`" if character.isprintable() else "this sign"


def _excerpt(line: str, column: int) -> str:
    """The part of a line around a column (from 0), with a mark below the column; tabs are shown as arrows."""
    start = max(0, column - _BEFORE)
    end = column + _AFTER
    before = "…" if start else ""
    after = "…" if end < len(line) else ""
    indent = " " * (len(before) + column - start)
    return f"{before}{line[start:end]}{after}\n{indent}^".replace("\t", "→")
