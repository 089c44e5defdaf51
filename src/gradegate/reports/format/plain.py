"""Templates for a terminal or a block of code. Every value is visible, and keeps its lines."""

import sys
import textwrap
from functools import partial

from gradegate.reports.format.escape import Escaped, format_fact, visible
from gradegate.reports.format.templates import Format
from gradegate.security.redaction import whole_words


class Plain(Escaped):
    """Text in which nothing hides, and which has only our control characters. A runner needs it harmless besides."""


def plain(text: str) -> Plain:
    """Make anybody's text visible."""
    return Plain(visible(text))


def cut_line(text: str, columns: int) -> str:
    """Cut a text to the columns of a terminal, on which some signs take two. 0: any number."""
    if not columns:
        return text
    from rich.text import Text  # only on a terminal: it is slow to load

    line = Text(text)
    line.truncate(columns, overflow="ellipsis")
    return text if line.plain == text else f"{whole_words(text, len(line.plain) - 1)}…"


def wrap_line(text: str, columns: int) -> str:
    """Wrap a text into indented lines of so many columns. 0: any number."""
    return textwrap.indent(textwrap.fill(text, (columns or sys.maxsize) - 4), " " * 4)


PLAIN = Format(
    Plain,
    plain,
    fact=format_fact,
    indented=partial(textwrap.indent, prefix="  "),
    cut_line=cut_line,
    wrap_line=wrap_line,
)
