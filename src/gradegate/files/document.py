"""Reads YAML and JSON into plain data that remembers its lines, and refuses what only an attacker would write.

Built on PyYAML's event parser (libyaml where it is installed) instead of its loader: a loader holds a node with two
marks for every scalar, five kilobytes for a test case, and knows neither duplicate keys nor alias bombs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from json.decoder import JSONArray, JSONObject, scanstring  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any

import yaml

from gradegate.errors import ConfigError, Mistake, Origin

MAX_BYTES = 64 * 1024 * 1024
MAX_DEPTH = 64
MAX_ALIASED = 1_000_000  # values that aliases may stand for, all together
_PARSER: Any = yaml.cyaml.CParser if yaml.__with_libyaml__ else yaml.Loader  # type: ignore[attr-defined]


class Map(dict[str, Any]):
    """A mapping with the line it starts at, and the line of each key."""

    __slots__ = ("line", "lines")

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line
        self.lines: Sequence[int] = ()


class Seq(list[Any]):
    """A list with the line it starts at."""

    __slots__ = ("line",)

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


def line_of(document: Any, path: Sequence[str | int]) -> int:
    """The line of the value at a path, or of the nearest thing around it that has one."""
    line = getattr(document, "line", 0)
    for step in path:
        if isinstance(document, Map) and step in document:
            position = list(document).index(str(step))
            if position < len(document.lines):
                line = document.lines[position]
            document = document[str(step)]
        elif isinstance(document, Seq) and isinstance(step, int) and 0 <= step < len(document):
            document = document[step]
        else:
            break
        line = getattr(document, "line", line) if isinstance(document, Map) else line
    return int(line)


def read(content: bytes, file: str) -> Any:
    """YAML or, where the name ends in .json, JSON. Raises ConfigError with file, line and column."""
    if len(content) > MAX_BYTES:
        raise ConfigError.at(
            f"the file has more than {MAX_BYTES >> 20} MiB", Origin(file), "split it into several files"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = content[: e.start].count(b"\n") + 1
        raise ConfigError.at("the file is not UTF-8 text", Origin(file, line), "save it as UTF-8") from e
    if file.endswith(".json"):
        return _read_json(text, file)
    return _Reader(text, file).document()


# --- YAML -----------------------------------------------------------------------------------------------------

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
            return int(text, 0)
        except ValueError:
            return text
    return float(_SPECIAL[text.lower()]) if text.lower() in _SPECIAL else text


class _Reader:
    """Turns events into values. ``_sizes`` counts the values below each anchor, so that aliases have a price."""

    def __init__(self, text: str, file: str) -> None:
        self._file = file
        self._events = self._parse(text)
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._aliased = 0
        self._mistakes: list[Mistake] = []
        self._keys: dict[str, str] = {}  # one string for each distinct key

    def document(self) -> Any:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                break
        else:
            return None
        value, _ = self._value(next(self._events), 0)
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                line = event.start_mark.line + 1  # type: ignore[union-attr]  # events of a parser have marks
                raise self._error("the file holds more than one YAML document", line, "keep one document to a file")
        if self._mistakes:
            raise ConfigError(*self._mistakes)
        return value

    def _parse(self, text: str) -> Iterator[Any]:
        try:
            parser = _PARSER(text)
            while parser.check_event():
                yield parser.get_event()
        except yaml.MarkedYAMLError as e:
            mark = e.problem_mark or e.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
            problem = " ".join(filter(None, (e.context, e.problem)))
            raise self._error(f"not valid YAML, column {column}: {problem}", line, "mend the YAML here") from e
        except yaml.reader.ReaderError as e:
            line = text.count("\n", 0, e.position) + 1
            raise self._error(f"not valid YAML: character {e.character!r} is not allowed", line, "delete it") from e

    def _value(self, event: Any, depth: int) -> tuple[Any, int]:
        """The value that starts with an event, and how many values it holds."""
        if isinstance(event, yaml.ScalarEvent):
            value, size = self._scalar(event), 1
        elif isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        elif event.tag not in (None, "!", _MAP, _SEQ):
            raise self._strange_tag(event)
        elif depth >= MAX_DEPTH:
            line = event.start_mark.line + 1
            raise self._error(f"nested deeper than {MAX_DEPTH} levels", line, "flatten it")
        elif isinstance(event, yaml.SequenceStartEvent):
            value, size = self._sequence(event, depth)
        else:
            value, size = self._mapping(event, depth)
        if event.anchor:
            self._anchors[event.anchor] = (value, size)
        return value, size

    def _scalar(self, event: Any) -> Any:
        if event.tag is None or event.tag == "!":
            return _plain(event.value) if event.implicit[0] and event.tag is None else event.value
        kind = event.tag.removeprefix("tag:yaml.org,2002:")
        if kind not in _TAGS:
            raise self._strange_tag(event)
        convert = _TAGS[kind]
        try:
            return convert(event.value) if convert else _plain(event.value)
        except ValueError as e:
            line = event.start_mark.line + 1
            raise self._error(f"{event.value!r} is no {kind}", line, "write another value") from e

    def _alias(self, event: Any) -> tuple[Any, int]:
        line = event.start_mark.line + 1
        if event.anchor not in self._anchors:
            raise self._error(
                f"the alias *{event.anchor} has no anchor above it", line, f"define &{event.anchor} first"
            )
        value, size = self._anchors[event.anchor]
        self._aliased += size
        if self._aliased > MAX_ALIASED:
            raise self._error("aliases multiply this file beyond its limit", line, "write the values out")
        return value, size

    def _sequence(self, start: Any, depth: int) -> tuple[Seq, int]:
        items, total = Seq(start.start_mark.line + 1), 1
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            value, size = self._value(event, depth + 1)
            items.append(value)
            total += size
        return items, total

    def _mapping(self, start: Any, depth: int) -> tuple[Map, int]:
        mapping, lines, merged, total = Map(start.start_mark.line + 1), [], [], 1
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            line = event.start_mark.line + 1
            key = self._key(event)
            value, size = self._value(next(self._events), depth + 1)
            total += size
            if key == "<<" and event.implicit[0]:
                merged.extend(self._merged(value, line))
            elif key in mapping:
                self._mistakes.append(Mistake(f"the key `{key}` stands twice", Origin(self._file, line), "keep one"))
            else:
                mapping[key] = value
                lines.append(line)
        for source in merged:
            for key in source:
                if key not in mapping:
                    mapping[key] = source[key]
                    lines.append(line_of(source, [key]))
        mapping.lines = tuple(lines)
        return mapping, total

    def _key(self, event: Any) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise self._error("a key must be text", event.start_mark.line + 1, "quote it if it holds {{ }}")
        return self._keys.setdefault(event.value, event.value)

    def _merged(self, value: Any, line: int) -> list[Map]:
        sources = value if isinstance(value, Seq) else [value]
        if not all(isinstance(source, Map) for source in sources):
            raise self._error("`<<` merges mappings only", line, "give it an alias of a mapping")
        return list(sources)

    def _strange_tag(self, event: Any) -> ConfigError:
        line = event.start_mark.line + 1
        return self._error(f"the tag {event.tag!r} is not supported", line, "write the value without a tag")

    def _error(self, what: str, line: int, cure: str) -> ConfigError:
        return ConfigError(*self._mistakes, Mistake(what, Origin(self._file, line), cure))


# --- JSON -----------------------------------------------------------------------------------------------------


class _Decoder(json.JSONDecoder):
    """The standard decoder in pure Python, where the starts of values can be turned into lines."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file
        self._seen = (0, 1)  # a position and its line: values start in order, so counting goes on from here
        self._depth = 0
        self.parse_object = self._object
        self.parse_array = self._array
        self.parse_string = scanstring
        self.scan_once = py_make_scanner(self)

    def _line(self, text: str, position: int) -> int:
        before, line = self._seen
        line += text.count("\n", before, position)
        self._seen = (position, line)
        return line

    def _enter(self, text: str, position: int) -> int:
        line = self._line(text, position)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ConfigError.at(f"nested deeper than {MAX_DEPTH} levels", Origin(self._file, line), "flatten it")
        return line

    def _object(self, start: Any, strict: bool, scan: Any, hook: Any, pairs_hook: Any, memo: Any = None) -> Any:
        line = self._enter(*start)
        lines: list[int] = []

        def value(text: str, position: int) -> Any:
            lines.append(self._line(text, position))  # where the value starts, which is as good as its key
            return scan(text, position)

        pairs, end = JSONObject(start, strict, value, None, list, memo)
        self._depth -= 1
        mapping = Map(line)
        for (key, item), where in zip(pairs, lines, strict=True):
            if key in mapping:
                origin = Origin(self._file, where)
                raise ConfigError.at(f"the key `{key}` stands twice in this object", origin, "keep one")
            mapping[key] = item
        mapping.lines = tuple(lines)
        return mapping, end

    def _array(self, start: Any, scan: Any) -> Any:
        items = Seq(self._enter(*start))
        values, end = JSONArray(start, scan)
        self._depth -= 1
        items.extend(values)
        return items, end


def _read_json(text: str, file: str) -> Any:
    try:
        return _Decoder(file).decode(text)
    except json.JSONDecodeError as e:
        what = f"not valid JSON, column {e.colno}: {e.msg}"
        raise ConfigError.at(what, Origin(file, e.lineno), "mend the JSON here") from e
    except RecursionError as e:
        raise ConfigError.at(f"nested deeper than {MAX_DEPTH} levels", Origin(file), "flatten it") from e


def at_line(value: Any, line: int) -> Any:
    """Plain data, every mapping and list of which is said to start at ``line``."""
    if isinstance(value, dict):
        mapping = Map(line)
        for key, item in value.items():
            mapping[key] = at_line(item, line)
        mapping.lines = (line,) * len(mapping)
        return mapping
    if isinstance(value, list):
        items = Seq(line)
        items.extend(at_line(item, line) for item in value)
        return items
    return value


def to_json(value: Any) -> str:
    """Compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
