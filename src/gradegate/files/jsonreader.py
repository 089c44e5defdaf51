"""Reads JSON into plain data that remembers its lines: what the standard library reads, with the lines that YAML's reader finds.

Of the little that is JSON and no YAML, such as a key of 1,024 characters, every line is the first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from gradegate.errors import ConfigError, Origin
from gradegate.files import yamlreader
from gradegate.files.amounts import READ
from gradegate.files.faults import fault
from gradegate.files.lines import MAX_DEPTH, at_line

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_SIGNS = ",:[[{{{"  # a list is counted twice and an object thrice, as they take memory
DEEPEST = 100  # levels of JSON that did not come from a file
_EXACT = 100_000  # values above which signs inside texts are not counted
_HALVES = re.compile(r"\\(?:(u[dD][89abAB]..\\u[dD][c-fC-F]..)|.)", re.DOTALL)  # of a character; or any other escape
_BREAKS = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"})  # ends of lines in YAML


def values_in(text: str) -> int:
    """How many keys and values a JSON text has at most; of a large one about exactly so many. Parses nothing."""
    count = sum(map(text.count, _SIGNS))
    return count if count <= _EXACT else sum(map(_STRING.sub("", text).count, _SIGNS))


def read(text: str, file: str) -> Any:
    """The value of a document. Raises ConfigError with file, line and column, and TooMuch."""
    count = values_in(text)
    if count > READ.values_left:
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


def parsed(text: str, file: str, line: int = 1, cure: str = "correct the JSON here", **how: Any) -> Any:
    """What ``json.loads`` gives for a text that begins at a line. Raises ConfigError."""
    try:
        return at_line(json.loads(text, **how), line, MAX_DEPTH) if how else json.loads(text)
    except json.JSONDecodeError as e:
        what = f"not valid JSON, column {e.colno}: {fault(e, text).partition(' at line ')[0]}"
        raise ConfigError.at(what, Origin(file, line + e.lineno - 1), cure) from e
    except RecursionError as e:
        raise ConfigError.at(f"nested deeper than {MAX_DEPTH} levels", Origin(file, line), "flatten it") from e
    except TwiceError as e:
        raise ConfigError.at(f"the key `{e}` occurs twice in this object", Origin(file, line), "merge both into one") from e
    except ValueError as e:  # Python turns no more than 4,300 digits into a number
        outside = _STRING.sub(lambda it: "\n" * it[0].count("\n"), text)
        before = outside.partition(max(re.findall(r"\d+", outside), key=len, default=""))[0]
        origin = Origin(file, line + before.count("\n"))
        raise ConfigError.at("a number with too many digits", origin, "quote it if it is text") from e


class TwiceError(ValueError):
    """A key stands twice in an object; the message is the key."""


def unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Of a key that stands twice, whoever reads next might take the other value: it raises TwiceError."""
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise TwiceError(key)
        members[key] = value
    return members


def strict(text: str | bytes) -> Any:
    """JSON of strangers, in which no key stands twice and which we, who walk through it, can come back from.

    Raises ValueError and RecursionError.
    """
    value = json.loads(text, object_pairs_hook=unique)
    lists, objects = (b"[", b"{") if isinstance(text, bytes) else ("[", "{")
    if text.count(lists) + text.count(objects) > DEEPEST:  # type: ignore[arg-type]  # of the kind of the text
        at_line(value, 0, DEEPEST)
    return value
