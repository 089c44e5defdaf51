"""Undoes what hides the letters of a text: percent, HTML and JSON escapes, tags, line breaks and signs that nobody sees.

``readings_of`` gives every reading of a text that has to be searched. What is found in one can be traced back to the text.
"""

import html
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

# How many escapes may be nested. A URL, a form and a JSON body escape a text once, and its writer may have done so twice.
_MOST_NESTED = 3

# Letters of the block Tags: nobody sees them, and each stands for an ASCII character. A model can read and write with them.
_TAG_LETTER = re.compile("[\U000e0020-\U000e007e]")
_SPELLED_TAG_LETTERS = {0xE0000 + code: code for code in range(0x20, 0x7F)}

_INVISIBLE = (
    "\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff"
)
# What an escape may stand for without leaving anything: it only breaks a word up.
_VANISHING = re.compile(rf"[{_INVISIBLE}\n\r\t]+")

# Escapes: `%2B%2f`, `&amp;` and `&#x41;`, `\"`, `\n`, `\u0041`, `\x41`. JSON writes a letter beyond U+FFFF as two escapes, a
# surrogate pair: `\ud835\udc00` is one bold A.
_ESCAPE = re.compile(
    r"(?P<percent>(?:%[0-9A-Fa-f]{2})+)"
    r"|(?P<entity>&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[a-zA-Z][a-zA-Z0-9]{1,31};))"
    r"|(?P<sign>\\[^\w\s])"
    r"|(?P<line>\\[nrt])"
    r"|(?P<utf16>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4})"
    r"|(?P<byte>\\x[0-9a-fA-F]{2})"
)
# What breaks a word up: `<!-- x -->`, `<b>`, `</b>`, a line break (of a shell, of mail, of YAML), invisible signs, `ESC[31m`.
_GAP = re.compile(
    r"<!--.{0,12}?-->"
    r"|</?[a-zA-Z][a-zA-Z0-9]{0,9}[ ]?/?>"
    r"|[\\=]?(?:\r\n|[\n\r\u2028\u2029])[ \t>|]*"
    rf"|[{_INVISIBLE}]+"
    r"|\x1b(?:\[[0-9;]*[A-Za-z])?"
)
# The first characters of all escapes and gaps
_SUSPECT = re.compile(rf"[%&\\<=\n\r\x1b\u2028\u2029{_INVISIBLE}]")

Span = tuple[int, int]  # the first character, and the one after the last


class UnescapedText(NamedTuple):
    """A text with some of its escapes undone."""

    text: str
    # The place of each character in the original text. Empty if nobody asked for it.
    origins: list[Span]


def readings_of(text: str, with_origins: bool = False) -> Iterator[UnescapedText]:
    """Yield every reading of a text: as it is, and with its escapes undone once and more often.

    A text with tag letters is read in two ways: in one they are signs that nobody sees, in the other the letters they stand for.
    """
    origins = []
    if with_origins:
        origins = [(place, place + 1) for place in range(len(text))]
    return _read_on(UnescapedText(text, origins), _MOST_NESTED)


def _read_on(reading: UnescapedText, rounds: int) -> Iterator[UnescapedText]:
    """Yield a reading, and those with escapes undone at most ``rounds`` times more."""
    yield reading
    text, origins = reading
    if not _SUSPECT.search(text):
        return
    if _has_tag_letters(text):
        yield from _read_on(UnescapedText(text.translate(_SPELLED_TAG_LETTERS), origins), rounds)
    if rounds:
        undone = _undo_escapes(reading)
        if undone.text != text:
            yield from _read_on(undone, rounds - 1)


def _has_tag_letters(text: str) -> bool:
    return not text.isascii() and _TAG_LETTER.search(text) is not None


def _undo_escapes(reading: UnescapedText) -> UnescapedText:
    """Undo each escape once. All characters of an escape have its place as their origin."""
    text, origins = reading
    parts = []
    undone_origins = []
    end = 0
    for escape in _escapes_in(text):
        start = escape.start()
        undone = _undo_escape(escape)
        parts += [text[end:start], undone]
        if origins:
            undone_origins += origins[end:start]
            place = (origins[start][0], origins[escape.end() - 1][1])
            undone_origins += [place] * len(undone)
        end = escape.end()
    return UnescapedText("".join([*parts, text[end:]]), undone_origins + origins[end:])


def _escapes_in(text: str) -> Iterator[re.Match[str]]:
    """The escapes and gaps in a text, searched where one can start: searching for all of them is twenty times as slow."""
    end = 0
    for suspect in _SUSPECT.finditer(text):
        start = suspect.start()
        if start >= end and (escape := _ESCAPE.match(text, start) or _GAP.match(text, start)):
            end = escape.end()
            yield escape


def _undo_escape(match: re.Match[str]) -> str:
    """What an escape stands for. Empty for a gap."""
    escape = match[0]
    kind = match.lastgroup
    if kind == "sign":
        text = escape[1:]
    elif kind == "percent":
        return unquote(escape, errors="replace")
    elif kind == "entity":
        text = html.unescape(escape)
    elif kind == "utf16":
        units = bytes.fromhex(escape.replace("\\u", ""))
        text = units.decode("utf-16-be", "surrogatepass")
    elif kind == "byte":
        text = bytes.fromhex(escape[2:]).decode("latin-1")
    else:
        return ""
    # Tag letters have a second reading, so they stay until the next round.
    vanishes = _VANISHING.fullmatch(text) and not _has_tag_letters(text)
    return "" if vanishes else text
