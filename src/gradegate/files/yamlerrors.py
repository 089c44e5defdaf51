"""What YAML's parser found wrong, in words of people, with the line and a mark below the column."""

from __future__ import annotations

import re
from typing import Any

from gradegate.errors import Mistake, Origin

_BEFORE, _AFTER = 60, 40  # characters that are shown around the mark
_QUOTE = "put the text in quotes"
_INSIDE = "a text in it that holds a quotation mark, a comma or a brace stands in quotes"
# Version control leaves these in a file of which both sides changed the same lines.
_MERGE = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
# By a part of what the parser says: what is wrong, what to do, and whether that is where the parser gave up, or where it began.
_WORDS = (
    ("scanning a quoted scalar", "a quotation mark is opened here and not closed", "close it", True),
    ("unknown escape", "in double quotes, a backslash begins a sign that YAML does not know",
     "write the backslash twice, or use single quotes", False),
    ("expected ',' or ']'", "a list is opened here and not closed, or lacks a comma",
     f"write commas between its items, and close it with ]; {_INSIDE}", True),
    ("expected ',' or '}'", "a mapping is opened here and not closed, or lacks a comma",
     "write commas between its keys, and close it with }; " + _INSIDE, True),
    ("mapping values are not allowed", "a colon stands where no key is expected",
     f"{_QUOTE} if the colon belongs to it; else indent the line like its neighbours", False),
    ("parsing a block mapping", "this line is indented unlike the keys above", "indent it like its neighbours", False),
    ("parsing a block collection", "this line is no item of the list above", "begin it with `- `, or indent it less", False),
    ("sequence entries are not allowed", "an item of a list cannot stand here", "put it on a line of its own", False),
    ("could not find expected ':'", "this line has no `: ` after its key", "write `key: value`", True),
    ("flow node", "a value is missing here", "write it, or close what is open", False),
    ("document start", "the text goes on after its end", "indent what belongs to it", False),
    ("scanning a tag", "a `!` begins a tag of YAML here, and none is known", _QUOTE, True),
    ("scanning an alias", "a `*` begins the name of an anchor here, and no name follows", _QUOTE, True),
    ("anchor", "a `&` or a `*` begins a name here that is none", _QUOTE, False),
    ("directive", "a `%` cannot begin a line", _QUOTE, False),
)  # fmt: skip


def mistake(text: str, file: str, error: Any) -> Mistake:
    """A MarkedYAMLError as a mistake; ``error`` may have no mark, and then the file as a whole is meant."""
    mark, said = error.problem_mark or error.context_mark, " ".join(filter(None, (error.context, error.problem)))
    if mark is None:
        return Mistake(f"not valid YAML: {said}", Origin(file), "correct the YAML")
    if conflict := _MERGE.search(text):
        at = text.count("\n", 0, conflict.start()) + 1
        cure = "keep what is right of both, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`"
        return Mistake("a merge left its marks in the file", Origin(file, at), cure)
    lines = text.splitlines()
    line = _line(lines, mark)
    if "\t" in line[: mark.column + 1] and not line[: mark.column + 1].strip():
        return _at(file, mark, line, "a tab indents this line, and YAML takes spaces alone", "indent it with spaces")
    if "cannot start any token" in said:
        what = f"{_sign(line[mark.column : mark.column + 1])} cannot begin a value"
        return _at(file, mark, line, what, _QUOTE)
    for part, what, cure, at_start in _WORDS:
        if part in said:
            mark = error.context_mark if at_start and error.context_mark else mark
            return _at(file, mark, _line(lines, mark), what, cure)
    return _at(file, mark, line, said, "correct the YAML here")


def _line(lines: list[str], mark: Any) -> str:
    return lines[mark.line] if mark.line < len(lines) else ""


def _sign(character: str) -> str:
    return "a tab" if character == "\t" else f"`{character}`" if character.isprintable() else "this sign"


def _at(file: str, mark: Any, line: str, what: str, cure: str) -> Mistake:
    said = f"not valid YAML, column {mark.column + 1}: {what}"
    return Mistake(said, Origin(file, mark.line + 1), cure, excerpt=excerpt(line, mark.column))


def excerpt(line: str, column: int) -> str:
    """A line, or what is around a column of it (from 0), and a mark below that column; tabs are shown as arrows."""
    start, end = max(0, column - _BEFORE), column + _AFTER
    shown = ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
    return f"{shown}\n{' ' * (column - start + (start > 0))}^".replace("\t", "→")
