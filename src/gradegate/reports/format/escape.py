"""Texts and values that people can read safely: nothing in them hides, changes the order of signs, or commands a runner."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gradegate.core.numbers import format_count
from gradegate.results.rows import format_value
from gradegate.security.redaction import shorten_line
from gradegate.structs import JsonObject


class Escaped(str):
    """Text that may leave. Documents, the log and the comment take no other text. Each kind is made in one place."""


class Log(Escaped):
    """Lines made by ``harmless`` and ``workflow_command``, in which nothing else is a command."""


class Xml(Escaped):
    """XML in which every character is allowed and visible."""


class Html(Escaped):
    """A part of a page of our own template, in which every value is visible and escaped."""


# Joiners and emoji variants keep their meaning behind a letter that needs them; anywhere else they only hide things.
_JOINERS = "\u200c\u200d\ufe0f"
_HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# A joiner behind a letter that may need it, or a hidden character, which is the group
_ODD = re.compile(rf"(?<=[^\x00-\x7f\s{_HIDDEN}])[{_JOINERS}]|([{_HIDDEN}])")


def visible(text: str) -> str:
    r"""Write out control and hidden characters as ``\x00``, ``\u202e``. Line feeds and tabs stay."""
    return _ODD.sub(_write_out, text.replace("\r\n", "\n"))


def _write_out(match: re.Match[str]) -> str:
    if not match[1]:  # a joiner with a meaning
        return match[0]
    number = ord(match[1])
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def clip(text: str, limit: int) -> str:
    """At most ``limit`` characters of the text, and how many were left out."""
    if len(text) <= limit:
        return text
    more = format_count(len(text) - limit, "more character")
    return f"{text[:limit].rstrip()}… ({more})"


def format_fact(label: str, text: str, limit: int) -> str:
    """At most ``limit`` characters of a text behind its label. Further lines are indented."""
    lines = clip(text.strip(), limit).replace("\n", "\n  ")
    return f"{label}: {lines}"


def one_line(text: str, limit: int = 200) -> str:
    """At most ``limit`` characters of the text in one visible line. What is written out may make it longer."""
    return visible(shorten_line(text, limit))


def join_nonempty(separator: str, *texts: str | None) -> str:
    """Join the texts that are not empty."""
    return separator.join(filter(None, texts))


# --- text that the runner must not take for a command -------------------------------------------------------------------

# How GitHub's older commands begin, wherever they stand: `##[`. Azure Pipelines (`##vso[`) and TeamCity (`##teamcity[`), where
# the command line may run as well, have similar ones.
OLD_COMMAND = re.compile(r"##(?=[A-Za-z]*\[)")
# The runner looks for `::` at the start of a trimmed line, and for `##[` anywhere. It compares by culture, which skips invisible
# characters; `visible` has already written those out.
_COMMAND_START = re.compile(r"^([^\S\n]*)::", re.MULTILINE)


def workflow_command(kind: str, message: str, **properties: str | int | None) -> Log:
    """``::kind file=a,line=1::message``, escaped as actions/toolkit does. Empty properties are left out.

    Signs that hide or move the cursor are written out: the runner shows the message in the log, and on the page.
    """
    pairs = []
    for name, value in properties.items():
        if value not in (None, ""):
            text = _escape_data(str(value)).replace(":", "%3A").replace(",", "%2C")
            pairs.append(f"{name}={text}")
    gap = " " if pairs else ""
    return Log(f"::{kind}{gap}{','.join(pairs)}::{_escape_data(message)}")


def _escape_data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def harmless(text: str) -> Log:
    """The same text for a log. Nothing in it is a command, hides, or moves the cursor."""
    return Log(OLD_COMMAND.sub("# #", _COMMAND_START.sub(r"\1: :", visible(text))))


# --- values -------------------------------------------------------------------------------------------------------------

_MOST_WORDS = 12  # of a list on one line, and letters of such a word


def spread_values(values: JsonObject) -> str:
    """A mapping as text, one entry below the other. Texts keep their lines."""
    entries = []
    for key, value in values.items():
        text = format_value(value, indent=2)
        gap = "\n" if "\n" in text else " "
        entries.append(f"{key}:{gap}{text}")
    return "\n".join(entries)


def outline(value: Any, limit: int) -> str:
    """At most ``limit`` characters of nested data as indented lines, without the marks of JSON. Empty data reads ``none``.

    Only what is shown is read: data may be a thousand times as long.
    """
    room = limit - 80  # for the words on what is left out
    lines = []
    for line in _outline_lines(value):
        if room <= 0:
            lines.append("… (the rest is left out)")
            break
        lines.append(clip(line, room))
        room -= len(line) + 1
    return "\n".join(lines)


def _outline_lines(value: Any, depth: int = 40) -> Iterator[str]:
    """Yield the lines of a list or a mapping. What is nested deeper than ``depth`` is written as JSON."""
    pairs = value.items() if isinstance(value, Mapping) else (("-", item) for item in value)
    for key, item in pairs:
        is_nested = isinstance(item, list | tuple | Mapping) and key != "arguments"
        lines: Iterable[str]
        if is_nested and item and depth and not _is_short_list(item):
            lines = _outline_lines(item, depth - 1)
            is_block = True
        else:
            text = _outline_text(item)
            lines = text.split("\n")
            is_block = "\n" in text

        # An item of a list starts on the line of its dash, and a text of one line on that of its key.
        margin = f"{key}: "
        if key == "-":
            margin = "- "
        elif is_block:
            yield f"{key}:"
            margin = "  "
        for line in lines:
            yield margin + line
            margin = "  "


def _outline_text(item: Any) -> str:
    """Data as text: ``none``, words with commas between, or JSON."""
    if item in ([], (), {}, None):
        return "none"
    return ", ".join(item) if _is_short_list(item) else format_value(item)


def _is_short_list(item: Any) -> bool:
    """Whether data is a list of a few words, such as votes."""
    if not isinstance(item, list | tuple) or len(item) > _MOST_WORDS:
        return False
    return all(
        isinstance(word, str) and word.isalnum() and len(word) <= _MOST_WORDS for word in item
    )
