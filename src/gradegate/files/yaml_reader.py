"""Reads YAML into plain data that remembers its lines, and refuses what only an attacker would write.

It uses PyYAML's event parser (libyaml where it is installed) and no loader. A loader keeps a node with two marks for
every scalar, five kilobytes for a test case, and notices neither duplicate keys nor alias bombs.
"""

import re
from collections.abc import Iterator
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
from gradegate.files.line_numbers import Map, Seq

MAX_DEPTH = 64
_PARSER: Any = yaml.cyaml.CParser if yaml.__with_libyaml__ else yaml.Loader  # type: ignore[attr-defined]
# The core schema of YAML 1.2 (yaml.org/spec/1.2.2, 10.3.2), as js-yaml has it: `yes`, `no` and `on` are text.
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?[0-9]+$")
# Such as 1.5, .5, 2. and 1e-3
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
_SPECIAL = {".inf": "inf", "+.inf": "inf", "-.inf": "-inf", ".nan": "nan"}
_TAGS = {"str": str, "int": int, "float": float, "bool": None, "null": None}
_PREFIX = "tag:yaml.org,2002:"  # of YAML's own tags
_COLLECTION_TAGS = (None, "!", f"{_PREFIX}map", f"{_PREFIX}seq")
_MAX_DIGITS = 1000
# A value with its size: the values in it, as `MAX_ALIASED` counts them
_Sized = tuple[Any, int]
# Items of a list right below the keys of a file that have a line: prompts and providers
_MOST_LINES = 1_000
# Characters that are shown before and after the mark of a mistake
_BEFORE = 60
_AFTER = 40
# Version control leaves these marks in a file if both sides changed the same lines.
_MERGE_MARK = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)


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


class _Reader:
    """Turns the events of the parser into the values of one document."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._text = text
        self._events: Iterator[Any] = iter(())  # that are still to be read
        self._anchors: dict[str, _Sized] = {}
        self._repeated = 0  # the size of all values that aliases repeat
        self._count = 0  # keys and values so far
        self._max_count = MAX_VALUES - READ.values
        self._keys: dict[str, str] = {}  # equal keys share one string
        self.mistakes: list[Mistake] = []

    def read_document(self) -> Any:
        """The value of the only document; None for an empty text. Raises ConfigError, TooMuch and the errors of PyYAML."""
        self._events = iter(_PARSER(self._text).get_event, None)
        if self._skip_to_document() is None:
            return None
        value, _ = self._read_value(next(self._events), 0)
        READ.add_values(self._count)

        second_document = self._skip_to_document()
        if second_document is not None:
            what = "the file holds more than one YAML document"
            raise self._error(what, second_document, "keep one document to a file")
        if self.mistakes:
            raise ConfigError(*self.mistakes)
        return value

    def _skip_to_document(self) -> Any:
        """Skip all events up to the start of a document, and return that event. None at the end of the text."""
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                return event
        return None

    def _read_value(self, event: Any, depth: int) -> _Sized:
        """Read the value that starts with an event, inside of ``depth`` mappings and lists."""
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

    def _repeat_value(self, alias: Any) -> _Sized:
        """The value that an alias stands for."""
        if alias.anchor not in self._anchors:
            what = f"the alias *{alias.anchor} has no anchor above it"
            cure = f"define &{alias.anchor} first, or put it in quotes if it is text"
            raise self._error(what, alias, cure)
        value, size = self._anchors[alias.anchor]
        self._repeated += size
        if self._repeated > MAX_ALIASED:
            what = "aliases multiply this file beyond its limit"
            raise self._error(what, alias, "write the values out")
        return value, size

    def _read_scalar(self, event: Any) -> Any:
        tag = event.tag
        is_plain = event.implicit[0]  # without quotes
        if tag == "!" or (tag is None and not is_plain):
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
        """Read a list up to its end."""
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
        """Read a mapping up to its end. A key that occurs twice is noted as a mistake."""
        mapping = Map(start.start_mark.line + 1)
        lines: list[int] = []
        merge_sources: list[Any] = []  # mappings of `<<`
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
                merge_sources += sources
            elif key in mapping:
                what = f"the key `{key}` occurs twice"
                self.mistakes.append(Mistake(what, Origin(self._file, line), "merge both into one"))
            else:
                mapping[key] = value
                lines.append(line)

        # The mapping's own keys win, wherever `<<` stands.
        for source in merge_sources:
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
        """A mistake that ends the reading, with all that were noted before it."""
        origin = Origin(self._file, event.start_mark.line + 1)
        return ConfigError(*self.mistakes, Mistake(what, origin, cure))


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


# --- what a mistake of the parser says ------------------------------------------------------------------------


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
