"""Finds the JSON objects in a text, also in the few other spellings that models have for JSON."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradegate.files.json_text import RefusedTextError

# A text in double or single quotes, a structural character, a bare word or number, or blanks.
_TOKEN = re.compile(
    r"""("(?:[^"\\]|\\.)*+")|('(?:[^'\\]|\\.)*+')|([{}\[\]:,])|([^\s{}\[\]:,"']++)|[ \t\r\n]++""",
    re.DOTALL,
)
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
_QUOTE_SPELLINGS = {"\\'": "'", '"': '\\"'}  # of a text in single quotes, as JSON has them
_SINGLE_QUOTED_SIGN = re.compile(r'\\.|"', re.DOTALL)
_BARE_KEY = re.compile(r"[^\W\d]\w*")
_COLON = re.compile(r"\s*+:")
# A text without quotes that begins with a letter, as the last value of the whole object, up to its closing brace.
_BARE_TEXT = re.compile(r"([^\W\d_][^{}\[\]\"':]++)\}\s*+\Z")
_CONSTANT_WORDS = ("NaN", "Infinity")
_OBJECT_START = re.compile(r"\{\s*+(?:[\"'}]|[^\W\d]\w{0,100}\s*+:)")
_BRACES = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}"]', re.DOTALL)


def refuse_constant(word: str) -> Any:
    """Raises RefusedTextError for NaN and Infinity."""
    raise RefusedTextError(f"{word} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=refuse_constant)


class FoundObject(NamedTuple):
    """A JSON object in a text; ``end`` is behind its last character."""

    value: dict[str, Any]
    start: int
    end: int


def find_objects(text: str) -> Iterator[FoundObject]:
    """The outermost objects, in order. What looks like an object and cannot be read is left out, with all that is inside it."""
    position = 0
    while match := _OBJECT_START.search(text, position):
        start = match.start()
        end = _closing_brace(text, start)
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            try:
                value = _DECODER.decode(standard_json(text[start:end]))
            except (ValueError, RecursionError):
                position = end
                continue
        yield FoundObject(value, start, end)
        position = end


def _closing_brace(text: str, start: int) -> int:
    """The end of the object that begins at ``start``, by its braces."""
    depth = 0
    for match in _BRACES.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(text)


def standard_json(text: str) -> str:
    """The JSON that a text is another spelling of. Raises ValueError.

    Other spellings are single quotes, bare keys, a comma before a closing bracket, `True`, `False`, `None`, raw line ends in
    texts, and a bare text as the last value of the whole object.
    """
    parts: list[str] = []
    last = 0  # the last part that is not blank
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ValueError("a text is not closed")
        double_quoted, single_quoted, structure, word = token.groups()

        # A bare text is the value behind a colon.
        if word and parts and parts[last] == ":" and (bare := _bare_text(text, position)):
            last = len(parts)
            parts.append(json.dumps(bare))
            position += len(bare)
            continue

        position = token.end()
        if structure and structure in "}]" and parts and parts[last] == ",":
            parts[last] = " "
        if token.lastindex:
            last = len(parts)
        if quoted := double_quoted or single_quoted:
            inside = quoted[1:-1]
            if single_quoted:
                inside = _SINGLE_QUOTED_SIGN.sub(
                    lambda match: _QUOTE_SPELLINGS.get(match[0], match[0]), inside
                )
            inside = inside.replace("\n", "\\n").replace("\r", "\\r")
            parts.append(f'"{inside}"')
        elif word and _BARE_KEY.fullmatch(word) and _COLON.match(text, position):
            parts.append(f'"{word}"')
        elif word:
            parts.append(_CONSTANTS.get(word, word))
        else:
            parts.append(structure or " ")
    return "".join(parts)


def _bare_text(text: str, position: int) -> str:
    """The text that begins at a position and is the last value of the whole; empty for a number, `true` and the like."""
    match = _BARE_TEXT.match(text, position)
    if match is None:
        return ""
    bare = match[1].rstrip().removesuffix(",").rstrip()
    if bare.endswith(",") or bare in _CONSTANT_WORDS:
        return ""
    try:
        _DECODER.decode(_CONSTANTS.get(bare, bare))
    except ValueError:
        return bare
    return ""
