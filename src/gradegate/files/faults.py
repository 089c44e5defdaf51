"""Where a text stops being what a library reads, in words of ours: those of an exception are for whoever calls the library."""

import re
from json import JSONDecodeError


class WrongError(ValueError):
    """A reader of ours refuses a text; the message is a sentence for people."""


def fault(error: Exception, text: str) -> str:
    """Why a text could not be read, by its place alone, as parsers of JSON, XML and regular expressions say it; lines from 1."""
    if isinstance(error, WrongError):
        return str(error)
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    place = getattr(error, "position", None) or (
        getattr(error, "lineno", 0),
        getattr(error, "offset", 0),
    )
    if isinstance(error, JSONDecodeError | re.error) and error.pos is not None:
        at = error.pos
    elif place[0]:
        at = sum(map(len, text.splitlines(keepends=True)[: place[0] - 1])) + place[1]
    else:
        return "it holds what cannot be read"  # such as a number of 5,000 digits
    if not text.strip():
        return "it is empty"
    if not text[at:].strip():
        return "it ends too early"
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    if text[at] in "\"'" and not re.fullmatch(
        r"""(["'])(?:(?!\1)[^\\]|\\.)*\1.*""", text[at:], re.DOTALL
    ):
        return f"the text that begins at line {line}, column {column} has no end"
    sign = text[at] if text[at].isprintable() and not text[at].isspace() else "this character"
    return f"{f'`{sign}`' if len(sign) == 1 else sign} cannot stand at line {line}, column {column}"
