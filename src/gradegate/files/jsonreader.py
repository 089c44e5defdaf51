"""Reads JSON into plain data that remembers its lines.

The only module that leans on undocumented parts of the standard library: ``JSONObject``, ``JSONArray`` and
``scanstring`` of ``json.decoder`` and ``py_make_scanner`` of ``json.scanner``, the decoder in pure Python, where the
starts of values can be turned into lines. ``tests/files/test_jsonreader.py`` checks each of them.
"""

from __future__ import annotations

import json
import re
from json.decoder import JSONArray, JSONObject, scanstring  # type: ignore[attr-defined]
from json.scanner import py_make_scanner  # type: ignore[attr-defined]
from typing import Any

from gradegate.errors import ConfigError, Origin
from gradegate.files.amounts import READ
from gradegate.files.lines import MAX_DEPTH, Map, Seq

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_SIGNS = ",:[[{{{"  # a list is counted twice and an object thrice, as they take memory
_EXACT = 100_000  # values above which signs inside texts are not counted


def values_in(text: str) -> int:
    """How many keys and values a JSON text has at most; of a large one about exactly so many. Parses nothing."""
    count = sum(map(text.count, _SIGNS))
    return count if count <= _EXACT else sum(map(_STRING.sub("", text).count, _SIGNS))


def read(text: str, file: str) -> Any:
    """The value of a document. Raises ConfigError with file, line and column, and TooMuch."""
    READ.add_values(values_in(text))
    decoder = _Decoder(file)
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as e:
        what = f"not valid JSON, column {e.colno}: {e.msg}"
        raise ConfigError.at(what, Origin(file, e.lineno), "correct the JSON here") from e
    except ValueError as e:  # Python turns no more than 4,300 digits into a number
        raise ConfigError.at("a number with too many digits", Origin(file, decoder.line), "quote it if it is text") from e
    except RecursionError as e:
        raise ConfigError.at(f"nested deeper than {MAX_DEPTH} levels", Origin(file), "flatten it") from e


class _Decoder(json.JSONDecoder):
    """The standard decoder with the lines of values; they start in order, so counting goes on from the last one."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file
        self._seen = (0, 1)  # a position and its line: values start in order, so counting goes on from here
        self._depth = 0
        self.parse_object = self._object
        self.parse_array = self._array
        self.parse_string = scanstring
        self.scan_once = py_make_scanner(self)

    @property
    def line(self) -> int:
        """Where the value starts that was last begun in an object, or the array around it."""
        return self._seen[1]

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
                raise ConfigError.at(f"the key `{key}` occurs twice in this object", origin, "keep one")
            mapping[key] = item
        mapping.lines = tuple(lines)
        return mapping, end

    def _array(self, start: Any, scan: Any) -> Any:
        items = Seq(self._enter(*start))
        values, end = JSONArray(start, scan)
        self._depth -= 1
        items.extend(values)
        return items, end
