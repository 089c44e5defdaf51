"""Markdown as GitHub renders it: text that stays text, and pages that stay within a limit.

A page takes only ``Markdown``. The templates of ``MARKDOWN`` and the functions here make it of our own words and escape any other
text. What is put together in another way is a plain ``str`` again, which mypy refuses. tests/test_house.py checks the literals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar
from urllib.parse import quote

from gradegate.core.numbers import list_some
from gradegate.reports.format.escape import Escaped, one_line, visible
from gradegate.reports.format.templates import Format

S = TypeVar("S", bound=str)
_LINE = 600  # characters of a text that nobody has shortened yet
_URL = 2000  # characters; a longer address is not linked
BREAK = "\u200b"  # keeps GitHub from seeing a mention, a reference or an emoji; takes no room
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "<span>$</span>"}
_PUNCTUATION = re.compile(
    r"""
    [!#$&*<>\[\\\]^_`|~]  # Markdown, HTML or mathematics anywhere in a line
    | ^[-+=]  # a list or a heading, at the start of a line
    | (?<=www)\.  # an address without a scheme: www.example.com
    | :(?=//)  # an address: https://example.com
    | (?<=mailto):  # mailto:a@example.com, which GitHub links
    | (?<=xmpp):  # xmpp:a@example.com, which GitHub links
    """,
    re.IGNORECASE | re.VERBOSE,
)
# The number of a list, at the start of a line
_NUMBERED = re.compile(r"^(\d{1,9})(?=[.)](?:\s|$))")
# The start of an emoji's name, such as `:tada:`
_SHORTCODE = re.compile(r":(?=[\w+-]+:)")
# What GitHub links by itself in a conversation: GH-12, an advisory, a prefix that the repository has chosen (ABC-12), the
# hash of a commit in 7 to 40 digits. https://docs.github.com/get-started/writing-on-github (Autolinked references)
_REFERENCE = re.compile(r"(?<=[a-z]-)(?=\d)|(?<=ghsa-)(?=\w)", re.IGNORECASE)
_HASH = re.compile(r"(?<![^\W_])[0-9a-f]{7,}(?![^\W_])", re.IGNORECASE)
# A name between single backticks, which may stay code and does nothing there
_NAMES = re.compile(r"(?<!`)(`[\w./*-]+(?:[ :=][\w./*-]+)*`)(?!`)")
# GitHub's renderer counts at most 255 backticks, so longer runs could close any fence. A space after every 200 breaks them.
_LONG_FENCE = re.compile(r"`{200}(?=`)")
_GAP = re.compile(r"\n{3,}")
_GROUP = re.compile(r"\w{6}(?=\w)")  # GitHub links no hash of only 6 digits


class Markdown(Escaped):
    """Markdown in which text of users and models stays text."""


NOTHING = Markdown()
Render = Callable[..., Markdown]  # renders a macro of a template by its name, with its arguments
Measure = Callable[[str], int]  # the length of a text in the unit of a limit


def join_markdown(separator: str, texts: Iterable[str]) -> Markdown:
    """Join the texts that are not empty with a separator of ours."""
    return Markdown(separator.join(map(_as_markdown, filter(None, texts))))


def paragraphs(*blocks: str) -> Markdown:
    """The blocks that are not empty, with an empty line between them."""
    texts = (_as_markdown(block).strip("\n") for block in blocks)
    text = "\n\n".join(filter(None, texts))
    return Markdown(f"{text}\n") if text else NOTHING


def tidy(page: Markdown) -> Markdown:
    """Remove the empty lines that empty parts leave. Not for blocks of code, which must keep theirs."""
    return paragraphs(Markdown(_GAP.sub("\n\n", _as_markdown(page))))


def break_lines(lines: Markdown) -> Markdown:
    """Lines as one line that GitHub breaks."""
    return join_markdown("<br>", map(Markdown, _as_markdown(lines).split("\n")))


def some_names(names: Sequence[Markdown], total: int) -> Markdown:
    """``a, b and 3 more``: the names, and how many of all they leave out. ``total`` is the number of all."""
    # A template may pass a plain text for a name, which mypy does not see.
    return Markdown(list_some([_as_markdown(name) for name in names], total))


def first_names(names: Sequence[str], limit: int, most: int) -> Markdown:
    """The ``most`` first names, each of at most ``limit`` characters, and how many more there are."""
    return some_names([inline(name, limit) for name in names[:most]], len(names))


def inline(text: str, limit: int = 200) -> Markdown:
    """One line of anybody's text for any place in a page: it looks the same and does nothing."""
    return _escape_line(one_line(text, limit))


def sentence(text: str, limit: int = 200) -> Markdown:
    """One line of our own words: names between single backticks are code, the rest is escaped as by ``inline``."""
    parts: list[str] = _NAMES.split(one_line(text, limit))
    parts[::2] = map(_escape_line, parts[::2])  # between the names
    return Markdown("".join(parts))


def _as_markdown(text: str) -> Markdown:
    """Leave Markdown as it is, and escape any other text."""
    return text if isinstance(text, Markdown) else inline(text, _LINE)


def _escape_line(text: str) -> Markdown:
    """Escape one line.

    First come the breaks, which look for plain text: a backslash in between would hide an emoji or a reference from them.
    Then come the backslashes and entities. ``#`` needs both: a break against ``#12``, a backslash against a heading.
    """
    line = _SHORTCODE.sub(f":{BREAK}", text)
    line = _REFERENCE.sub(BREAK, line)
    line = _HASH.sub(lambda digits: _GROUP.sub(rf"\g<0>{BREAK}", digits[0]), line)
    line = line.replace("@", f"@{BREAK}").replace("#", f"#{BREAK}")

    line = _PUNCTUATION.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), line)
    return Markdown(_NUMBERED.sub(r"\1\\", line))


def code(text: str, limit: int = 200) -> Markdown:
    """A name as code. What could break out of the code, or of a table cell, is shown as plain text instead."""
    line = one_line(text, limit)
    if not line.strip() or re.search(r"[`|\\]|<!--", line):
        return inline(text, limit)
    return Markdown(f"`{line}`")


def fence(text: str, language: str = "text") -> Markdown:
    """Lines of anybody's text in a block of code that they cannot close."""
    # The comment of gradegate is found by the HTML comment at its start, so no other text may contain one.
    body = _LONG_FENCE.sub(r"\g<0> ", visible(text).replace("<!--", "<! --"))
    longest = max(map(len, re.findall(r"`+", body)), default=0)
    ticks = "`" * max(3, longest + 1)
    return Markdown(f"{ticks}{inline(language)}\n{body}\n{ticks}\n")


def link(label: str, url: str) -> Markdown:
    """A link, or only its label if the address is empty or too long. The address may be any text."""
    text = _as_markdown(label)
    if not url or len(url) > _URL:
        return text
    address = quote(url, safe="/:#?=&%~+,;@", errors="replace")
    if len(address) > _URL:  # quoting makes an address longer
        return text
    return Markdown(f"[{text}]({address})")


def details(summary: str, body: Markdown) -> Markdown:
    """A part folded under its title. Nothing for an empty part."""
    title = Markdown(f"<details><summary>{_as_markdown(summary)}</summary>")
    return paragraphs(title, body, Markdown("</details>")) if body.strip() else NOTHING


def quote_lines(text: Markdown) -> Markdown:
    """Lines as a quotation."""
    lines = _as_markdown(text).rstrip().split("\n")
    return Markdown("".join(f"> {line}".rstrip() + "\n" for line in lines))


def utf16_length(text: str) -> int:
    """The length as JavaScript counts it: never less than the number of characters."""
    return len(text) + sum(character > "\uffff" for character in text)


def utf8_length(text: str) -> int:
    """The length in bytes."""
    return len(text.encode("utf-8", "replace"))


def fit(blocks: Iterable[S], room: int, measure: Measure) -> list[S]:
    """The first blocks that fit into the room. No block is cut."""
    fitting = []
    for block in blocks:
        room -= measure(block)
        if room < 0:
            break
        fitting.append(block)
    return fitting


MARKDOWN = Format(
    Markdown,
    _as_markdown,
    inline=inline,
    sentence=sentence,
    code=code,
    fence=fence,
    link=link,
    details=details,
    quote_lines=quote_lines,
    break_lines=break_lines,
    some=some_names,
    first_names=first_names,
    tidy=tidy,
    dots=partial(join_markdown, " · "),
    dashes=partial(join_markdown, " – "),
    together=partial(join_markdown, ""),
)
