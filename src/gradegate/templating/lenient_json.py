"""JSON in the few other spellings that models have for it, and the JSON objects that a text holds."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradegate.files.documents import WrongError

# A text in double or single quotes, a sign of structure, a bare word or number, or blanks.
_TOKEN = re.compile(
    r"""("(?:[^"\\]|\\.)*+")|('(?:[^'\\]|\\.)*+')|([{}\[\]:,])|([^\s{}\[\]:,"']++)|[ \t\r\n]++""",
    re.DOTALL,
)
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
_QUOTES = {"\\'": "'", '"': '\\"'}  # of a text in single quotes, as JSON has them
_BARE_KEY = re.compile(r"[^\W\d]\w*")
_COLON = re.compile(r"\s*+:")
# A text without quotes, which begins with a letter, as the last value of the whole object, up to its closing brace.
_BARE_TEXT = re.compile(r"([^\W\d_][^{}\[\]\"':]++)\}\s*+\Z")
_NO_NUMBERS = ("NaN", "Infinity")
_BEGINS = re.compile(r"\{\s*+(?:[\"'}]|[^\W\d]\w{0,100}\s*+:)")
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}"]', re.DOTALL)


def refuse_constant(word: str) -> Any:
    """Raises WrongError for NaN and Infinity."""
    raise WrongError(f"{word} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=refuse_constant)


class FoundObject(NamedTuple):
    """An object with the place where it begins and that where it has ended."""

    value: dict[str, Any]
    start: int
    end: int


def find_objects(text: str) -> Iterator[FoundObject]:
    """The outermost objects, in order. What looks like one and cannot be read is left out, with all that is inside it."""
    position = 0
    while begins := _BEGINS.search(text, position):
        start = begins.start()
        position, depth = len(text), 0  # the end of its braces
        for sign in _STRUCTURE.finditer(text, start):
            depth += {"{": 1, "}": -1}.get(sign[0], 0)
            if depth == 0:
                position = sign.end()
                break
        try:
            value, position = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            try:
                value = _DECODER.decode(standard_json(text[start:position]))
            except (ValueError, RecursionError):
                continue
        yield FoundObject(value, start, position)


def standard_json(text: str) -> str:
    """The JSON that a text is another spelling of. Raises ValueError.

    Single quotes, bare keys, a comma before a closing bracket, `True`, `False`, `None`, raw line ends in texts, and a bare text
    as the last value of the whole object.
    """
    parts: list[str] = []
    last, position = 0, 0  # `last` is the part before the blanks
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ValueError("a text is not closed")
        if token[4] and parts and parts[last] == ":" and (bare := _bare_text(text, position)):
            parts.append(json.dumps(bare))
            last = len(parts) - 1
            position = position + len(bare)
            continue
        position = token.end()
        double, single, sign, word = token.groups()
        if sign and sign in "}]" and parts and parts[last] == ",":
            parts[last] = " "
        if token.lastindex:
            last = len(parts)
        if written := double or single:
            inside = written[1:-1]
            if single:
                inside = re.sub(
                    r'\\.|"', lambda sign: _QUOTES.get(sign[0], sign[0]), inside, flags=re.DOTALL
                )
            parts.append('"' + inside.replace("\n", "\\n").replace("\r", "\\r") + '"')
        elif word and _BARE_KEY.fullmatch(word) and _COLON.match(text, position):
            parts.append(f'"{word}"')
        else:
            parts.append(sign or _CONSTANTS.get(word, word) or " ")
    return "".join(parts)


def _bare_text(text: str, position: int) -> str:
    """The text that begins at a position and is the last value of the whole; empty for a number, `true` and the like."""
    found = _BARE_TEXT.match(text, position)
    if found is None:
        return ""
    bare = found[1].rstrip().removesuffix(",").rstrip()
    if bare.endswith(",") or bare in _NO_NUMBERS:
        return ""
    try:
        _DECODER.decode(_CONSTANTS.get(bare, bare))
    except ValueError:
        return bare
    return ""
