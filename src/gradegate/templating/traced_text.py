"""Texts that remember which of their parts a template itself wrote, and which come from values.

So where a template makes JSON or an address, its values are escaped, each of them once, and its own text is not.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from gradegate.templating.printing import show_value

# What a template makes. In JSON and in an address, no value can break out of its place.
TextFormat = Literal["text", "json", "url"]


class Writer(Enum):
    """Who wrote a part of a text."""

    TEMPLATE = "template"
    VALUE = "value"
    BOTH = "both"  # a filter has changed a text of both, so they cannot be told apart


class Part(NamedTuple):
    """A piece of a filled-in text."""

    text: str
    writer: Writer


class TracedText(str):
    """A text that knows its parts, some of which the template itself wrote."""

    __slots__ = ("parts",)
    parts: tuple[Part, ...]


def join_parts(parts: Iterable[Part]) -> TracedText:
    """The text of some parts, which remembers them."""
    parts = tuple(parts)
    text = TracedText("".join(part.text for part in parts))
    text.parts = parts
    return text


def template_text(text: str) -> TracedText:
    """A text that the template itself wrote."""
    return join_parts([Part(text, Writer.TEMPLATE)])


def has_template_text(value: Any) -> bool:
    """Whether a value contains a text that the template itself wrote, at least in part."""
    if isinstance(value, list | tuple):
        return any(map(has_template_text, value))
    return isinstance(value, TracedText)


_COMMA = (Part(",", Writer.TEMPLATE),)


def parts_of(value: Any, separator: Sequence[Part] = _COMMA) -> Iterator[Part]:
    """Yield the parts that a value prints; for a list those of its items, with ``separator`` between them.

    A short YAML file can make a list that prints without end. So nothing is collected before the length is checked.
    """
    if isinstance(value, TracedText):
        yield from value.parts
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            if number:
                yield from separator
            yield from parts_of(item)
    else:
        yield Part(show_value(value), Writer.VALUE)


# --- escaping ---------------------------------------------------------------------------------------------------


def escape_for(text_format: TextFormat) -> Callable[[Part], str]:
    """A function that makes the parts of one text harmless. It must get all of them, in their order."""
    match text_format:
        case "json":
            return _JsonEscape()
        case "url":
            return _escape_for_url
        case "text":
            return lambda part: part.text


def _escape_for_url(part: Part) -> str:
    """Percent-encode a value. One that the template encodes itself is a text of the template by now."""
    return part.text if part.writer is Writer.TEMPLATE else quote(part.text, safe="")


class _JsonEscape:
    """Escapes a value inside a string of JSON. Elsewhere, a value must be whole JSON, or nothing."""

    is_in_string = False

    def __call__(self, part: Part) -> str:
        """Raises TypeError for a value in a place where it cannot be escaped."""
        text = part.text
        if part.writer is Writer.TEMPLATE:
            return _STRING_SIGN.sub(self._pass_sign, text)
        if self.is_in_string:
            return json.dumps(text, ensure_ascii=False)[1:-1]

        try:
            value = json.loads(text) if text.strip() else ""
        except ValueError as e:
            raise TypeError("a value outside of quotes is not JSON: write `| dump`") from e
        if part.writer is Writer.BOTH and isinstance(value, dict | list):
            raise TypeError(
                "a filter changes JSON that the template puts together: write `| dump` behind each value"
            )
        return text

    def _pass_sign(self, match: re.Match[str]) -> str:
        """The sign as the template wrote it; a line break in a string is escaped. Notes where strings begin and end."""
        sign = match[0]
        if sign == '"':
            self.is_in_string = not self.is_in_string
        if self.is_in_string and sign == "\\":
            raise TypeError("a value stands behind a backslash")
        if self.is_in_string and sign < " ":
            return json.dumps(sign)[1:-1]
        return sign


# A quote, a control character, or a backslash with what it escapes; a lone backslash at the end would escape a value.
_STRING_SIGN = re.compile(r'\\.?|["\x00-\x1f]', re.DOTALL)
