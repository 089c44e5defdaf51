"""The documents of the workspace, YAML, JSON or JSON lines by their names, as plain data that remembers its lines.

JSON is what the standard library reads, with the lines that YAML's reader finds. Of the little that is JSON and no YAML,
such as a key of 1,024 characters, every line is the first.
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
_SIGNS = ",:[[{{{"  # a list is counted twice and an object thrice, as they take memory
_EXACT = 100_000  # values above which signs inside texts are not counted
_HALVES = re.compile(
    r"\\(?:(u[dD][89abAB]..\\u[dD][c-fC-F]..)|.)", re.DOTALL
)  # of a character; or any other escape
_BREAKS = str.maketrans(
    {sign: f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}
)  # ends of lines in YAML
_NO_COMMENTS = "JSON has no comments"
_LINES = "write one JSON object a line"
_REF = "$ref"
# Data of a test, and where schemas are: a reference in them is theirs. One that stands for all of it is ours.
_OWN = frozenset(
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
    """Why a text could not be read, by its place alone, as parsers of JSON, XML and regular expressions say it; lines from 1."""
    if isinstance(error, WrongError):
        return str(error)
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    line, offset = getattr(error, "position", None) or (
        getattr(error, "lineno", 0),
        getattr(error, "offset", 0),
    )
    if isinstance(error, JSONDecodeError | re.error) and error.pos is not None:
        at = error.pos
    elif line:
        at = sum(map(len, text.splitlines(keepends=True)[: line - 1])) + offset
    else:
        return "it holds what cannot be read"  # such as a number of 5,000 digits
    if not text.strip():
        return "it is empty"
    if not text[at:].strip():
        return "it ends too early"
    if text.startswith(("//", "/*", "#"), at):
        return _NO_COMMENTS
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    if text[at] in "\"'" and not re.fullmatch(
        r"""(["'])(?:(?!\1)[^\\]|\\.)*\1.*""", text[at:], re.DOTALL
    ):
        return f"the text that begins at line {line}, column {column} has no end"
    sign = text[at] if text[at].isprintable() and not text[at].isspace() else "this character"
    return f"{f'`{sign}`' if len(sign) == 1 else sign} cannot stand at line {line}, column {column}"


def read(content: bytes, file: str) -> Any:
    """YAML or, where the name ends in .json, JSON. Raises ConfigError with file, line and column."""
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
            # JSON may write signs as pairs of escapes, which YAML does not know.
            if text.lstrip().startswith(("{", "[")):
                with contextlib.suppress(ConfigError):
                    return read_json(text, file)
            raise
    except UnicodeDecodeError as e:
        line = content[: e.start].count(b"\n") + 1
        raise ConfigError.at(
            "the file is not UTF-8 text", Origin(file, line), "save it as UTF-8"
        ) from e
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
    """The content of ``name`` in a folder of ours, such as ``table("providers.api", "prices.yaml")``; read once."""
    with READ.not_counted():
        return read(resources.files(f"gradegate.{package}").joinpath(name).read_bytes(), name)


# --- JSON -----------------------------------------------------------------------------------------------------


def read_json(text: str, file: str) -> Any:
    """The value of a document. Raises ConfigError with file, line and column, and TooMuch."""
    count = _values_in(text)
    if READ.values + count > MAX_VALUES:
        READ.add_values(count)  # which says that it is too much
    value = parsed(text, file)
    yaml = text if text.isascii() else text.translate(_BREAKS)
    yaml = _HALVES.sub(lambda it: json.loads(f'"{it[0]}"') if it[1] else it[0], yaml)
    try:
        found = yamlreader.read(yaml, file)
        if found == value:
            return found
    except yamlreader.NoYamlError:
        READ.add_values(count)
    return parsed(text, file, object_pairs_hook=unique)


def _values_in(text: str) -> int:
    """How many keys and values a JSON text has at most; of a large one about exactly so many. Parses nothing."""
    count = sum(map(text.count, _SIGNS))
    return count if count <= _EXACT else sum(map(_STRING.sub("", text).count, _SIGNS))


def parsed(
    text: str, file: str, line: int = 1, cure: str = "correct the JSON here", **how: Any
) -> Any:
    """What ``json.loads`` gives for a text that begins at a line. Raises ConfigError."""
    try:
        return at_line(json.loads(text, **how), line, MAX_DEPTH) if how else json.loads(text)
    except json.JSONDecodeError as e:
        why = fault(e, text).partition(" at line ")[0]
        what = f"not valid JSON, column {e.colno}: {why}"
        if why == _NO_COMMENTS:
            cure = "remove the comment, or write the file as .yaml, where comments begin with #"
        raise ConfigError.at(what, Origin(file, line + e.lineno - 1), cure) from e
    except RecursionError as e:
        raise ConfigError.at(
            f"nested deeper than {MAX_DEPTH} levels", Origin(file, line), "flatten it"
        ) from e
    except TwiceError as e:
        raise ConfigError.at(
            f"the key `{e}` occurs twice in this object", Origin(file, line), "merge both into one"
        ) from e
    except ValueError as e:  # Python turns no more than 4,300 digits into a number
        outside = _STRING.sub(lambda it: "\n" * it[0].count("\n"), text)
        before = outside.partition(max(re.findall(r"\d+", outside), key=len, default=""))[0]
        origin = Origin(file, line + before.count("\n"))
        raise ConfigError.at(
            "a number with too many digits", origin, "quote it if it is text"
        ) from e


class TwiceError(ValueError):
    """A key stands twice in an object; the message is the key."""


def unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Of a key that stands twice, whoever reads next might take the other value: it raises TwiceError."""
    members = {}
    for key, value in pairs:
        if key in members:
            raise TwiceError(key)
        members[key] = value
    return members


def strict(text: str | bytes) -> Any:
    """JSON of strangers, with no key twice, which we, who walk through it, can come back from. Raises ValueError, RecursionError."""
    value = json.loads(text, object_pairs_hook=unique)
    lists, objects = (b"[", b"{") if isinstance(text, bytes) else ("[", "{")
    if text.count(lists) + text.count(objects) > DEEPEST:  # type: ignore[arg-type]  # of the kind of the text
        at_line(value, 0, DEEPEST)
    return value


# --- JSON lines: https://jsonlines.org ------------------------------------------------------------------------


def read_lines(content: bytes, file: str) -> Seq:
    """One object a line, each of them a ``Map``; blank lines are skipped. Raises ConfigError with every mistake.

    Lines end in a line feed, with or without a carriage return before it, and in nothing else: a JSON string may hold
    U+2028, U+0085 and their like.
    """
    rows, mistakes = readable_lines(content, file)
    if mistakes:
        raise ConfigError(*mistakes)
    return rows


def readable_lines(content: bytes, file: str) -> tuple[Seq, list[Mistake]]:
    """The objects of the lines that can be read, and the mistakes of all others."""
    rows, mistakes = Seq(1), []
    if content.count(b"\n") > MAX_LINES:
        what = f"the file has more than {MAX_LINES:,} lines"
        raise ConfigError.at(what, Origin(file), "split it into several files")
    for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if not line.strip(b" \t\r"):
            continue
        origin = Origin(file, number)
        try:
            text = line.decode()
            READ.add_values(_values_in(text))
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
    """A document with its references filled in. Raises ConfigError, also for references that lead nowhere or in circles.

    What is written beside a reference wins over what it refers to. JSON Schemas have references of their own: what is under
    one of their keys is left as it is.
    """
    whole = read(content, file)
    if b"$ref" not in content or not isinstance(whole, dict | list):
        return whole
    resolver = _Resolver(whole, file)
    filled = resolver.filled(whole)
    if resolver.mistakes:
        raise ConfigError(*resolver.mistakes)
    return filled


class _Resolver:
    """``_known`` has what each reference stands for, with how many values it repeats; None while it is looked up."""

    def __init__(self, whole: Any, file: str) -> None:
        self._whole = whole
        self._file = file
        self._known: dict[str, tuple[Any, int] | None] = {}
        self._repeated = 0
        self.mistakes: list[Mistake] = []

    def filled(self, value: Any) -> Any:
        """The value itself where it holds no reference."""
        if isinstance(value, Seq):
            items = [self.filled(item) for item in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return Seq(value.line, items)
        if not isinstance(value, Map):
            return value
        pairs = {}
        for key, item in value.items():
            is_data = key in _OWN and not (isinstance(item, Map) and [*item] == [_REF])
            pairs[key] = item if is_data else self.filled(item)
        reference = value.get(_REF)
        if isinstance(reference, str):
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
        unchanged = all(new is value[key] for key, new in pairs.items())
        return value if unchanged else Map(value.line, pairs, value.lines)

    def _look_up(self, reference: str, at: Map) -> Any:
        """What a reference stands for; None for one that leads nowhere or in a circle."""
        if reference not in self._known:
            self._known[reference] = None
            found = self._at(reference, at)
            filled = self.filled(found)
            # How many values there are, up to a few more than a file may repeat.
            count, left = 0, [filled]
            while left and count <= MAX_ALIASED:
                item = left.pop()
                count += 1
                if isinstance(item, str):
                    count += len(item) // 128
                elif isinstance(item, dict):
                    left += item.values()
                elif isinstance(item, list):
                    left += item
            self._known[reference] = (filled, count)
        known = self._known[reference]
        if known is None:
            self._say(f"`{reference}` refers to itself", at, "take one of the references out")
            return None
        self._repeated += known[1]
        if self._repeated > MAX_ALIASED:
            what = "references multiply this file beyond its limit"
            raise ConfigError(
                *self.mistakes, Mistake(what, Origin(self._file, at.line), "write the values out")
            )
        return known[0]

    def _at(self, reference: str, at: Map) -> Any:
        start, *steps = reference.split("/")
        if start != "#":
            what = f"`$ref: {reference}` does not lead into this file"
            self._say(what, at, "write '#/assertionTemplates/NAME'")
            return None
        found = self._whole
        for written in steps:
            step = written.replace("~1", "/").replace("~0", "~")
            index = int(step[:9]) if step.isascii() and step.isdigit() else -1
            if isinstance(found, Mapping) and step in found:
                found = found[step]
            elif isinstance(found, list) and 0 <= index < len(found):
                found = found[index]
            else:
                what = f"`$ref: {reference}` leads nowhere: there is no `{step}`"
                self._say(what, at, "add it, or correct the reference")
                return None
        return found

    def _say(self, what: str, at: Map, cure: str) -> None:
        self.mistakes.append(Mistake(what, Origin(self._file, at.line), cure))


def encodable(text: str) -> str:
    """The text with lone surrogates written out, so that it is valid UTF-8; everything else stays."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
