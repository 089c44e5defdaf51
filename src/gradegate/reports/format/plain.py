"""Text of our own templates for a terminal or a block of code: every value in it is visible, with its lines as they are."""

import sys
import textwrap
from functools import partial

from gradegate.reports.format.escape import Escaped, fact, visible
from gradegate.reports.format.templates import Format
from gradegate.security.redaction import whole_words


class Plain(Escaped):
    """Text in which nothing hides, and no control character stands but ours. For a runner it is made harmless besides."""


def plain(text: str) -> Plain:
    """Anybody's text, visible."""
    return Plain(visible(text))


def cut_line(text: str, columns: int) -> str:
    """The text in so many columns of a terminal, on which some signs take two; 0 for any number."""
    if not columns:
        return text
    from rich.text import Text  # only on a terminal: it is slow to load

    line = Text(text)
    line.truncate(columns, overflow="ellipsis")
    return text if line.plain == text else f"{whole_words(text, len(line.plain) - 1)}…"


def wrap_line(text: str, columns: int) -> str:
    """The text in indented lines of so many columns; 0 for any number."""
    return textwrap.indent(textwrap.fill(text, (columns or sys.maxsize) - 4), " " * 4)


PLAIN = Format(
    Plain,
    plain,
    fact=fact,
    indented=partial(textwrap.indent, prefix="  "),
    cut_line=cut_line,
    wrap_line=wrap_line,
)
