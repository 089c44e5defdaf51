"""Reads YAML, JSON and JSON lines of the workspace into plain data that remembers its lines.

JSON is what the standard library reads, with the lines that the YAML reader finds. In the little JSON that is no YAML,
such as a key of 1,024 characters, every value is at the first line.
"""

import codecs
import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from json import JSONDecodeError
from typing import Any

from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files import yaml_reader as yamlreader
from gradegate.files.limits import (
    MAX_ALIASED,
    MAX_FILE,
    MAX_LINES,
    MAX_MISTAKES,
    MAX_VALUES,
    READ,
    TooMuch,
)
from gradegate.files.yaml_reader import MAX_DEPTH, Map, Seq, at_line, line_of, origin_of

FEWER = "keep fewer tests in one run"
DEEPEST = 100  # levels of JSON that did not come from a file
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
# What is counted for values: a list counts twice and an object three times, as they take memory
_SIGNS = ",:[[{{{"
_MOST_ESTIMATED = 100_000  # above so many values, signs inside of texts are not counted
# An escaped pair of surrogates, or any other escape
_SURROGATES = re.compile(r"\\(?:(u[dD][89abAB]..\\u[dD][c-fC-F]..)|.)", re.DOTALL)
# Characters that end a line in YAML, as escapes
_LINE_ENDS = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"})
_NO_COMMENTS = "JSON has no comments"
_LINES = "write one JSON object a line"
_REF = "$ref"
# Keys with data of a test or with schemas, which have references of their own. A reference in place of all of it is ours.
_WITH_OWN_REFERENCES = frozenset(
    "value vars tools functions response_format parameters input_schema schema providerOutput".split()
)
__all__ = [
    "Map",
    "Seq",
    "at_line",
    "line_of",
    "origin_of",
    "parsed",
    "read",
    "strings",
    "table",
    "to_json",
]


class WrongError(ValueError):
    """A reader of ours refuses a text; the message is a sentence for people."""


def fault(error: Exception, text: str) -> str:
    """Why a text could not be read: the place that parsers of JSON, XML and regular expressions name; lines count from 1."""
    if isinstance(error, WrongError):
        return str(error)
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    position = _error_position(error, text)
    if position is None:
        return "it holds what cannot be read"  # such as a number of 5,000 digits
    if not text.strip():
        return "it is empty"
    rest = text[position:]
    if not rest.strip():
        return "it ends too early"
    if rest.startswith(("//", "/*", "#")):
        return _NO_COMMENTS

    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    is_quoted = re.match(r"""(["'])(?:(?!\1)[^\\]|\\.)*\1""", rest, re.DOTALL)
    if rest[0] in "\"'" and not is_quoted:
        return f"the text that begins at line {line}, column {column} has no end"
    shown = "this character"
    if rest[0].isprintable() and not rest[0].isspace():
        shown = f"`{rest[0]}`"
    return f"{shown} cannot stand at line {line}, column {column}"


def _error_position(error: Exception, text: str) -> int | None:
    if isinstance(error, JSONDecodeError | re.error) and error.pos is not None:
        return error.pos
    line = getattr(error, "lineno", 0)
    offset = getattr(error, "offset", 0)
    if position := getattr(error, "position", None):  # of an error in XML
        line, offset = position
    if not line:
        return None
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + offset


def read(content: bytes, file: str) -> Any:
    """Read YAML or, if the name ends in .json, JSON. Raises ConfigError with file, line and column."""
    if len(content) > MAX_FILE:
        what = f"the file has more than {MAX_FILE >> 20} MiB"
        raise ConfigError.at(what, Origin(file), "split it into several files")
    try:
        text = content.decode("utf-8-sig")
        if file.endswith(".json"):
            return read_json(text, file)
        try:
            return yamlreader.read(text, file)
        except ConfigError:
            # JSON may write a character as a pair of escapes, which YAML does not know.
            if text.lstrip().startswith(("{", "[")):
                with contextlib.suppress(ConfigError):
                    return read_json(text, file)
            raise
    except UnicodeDecodeError as e:
        line = content[: e.start].count(b"\n") + 1
        what = "the file is not UTF-8 text"
        raise ConfigError.at(what, Origin(file, line), "save it as UTF-8") from e
    except TooMuch as e:
        raise ConfigError.at(str(e), Origin(file), FEWER) from e


def to_json(value: Any) -> str:
    """Compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def strings(value: Any) -> Iterator[str]:
    """Every text in a nested value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


@cache
def table(package: str, name: str) -> Any:
    """The content of a file of gradegate itself, such as ``table("providers.api", "prices.yaml")``; read once."""
    content = resources.files(f"gradegate.{package}").joinpath(name).read_bytes()
    with READ.not_counted():
        return read(content, name)


# --- JSON -----------------------------------------------------------------------------------------------------


def read_json(text: str, file: str) -> Any:
    """The value of a document. Raises ConfigError with file, line and column, and TooMuch."""
    count = _count_values(text)
    if READ.values + count > MAX_VALUES:
        READ.add_values(count)  # raises TooMuch
    value = parsed(text, file)

    # The YAML reader knows the lines. It must read the same value.
    yaml = text if text.isascii() else text.translate(_LINE_ENDS)
    yaml = _SURROGATES.sub(
        lambda escape: json.loads(f'"{escape[0]}"') if escape[1] else escape[0], yaml
    )
    try:
        with_lines = yamlreader.read(yaml, file)
        if with_lines == value:
            return with_lines
    except yamlreader.NoYamlError:
        READ.add_values(count)
    return parsed(text, file, object_pairs_hook=unique)


def _count_values(text: str) -> int:
    """The most keys and values that a JSON text can have; about the exact number for a large text. Parses nothing."""
    count = sum(map(text.count, _SIGNS))
    if count <= _MOST_ESTIMATED:
        return count
    return sum(map(_STRING.sub("", text).count, _SIGNS))


def parsed(
    text: str, file: str, line: int = 1, cure: str = "correct the JSON here", **options: Any
) -> Any:
    """What ``json.loads`` gives for a text that begins at a line; with ``options``, as data with lines. Raises ConfigError."""
    try:
        value = json.loads(text, **options)
        return at_line(value, line, MAX_DEPTH) if options else value
    except json.JSONDecodeError as e:
        reason = fault(e, text).partition(" at line ")[0]
        what = f"not valid JSON, column {e.colno}: {reason}"
        if reason == _NO_COMMENTS:
            cure = "remove the comment, or write the file as .yaml, where comments begin with #"
        raise ConfigError.at(what, Origin(file, line + e.lineno - 1), cure) from e
    except RecursionError as e:
        what = f"nested deeper than {MAX_DEPTH} levels"
        raise ConfigError.at(what, Origin(file, line), "flatten it") from e
    except TwiceError as e:
        what = f"the key `{e}` occurs twice in this object"
        raise ConfigError.at(what, Origin(file, line), "merge both into one") from e
    except ValueError as e:  # Python turns no more than 4,300 digits into a number
        without_texts = _STRING.sub(lambda string: "\n" * string[0].count("\n"), text)
        longest_number = max(re.findall(r"\d+", without_texts), key=len, default="")
        before = without_texts.partition(longest_number)[0]
        origin = Origin(file, line + before.count("\n"))
        what = "a number with too many digits"
        raise ConfigError.at(what, origin, "quote it if it is text") from e


class TwiceError(ValueError):
    """A key occurs twice in an object; the message is the key."""


def unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object. Raises TwiceError for a key that occurs twice: another reader might take the other value."""
    members = {}
    for key, value in pairs:
        if key in members:
            raise TwiceError(key)
        members[key] = value
    return members


def strict(text: str | bytes) -> Any:
    """Parse JSON of strangers: no key occurs twice, and no nesting is too deep. Raises ValueError and RecursionError."""
    value = json.loads(text, object_pairs_hook=unique)
    brackets = (b"[", b"{") if isinstance(text, bytes) else ("[", "{")
    if sum(map(text.count, brackets)) > DEEPEST:  # type: ignore[arg-type]  # of the kind of the text
        at_line(value, 0, DEEPEST)  # counts the levels
    return value


# --- JSON lines: https://jsonlines.org ------------------------------------------------------------------------


def read_lines(content: bytes, file: str) -> Seq:
    """Read one object a line, each as a ``Map``; blank lines are skipped. Raises ConfigError with every mistake.

    Only a line feed ends a line, with or without a carriage return before it: a JSON string may contain U+2028 or U+0085.
    """
    rows, mistakes = readable_lines(content, file)
    if mistakes:
        raise ConfigError(*mistakes)
    return rows


def readable_lines(content: bytes, file: str) -> tuple[Seq, list[Mistake]]:
    """The objects of the lines that can be read, and the mistakes of all others."""
    rows = Seq(1)
    mistakes: list[Mistake] = []
    if content.count(b"\n") > MAX_LINES:
        what = f"the file has more than {MAX_LINES:,} lines"
        raise ConfigError.at(what, Origin(file), "split it into several files")
    for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if not line.strip(b" \t\r"):
            continue
        origin = Origin(file, number)
        try:
            text = line.decode()
            READ.add_values(_count_values(text))
            row = parsed(text, file, number, _LINES, object_pairs_hook=unique, strict=False)
            if isinstance(row, Map):
                rows.append(row)
            else:
                mistakes.append(Mistake("the line is not a JSON object", origin, _LINES))
        except TooMuch as e:
            raise ConfigError.at(str(e), origin, FEWER) from e
        except UnicodeDecodeError:
            what = "the line is not UTF-8 text"
            mistakes.append(Mistake(what, origin, "save the file as UTF-8"))
        except ConfigError as e:
            mistakes += e.mistakes
        if len(mistakes) > MAX_MISTAKES:
            what = "too many lines cannot be read, so the rest is not checked"
            mistakes[-1] = Mistake(what, origin, "correct these first")
            break
    return rows, mistakes


# --- references: `{$ref: '#/path/to/it'}` stands for what is at that place, as JSON Pointer (RFC 6901) --------


def resolved(content: bytes, file: str) -> Any:
    """A document with its references filled in. Raises ConfigError, also for references to nothing and in circles.

    Keys next to a reference win over the keys of what it refers to. JSON Schemas have references of their own, so what is
    under one of their keys stays as it is.
    """
    document = read(content, file)
    if b"$ref" not in content or not isinstance(document, dict | list):
        return document
    resolver = _Resolver(document, file)
    filled = resolver.fill_in(document)
    if resolver.mistakes:
        raise ConfigError(*resolver.mistakes)
    return filled


class _Resolver:
    """Fills references in. ``_targets`` has their values with how many values they repeat; None during the look-up."""

    def __init__(self, document: Any, file: str) -> None:
        self._document = document
        self._file = file
        self._targets: dict[str, tuple[Any, int] | None] = {}
        self._repeated = 0
        self.mistakes: list[Mistake] = []

    def fill_in(self, value: Any) -> Any:
        """The value with its references filled in; the same object if it has none."""
        if isinstance(value, Seq):
            items = [self.fill_in(item) for item in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return Seq(value.line, items)
        if not isinstance(value, Map):
            return value

        pairs = {}
        for key, item in value.items():
            is_reference = isinstance(item, Map) and list(item) == [_REF]
            keeps_references = key in _WITH_OWN_REFERENCES and not is_reference
            pairs[key] = item if keeps_references else self.fill_in(item)
        reference = value.get(_REF)
        if not isinstance(reference, str):
            is_same = all(new is value[key] for key, new in pairs.items())
            return value if is_same else Map(value.line, pairs, value.lines)

        target = self._look_up(reference, value)
        if target is None:
            return value
        del pairs[_REF]
        if isinstance(target, Map):
            merged = {**target, **pairs}
            lines = dict(zip(target, target.lines, strict=False))
            lines |= zip(value, value.lines, strict=False)
            return Map(value.line, merged, [lines.get(key, value.line) for key in merged])
        if pairs:
            what = f"`{reference}` is not a mapping, so no key can stand next to it"
            self._say(what, value, "remove what does")
        return target

    def _look_up(self, reference: str, place: Map) -> Any:
        """The value of a reference; None if it refers to nothing or to itself."""
        if reference not in self._targets:
            self._targets[reference] = None
            value = self.fill_in(self._find(reference, place))
            self._targets[reference] = value, _count_repeated(value)
        target = self._targets[reference]
        if target is None:
            self._say(f"`{reference}` refers to itself", place, "take one of the references out")
            return None
        value, count = target
        self._repeated += count
        if self._repeated > MAX_ALIASED:
            self._say(
                "references multiply this file beyond its limit", place, "write the values out"
            )
            raise ConfigError(*self.mistakes)
        return value

    def _find(self, reference: str, place: Map) -> Any:
        """What is at the place that a reference names; None if nothing is."""
        start, *steps = reference.split("/")
        if start != "#":
            what = f"`$ref: {reference}` does not lead into this file"
            self._say(what, place, "write '#/assertionTemplates/NAME'")
            return None
        value = self._document
        for escaped in steps:
            step = escaped.replace("~1", "/").replace("~0", "~")
            index = int(step[:9]) if step.isascii() and step.isdigit() else -1
            if isinstance(value, Mapping) and step in value:
                value = value[step]
            elif isinstance(value, list) and 0 <= index < len(value):
                value = value[index]
            else:
                what = f"`$ref: {reference}` leads nowhere: there is no `{step}`"
                self._say(what, place, "add it, or correct the reference")
                return None
        return value

    def _say(self, what: str, place: Map, cure: str) -> None:
        self.mistakes.append(Mistake(what, Origin(self._file, place.line), cure))


def _count_repeated(value: Any) -> int:
    """How many values a value contains, up to a few more than a file may repeat; a text counts for its length."""
    count = 0
    stack = [value]
    while stack and count <= MAX_ALIASED:
        item = stack.pop()
        count += 1
        if isinstance(item, str):
            count += len(item) // 128
        elif isinstance(item, dict):
            stack += item.values()
        elif isinstance(item, list):
            stack += item
    return count


def encodable(text: str) -> str:
    """Write lone surrogates of a text as escapes, so that the text can be encoded as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
