"""A lenient reader of one JSON object: what models write when they mean JSON, and nothing beyond it.

Accepted beside JSON (RFC 8259): single quotes, bare keys, bare verdict words, trailing commas, ``True``/``False``/
``None``, comments, raw newlines in strings; where that is not enough, quotes inside strings that are not escaped, and
commas left out before a key. A key that occurs twice with different values makes the object unreadable: two verdicts
are not one, and so a text that is quoted in a reason cannot pass for the verdict.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from typing import Any, NamedTuple

MAX_DEPTH = 50
_SKIP = re.compile(r"(?:\s+|//[^\n]*|\#[^\n]*|/\*.{0,500}?\*/)*", re.DOTALL)
# Possessive (`++`, `*+`) wherever a run could be split in many ways: a long one must not be tried at every place.
_NUMBER = re.compile(r"[-+]?(?:\d++\.?\d*+|\.\d++)(?:[eE][-+]?\d++)?(?![\w.])")
_RATIO = re.compile(r"[-+]?\d++(?:\.\d++)?\s*+(?:%|/\s*+\d++(?:\.\d++)?)(?![\w.])")
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_CONSTANTS = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "undefined": math.nan,  # there and not a number, as the next two: never what an absent score is
    "nan": math.nan,
    "infinity": math.inf,
}
# Cyrillic and Greek letters that look like Latin ones.
_LOOK_ALIKES = str.maketrans("авекмнорстухіјѕԁɡӏοαρυτκνιε", "abekmhopctyxijsdgloaputkvie")
_BARE = frozenset({"yes", "no", "y", "n", "pass", "fail", "idk", "borderline", *"abcde"})
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_QUOTES = {'"': '"', "'": "'", "“": "”", "`": "`"}
_PLAIN = {quote: re.compile(rf"[^{re.escape(close)}\\]+") for quote, close in _QUOTES.items()}


# What follows the quote that ends a value, where quotes inside it are not escaped: the next key, or the end.
_AFTER_VALUE = re.compile(r"""\s*+(?:[}\]]|(?:,\s*+)?(?:["'“`][\w $-]++["'”`]|[A-Za-z_$][\w$-]*+)\s*+:|,\s*+[}\]])""")
_AFTER_ITEM = re.compile(r"""\s*+(?:\]|,\s*+["'“`{\[\]])""")
_COLON = re.compile(r"\s*+:")
_OPENING = re.compile(
    r"""\{(?:\s*+(?://[^\n]*+|\#[^\n]*+|/\*))?\s*+(?:\}|\Z|["“][^"”\n]{0,200}+(?:\Z|["”]\s*+(?::|\Z))|['`][^'`\n]{0,200}+(?:\Z|['`]\s*+(?::|\Z))|[A-Za-z_$][\w$-]{0,100}+\s*+(?::|\Z))"""
)
_HALF = re.compile("[\ud800-\udfff]")
_STRUCTURE = re.compile(r'["{}]|\\.', re.DOTALL)
LONGEST_REPAIRED = 65_536  # characters after a brace; what is longer is read as it is written or not at all


class _How(NamedTuple):
    fold: bool  # keys in lower case
    repair: bool = False  # read on over quotes that are not escaped and over missing commas


class _Broken(ValueError):
    pass


class Piece(NamedTuple):
    """What a brace opens: its object, or None for one that cannot be read; ``closed``: its braces are balanced."""

    value: dict[str, Any] | None
    end: int
    closed: bool = True


def read_object(text: str, start: int, fold_keys: bool = True, repair: bool = True) -> Piece:
    """The object at ``text[start] == "{"``, its keys in lower case unless ``fold_keys`` is off, and where it ends.

    ``repair``: read on over quotes that are not escaped and commas that were left out.

    An object that cannot be read gives None and the end of its braces, so that nothing inside it is taken for a
    verdict; one that is never closed reaches to the end of the text; a brace that opens no object gives ``start + 1``.
    """
    if fold_keys:
        strict = _strict(text, start)
        if strict is not None:
            return strict
    repairable = repair and len(text) - start <= LONGEST_REPAIRED
    for repairing in (False, True)[: 1 + repairable]:
        try:
            return Piece(*_object(text, start, 0, _How(fold_keys, repairing)))
        except _Broken:
            continue
    return _end_of_braces(text, start)


def _strict(text: str, start: int) -> Piece | None:
    """An object that is plain JSON, which most are, read by Python's own reader in a fraction of the time; else None.

    It is read as ``_object`` reads it. What that treats in a way of its own is left to it: halves of characters, numbers
    that are none, deep nesting, and keys in several spellings or of other signs than letters and digits.
    """
    try:
        value, end = _JSON.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    deep = text.count("{", start, end) + text.count("[", start, end) > MAX_DEPTH
    halves = text.find("\\u", start, end) >= 0 or not (text.isascii() or _HALF.search(text, start, end) is None)
    return None if deep or halves else Piece(value, end)


def _plain(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raises ValueError for keys that are not simply read."""
    entries = {key.lower(): value for key, value in pairs}
    if len(entries) < len(pairs) or not all(key.isascii() and key.isalnum() for key in entries):
        raise _Broken
    return entries


def _no_number(word: str) -> Any:
    raise _Broken


_JSON = json.JSONDecoder(object_pairs_hook=_plain, parse_constant=_no_number)


def _skip(text: str, position: int) -> int:
    match = _SKIP.match(text, position)
    return match.end() if match else position


def _object(text: str, start: int, depth: int, how: _How) -> tuple[dict[str, Any], int]:
    if depth > MAX_DEPTH:
        raise _Broken
    entries: dict[str, Any] = {}
    spellings: dict[str, Any] = {}
    position = _skip(text, start + 1)
    while text[position : position + 1] != "}":
        key, position = _key(text, position)
        key = key.lower() if how.fold else key
        spelling = _skeleton(key) if how.fold else key
        position = _skip(text, position)
        if text[position : position + 1] != ":":
            raise _Broken
        value, position = _value(text, _skip(text, position + 1), depth, how, _AFTER_VALUE)
        if spelling in spellings and not _same(spellings[spelling], value):
            raise _Broken  # one key with two values, in whatever spelling
        spellings[spelling] = entries[key] = value
        position = _separator(text, position, "}", how)
    return entries, position + 1


def _same(value: Any, other: Any) -> bool:
    return isinstance(value, bool) is isinstance(other, bool) and bool(value == other)  # 1 == True in Python


def _skeleton(key: str) -> str:
    """A key as it looks: signs of full width, letters of other alphabets that look like Latin ones, blanks and signs."""
    if key.isascii() and key.isalnum():
        return key.lower()
    plain = unicodedata.normalize("NFKC", key).casefold().translate(_LOOK_ALIKES)
    return "".join(character for character in plain if character.isalnum()) or key


def _array(text: str, start: int, depth: int, how: _How) -> tuple[list[Any], int]:
    if depth > MAX_DEPTH:
        raise _Broken
    items: list[Any] = []
    position = _skip(text, start + 1)
    while text[position : position + 1] != "]":
        value, position = _value(text, position, depth, how, _AFTER_ITEM)
        items.append(value)
        position = _separator(text, position, "]", how)
    return items, position + 1


def _separator(text: str, position: int, close: str, how: _How) -> int:
    position = _skip(text, position)
    if text[position : position + 1] == ",":
        return _skip(text, position + 1)
    if text[position : position + 1] != close and not (how.repair and close == "}"):
        raise _Broken
    return position


def _key(text: str, position: int) -> tuple[str, int]:
    if text[position : position + 1] in _QUOTES:
        key, position = _string(text, position)
        return key.strip(), position
    word = _WORD.match(text, position)
    if word is None:
        raise _Broken
    return word[0], word.end()


def _value(text: str, position: int, depth: int, how: _How, after: re.Pattern[str]) -> tuple[Any, int]:
    first = text[position : position + 1]
    if first == "{":
        return _object(text, position, depth + 1, how)
    if first == "[":
        return _array(text, position, depth + 1, how)
    if first in _QUOTES:
        return _string(text, position, after if how.repair else None)
    ratio = _RATIO.match(text, position)
    if ratio:
        return ratio[0], ratio.end()
    number = _NUMBER.match(text, position)
    if number:
        return _number(number[0]), number.end()
    word = _WORD.match(text, position)
    if word is None:
        raise _Broken
    bare = word[0].lower()
    if bare in _CONSTANTS:
        return _CONSTANTS[bare], word.end()
    if bare in _BARE:
        return bare, word.end()
    raise _Broken  # `{pass: true, score: number}` is an example that was echoed, not an answer


def _number(written: str) -> float | int:
    try:
        return int(written)
    except ValueError:
        return float(written)


def _string(text: str, position: int, after: re.Pattern[str] | None = None) -> tuple[str, int]:
    """A string; with ``after``, a quote ends it only where that follows."""
    quote = text[position]
    close, plain = _QUOTES[quote], _PLAIN[quote]
    parts: list[str] = []
    position += 1
    while position < len(text):
        if text[position] == close and (after is None or after.match(text, position + 1)):
            return _whole("".join(parts)), position + 1
        if text[position] == close:
            if _COLON.match(text, position + 1):
                raise _Broken  # a key, so it is not a text that is quoted: perhaps the object was cut off and begun anew
            parts.append(close)
            position += 1
            continue
        if text[position] == "\\":
            part, position = _escape(text, position)
            parts.append(part)
        else:
            match = plain.match(text, position)
            assert match is not None  # neither the closing quote nor a backslash
            parts.append(match[0])
            position = match.end()
    raise _Broken


def _whole(text: str) -> str:
    r"""Join the halves of characters that JSON escapes as two, ``\ud83d\ude00``; a lone half becomes U+FFFD."""
    if text.isascii() or _HALF.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape(text: str, position: int) -> tuple[str, int]:
    following = text[position + 1 : position + 2]
    if following == "u":
        try:
            return chr(int(text[position + 2 : position + 6], 16)), position + 6
        except ValueError:
            return "u", position + 2
    return _ESCAPES.get(following, following), position + 2


def _end_of_braces(text: str, start: int) -> Piece:
    """The end of an unreadable brace group: quotes are respected while they can be told from apostrophes."""
    if not looks_like_object(text, start):
        return Piece(None, start + 1)
    depth, quoted = 0, False
    for match in _STRUCTURE.finditer(text, start):
        if match[0] == '"':
            quoted = not quoted
        elif not quoted and match[0] in "{}":
            depth += 1 if match[0] == "{" else -1
            if depth == 0:
                return Piece(None, match.end())
    return Piece(None, len(text), closed=False)


def looks_like_object(text: str, start: int) -> bool:
    """Whether a brace is followed by a key and a colon, by its closing brace, or by a quote and the end of the text."""
    return _OPENING.match(text, start) is not None
