"""Text of our own templates for a terminal or a block of code: every value in it is visible, with its lines as they are."""

import textwrap
from functools import partial

from gradegate.reports.format.escape import Escaped, fact, visible
from gradegate.reports.format.templates import Format


class Plain(Escaped):
    """Text in which nothing hides, and no control character stands but ours. For a runner it is made harmless besides."""


def plain(text: str) -> Plain:
    """Anybody's text, visible."""
    return Plain(visible(text))


PLAIN = Format(Plain, plain, fact=fact, indented=partial(textwrap.indent, prefix="  "))
