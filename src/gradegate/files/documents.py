"""Reads YAML, JSON and JSON lines of the workspace into plain data that remembers its lines.

JSON is what the standard library reads, with the lines that the YAML reader finds. In the little JSON that is no YAML,
such as a key of 1,024 characters, every value is at the first line.
"""

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import resources
from typing import Any

from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.json_text import count_values, parse_json, parse_json_at, to_json
from gradegate.files.limits import MAX_FILE, MAX_LINES, MAX_MISTAKES, MAX_VALUES, READ, TooMuch
from gradegate.files.line_numbers import Map, Seq, at_line, line_of, origin_of
from gradegate.files.yaml_reader import NoYamlError, read_yaml

__all__ = ["Map", "Seq", "at_line", "line_of", "origin_of", "to_json"]
FEWER = "keep fewer tests in one run"
_LINE_CURE = "write one JSON object a line"
# An escaped pair of surrogates, such as `\ud83d\ude00`, or any other escape
_ESCAPE = re.compile(r"\\(?:(u[dD][89abAB]..\\u[dD][c-fC-F]..)|.)", re.DOTALL)
# Characters that end a line in YAML, as escapes
_LINE_ENDS = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"})


def read(content: bytes, file: str) -> Any:
    """Read YAML or, if the name ends in .json, JSON. Raises ConfigError with file, line and column."""
    if len(content) > MAX_FILE:
        what = f"the file has more than {MAX_FILE >> 20} MiB"
        raise ConfigError.at(what, Origin(file), "split it into several files")
    try:
        text = content.decode("utf-8-sig")
        return read_json(text, file) if file.endswith(".json") else _read_yaml(text, file)
    except UnicodeDecodeError as e:
        line = content[: e.start].count(b"\n") + 1
        what = "the file is not UTF-8 text"
        raise ConfigError.at(what, Origin(file, line), "save it as UTF-8") from e
    except TooMuch as e:
        raise ConfigError.at(str(e), Origin(file), FEWER) from e


def _read_yaml(text: str, file: str) -> Any:
    """Read YAML, or JSON in a file of another name. Raises ConfigError and TooMuch."""
    try:
        return read_yaml(text, file)
    except ConfigError:
        # JSON may write a character as a pair of escapes, which YAML does not know.
        if text.lstrip().startswith(("{", "[")):
            with suppress(ConfigError):
                return read_json(text, file)
        raise


def read_json(text: str, file: str) -> Any:
    """Read the JSON text of a file. Raises ConfigError with file, line and column, and TooMuch."""
    count = count_values(text)
    if READ.values + count > MAX_VALUES:
        READ.add_values(count)  # raises TooMuch, before the values take memory
    value = parse_json(text, file)

    # The JSON parser knows no lines, and the YAML reader does. It must read the same value.
    try:
        value_with_lines = read_yaml(_json_as_yaml(text), file)
        if value_with_lines == value:
            return value_with_lines
    except NoYamlError:
        READ.add_values(count)  # the YAML reader counts only what it can read
    return parse_json_at(text, Origin(file, 1))


def _json_as_yaml(text: str) -> str:
    """A JSON text as YAML of the same value: YAML has more ends of lines, and knows no pairs of escapes."""
    if not text.isascii():
        text = text.translate(_LINE_ENDS)
    return _ESCAPE.sub(_join_surrogates, text)


def _join_surrogates(escape: re.Match[str]) -> str:
    """The character that a pair of escapes stands for. Another escape stays as it is."""
    is_pair = bool(escape[1])
    return str(json.loads(f'"{escape[0]}"')) if is_pair else escape[0]


@cache
def table(package: str, name: str) -> Any:
    """The content of a file of gradegate itself, such as ``table("providers.api", "prices.yaml")``; read once."""
    content = resources.files(f"gradegate.{package}").joinpath(name).read_bytes()
    with READ.not_counted():
        return read(content, name)


# --- JSON lines: https://jsonlines.org ------------------------------------------------------------------------


def read_lines(content: bytes, file: str) -> Seq:
    """Read one object a line, each as a ``Map``; blank lines are skipped. Raises ConfigError with every mistake.

    Only a line feed ends a line, with or without a carriage return before it: a JSON string may contain U+2028 or U+0085.
    """
    rows, mistakes = read_valid_lines(content, file)
    if mistakes:
        raise ConfigError(*mistakes)
    return rows


def read_valid_lines(content: bytes, file: str) -> tuple[Seq, list[Mistake]]:
    """The objects of the lines that can be read, and the mistakes in all others.

    Raises ConfigError if the file has too many lines, or the run reads too many values.
    """
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
            rows.append(_read_line(line, origin))
        except ConfigError as e:
            mistakes += e.mistakes
        except TooMuch as e:
            raise ConfigError.at(str(e), origin, FEWER) from e
        if len(mistakes) > MAX_MISTAKES:
            what = "too many lines cannot be read, so the rest is not checked"
            mistakes[-1] = Mistake(what, origin, "correct these first")
            break
    return rows, mistakes


def _read_line(line: bytes, origin: Origin) -> Map:
    """The object in a line. Raises ConfigError and TooMuch."""
    try:
        text = line.decode()
    except UnicodeDecodeError as e:
        raise ConfigError.at("the line is not UTF-8 text", origin, "save the file as UTF-8") from e
    READ.add_values(count_values(text))
    row = parse_json_at(text, origin, _LINE_CURE, strict=False)
    if not isinstance(row, Map):
        raise ConfigError.at("the line is not a JSON object", origin, _LINE_CURE)
    return row


# --- texts ----------------------------------------------------------------------------------------------------


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


def encodable(text: str) -> str:
    """Write lone surrogates of a text as escapes, so that the text can be encoded as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
