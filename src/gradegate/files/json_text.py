"""Parses JSON text, and says in a sentence why a text cannot be parsed."""

import json
import re
from collections.abc import Iterable
from json import JSONDecodeError
from typing import Any

from gradegate.errors import ConfigError, Origin
from gradegate.files.line_numbers import at_line
from gradegate.files.yaml_reader import MAX_DEPTH

DEEPEST = 100  # levels of JSON that did not come from a file
# A text in quotes, such as "a \" b"; also one without an end
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
# What is counted for values: a list counts twice and an object three times, as they take memory
_SIGNS = ",:[[{{{"
_MOST_ESTIMATED = 100_000  # above so many values, signs inside of texts are not counted
_CURE = "correct the JSON here"
_NO_COMMENTS = "JSON has no comments"
# A text in quotes with its end: 'a' or "a \" b"
_QUOTED = re.compile(r"""(["'])(?:(?!\1)[^\\]|\\.)*\1""", re.DOTALL)


def to_json(value: Any) -> str:
    """Compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def parse_json(text: str, file: str) -> Any:
    """The value of the JSON text of a file, as plain data. Raises ConfigError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        raise _json_error(e, text, Origin(file, 1), _CURE) from e


def parse_json_at(text: str, start: Origin, cure: str = _CURE, *, strict: bool = True) -> Any:
    """The value of a JSON text that begins at a line. All mappings and lists in it have this line.

    If not ``strict``, texts may contain control characters. Raises ConfigError, also for a key that occurs twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=refuse_duplicate_keys, strict=strict)
        return at_line(value, start.line, MAX_DEPTH)
    except (ValueError, RecursionError) as e:
        raise _json_error(e, text, start, cure) from e


def parse_untrusted_json(text: str | bytes) -> Any:
    """Parse JSON of strangers: no key occurs twice, and no nesting is too deep. Raises ValueError and RecursionError."""
    value = json.loads(text, object_pairs_hook=refuse_duplicate_keys)
    brackets = (b"[", b"{") if isinstance(text, bytes) else ("[", "{")
    if sum(map(text.count, brackets)) > DEEPEST:  # type: ignore[arg-type]  # of the kind of the text
        at_line(value, 0, DEEPEST)  # raises RecursionError for more levels
    return value


class DuplicateKeyError(ValueError):
    """A key occurs twice in an object; the message is the key."""


def refuse_duplicate_keys(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its pairs of keys and values, as an ``object_pairs_hook``.

    Raises DuplicateKeyError for a key that occurs twice: another parser might take the other value.
    """
    members = {}
    for key, value in pairs:
        if key in members:
            raise DuplicateKeyError(key)
        members[key] = value
    return members


def count_values(text: str) -> int:
    """The most keys and values that a JSON text can have; about the exact number for a large text. Parses nothing."""
    count = sum(map(text.count, _SIGNS))
    if count <= _MOST_ESTIMATED:
        return count
    return sum(map(_STRING.sub("", text).count, _SIGNS))


def _json_error(error: Exception, text: str, start: Origin, cure: str) -> ConfigError:
    """The mistake behind an exception of the JSON parser, in a text that begins at ``start``."""
    if isinstance(error, JSONDecodeError):
        reason = describe_syntax_error(error, text).partition(" at line ")[0]
        if reason == _NO_COMMENTS:
            cure = "remove the comment, or write the file as .yaml, where comments begin with #"
        what = f"not valid JSON, column {error.colno}: {reason}"
        return ConfigError.at(what, Origin(start.file, start.line + error.lineno - 1), cure)
    if isinstance(error, RecursionError):
        return ConfigError.at(f"nested deeper than {MAX_DEPTH} levels", start, "flatten it")
    if isinstance(error, DuplicateKeyError):
        what = f"the key `{error}` occurs twice in this object"
        return ConfigError.at(what, start, "merge both into one")

    # Python turns no more than 4,300 digits into a number, and does not say where the number is.
    without_texts = _STRING.sub(lambda string: "\n" * string[0].count("\n"), text)
    longest_number = max(re.findall(r"\d+", without_texts), key=len, default="")
    before = without_texts.partition(longest_number)[0]
    origin = Origin(start.file, start.line + before.count("\n"))
    return ConfigError.at("a number with too many digits", origin, "quote it if it is text")


# --- why a text cannot be parsed: JSON, XML and regular expressions --------------------------------------------


class RefusedTextError(ValueError):
    """A parser of gradegate refuses a text; the message is a sentence for people."""


def describe_syntax_error(error: Exception, text: str) -> str:
    """Say why a parser of JSON, XML or regular expressions cannot parse a text, and where; lines count from 1."""
    if isinstance(error, RefusedTextError):
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
    place = f"line {line}, column {column}"
    character = rest[0]
    if character in "\"'" and not _QUOTED.match(rest):
        return f"the text that begins at {place} has no end"
    shown = "this character"
    if character.isprintable() and not character.isspace():
        shown = f"`{character}`"
    return f"{shown} cannot stand at {place}"


def _error_position(error: Exception, text: str) -> int | None:
    """The position in the text that an exception names. None if it names no position."""
    if isinstance(error, JSONDecodeError | re.error) and error.pos is not None:
        return error.pos
    line: int = getattr(error, "lineno", 0)
    offset: int = getattr(error, "offset", 0)
    if position := getattr(error, "position", None):  # of an error in XML
        line, offset = position
    if not line:
        return None
    lines_before = text.splitlines(keepends=True)[: line - 1]
    return sum(map(len, lines_before)) + offset
