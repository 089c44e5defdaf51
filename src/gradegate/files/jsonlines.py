"""Reads JSON lines (https://jsonlines.org): one JSON object a line, each with its line."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable
from typing import Any

from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.amounts import READ, TooMuch
from gradegate.files.bounds import MAX_LINES, MAX_MISTAKES
from gradegate.files.jsonreader import values_in
from gradegate.files.lines import MAX_DEPTH, Map, Seq, at_line

_CURE = "write one JSON object a line"


def read(content: bytes, file: str) -> Seq:
    """The objects, each of them a ``Map``; blank lines are skipped. Raises ConfigError with every mistake.

    Lines end in a line feed, with or without a carriage return before it, and in nothing else: a JSON string may hold
    U+2028, U+0085 and their like.
    """
    rows, mistakes = readable(content, file)
    if mistakes:
        raise ConfigError(*mistakes)
    return rows


def readable(content: bytes, file: str) -> tuple[Seq, list[Mistake]]:
    """The objects of the lines that can be read, and the mistakes of all others."""
    rows, mistakes = Seq(1), list[Mistake]()
    if content.count(b"\n") > MAX_LINES:
        raise ConfigError.at(f"the file has more than {MAX_LINES:,} lines", Origin(file), "split it into several files")
    for number, line in enumerate(content.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        if not line.strip(b" \t\r"):
            continue
        try:
            READ.add_values(values_in(line.decode("utf-8", "replace")))
            rows.append(_row(line, number))
        except TooMuch as e:
            raise ConfigError.at(str(e), Origin(file, number), "keep fewer tests in one run") from e
        except _Refused as e:
            mistakes.append(Mistake(str(e), Origin(file, number), e.cure))
            if len(mistakes) > MAX_MISTAKES:
                what = "so many lines cannot be read that the rest is not looked at"
                mistakes[-1] = Mistake(what, Origin(file, number), "correct these first")
                break
    return rows, mistakes


class _Refused(ValueError):
    def __init__(self, what: str, cure: str = _CURE) -> None:
        super().__init__(what)
        self.cure = cure


def _row(line: bytes, number: int) -> Map:
    """Raises _Refused."""
    try:
        value = json.loads(line.decode("utf-8"), object_pairs_hook=_unique, strict=False)
        row = at_line(value, number, MAX_DEPTH)
    except UnicodeDecodeError as e:
        raise _Refused("the line is not UTF-8 text", "save the file as UTF-8") from e
    except json.JSONDecodeError as e:
        raise _Refused(f"not valid JSON, column {e.colno}: {e.msg}") from e
    except _Refused:
        raise
    except ValueError as e:  # Python turns no more than 4,300 digits into a number
        raise _Refused("a number with too many digits", "quote it if it is text") from e
    except RecursionError as e:
        raise _Refused(f"nested deeper than {MAX_DEPTH} levels", "flatten it") from e
    if not isinstance(row, Map):
        raise _Refused("the line is not a JSON object")
    return row


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Raises _Refused."""
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise _Refused(f"the key `{key}` occurs twice in this object", "keep one")
        members[key] = value
    return members
