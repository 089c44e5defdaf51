"""Texts and values as people may read them: nothing in them hides, reorders, or is a command to a runner."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gradegate.results.rows import format_value
from gradegate.security.redaction import shorten_line
from gradegate.structs import JsonObject


class Escaped(str):
    """Text that may leave. Documents, the log and the comment take nothing else, and each kind is made in one place."""


class Log(Escaped):
    """Lines in which nothing is a command: of ``harmless`` and ``command``."""


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
_ODD = re.compile(rf"(?<=[^\x00-\x7f\s{_HIDDEN}])[{_JOINERS}]|([{_HIDDEN}])")


def visible(text: str) -> str:
    r"""The text with line feeds and tabs as they are, and other control and hidden characters as ``\x00``, ``\u202e``."""
    return _ODD.sub(_escaped, text.replace("\r\n", "\n"))


def clip(text: str, limit: int) -> str:
    """At most ``limit`` characters of the text, and how many were left out."""
    if len(text) <= limit:
        return text
    left = len(text) - limit
    return f"{text[:limit].rstrip()}… ({left:,} more character{'' if left == 1 else 's'})"


def fact(label: str, text: str, limit: int) -> str:
    """At most ``limit`` characters of a text behind its label, further lines indented."""
    first, *rest = clip(text.strip(), limit).split("\n")
    return "\n".join([f"{label}: {first}", *(f"  {line}" for line in rest)])


def one_line(text: str, limit: int = 200) -> str:
    """The text in one visible line of at most so many characters, before those that hide are written out."""
    return visible(shorten_line(text, limit))


def join_nonempty(separator: str, *texts: str | None) -> str:
    """The texts that say something, with the separator between them."""
    return separator.join(filter(None, texts))


def _escaped(match: re.Match[str]) -> str:
    if not match[1]:
        return match[0]
    code = ord(match[1])
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )


# --- text that the runner must not take for a command ----------------------------------------------------------

# How GitHub's older commands begin, wherever they stand: `##[`. Those of Azure Pipelines (`##vso[`) and TeamCity (`##teamcity[`), too,
# where the command line may run as well.
OLD = re.compile(r"##(?=[A-Za-z]*\[)")
# The runner looks for `::` at the start of a trimmed line, and for `##[` anywhere. It compares by culture, which skips invisible
# characters; `visible` has already written those out.
_START = re.compile(r"^([^\S\n]*)::", re.MULTILINE)


def command(kind: str, message: str, **properties: str | int | None) -> Log:
    """``::kind file=a,line=1::message``, escaped as actions/toolkit does; empty properties are left out.

    Signs that hide or move the cursor are written out: the runner shows the message in the log, and on the page.
    """
    written = {
        name: _data(str(value)).replace(":", "%3A").replace(",", "%2C")
        for name, value in properties.items()
        if value not in (None, "")
    }
    pairs = ",".join(f"{name}={value}" for name, value in written.items())
    return Log(f"::{kind}{' ' + pairs if pairs else ''}::{_data(message)}")


def harmless(text: str) -> Log:
    """The same text for a log: nothing in it can be a command, hide, or move the cursor."""
    return Log(OLD.sub("# #", _START.sub(r"\1: :", visible(text))))


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


# --- values ----------------------------------------------------------------------------------------------------


def spread(values: JsonObject) -> str:
    """A mapping as text, one entry below the other; texts keep their lines."""
    texts = {str(key): format_value(value, indent=2) for key, value in values.items()}
    return "\n".join(
        f"{key}:\n{text}" if "\n" in text else f"{key}: {text}" for key, text in texts.items()
    )


def outline(value: Any, limit: int) -> str:
    """The beginning of nested data as indented lines, without the marks of JSON; empty lists and mappings read ``none``.

    Only what is shown is read: data may be a thousand times as long.
    """
    room = limit - 80  # for the words on what is left out
    lines = []
    for line in _outlined(value):
        if room <= 0:
            lines.append("… (the rest is left out)")
            break
        lines.append(clip(line, room))
        room -= len(line) + 1
    return "\n".join(lines)


def _outlined(value: Any, depth: int = 40) -> Iterator[str]:
    pairs = value.items() if isinstance(value, Mapping) else (("-", item) for item in value)
    for key, item in pairs:
        is_list = isinstance(item, list | tuple)
        # A list of a few words, such as votes, reads best on one line; the arguments of a call stay JSON.
        words = item if is_list and len(item) <= 12 else ["-"]
        short = all(isinstance(it, str) and it.isalnum() and len(it) <= 12 for it in words)
        is_nested = (is_list or isinstance(item, Mapping)) and key != "arguments" and not short
        if is_nested and item and depth:
            lines = _outlined(item, depth - 1)
        else:
            text = ", ".join(words) if is_list and short else format_value(item)
            lines = iter((text if item not in ([], (), {}, None) else "none").split("\n"))
            is_nested = "\n" in text
        label = key if key == "-" else f"{key}:"
        # An item of a list starts on the line of its dash; what is short is beside its key.
        yield f"{label} {next(lines)}" if key == "-" or not is_nested else label
        yield from ("  " + line for line in lines)
