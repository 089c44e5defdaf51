"""What YAML's parser found wrong, in words of people, with the line and a mark below the column."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import yaml

from gradegate.errors import Mistake, Origin

_BEFORE, _AFTER = 60, 40  # characters that are shown around the mark
# Version control leaves these in a file of which both sides changed the same lines.
_MERGE = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)


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
        sign = line[mark.column : mark.column + 1]
        shown = "a tab" if sign == "\t" else f"`{sign}`" if sign.isprintable() else "this sign"
        return _at(file, mark, line, f"{shown} cannot begin a value", "put the text in quotes")
    for words in yaml.safe_load(resources.files("gradegate.files").joinpath("yaml_errors.yaml").read_text("utf-8")):
        if words["said"] in said:
            mark = error.context_mark if words["at"] == "start" and error.context_mark else mark
            return _at(file, mark, _line(lines, mark), words["what"], words["cure"])
    return _at(file, mark, line, said, "correct the YAML here")


def _line(lines: list[str], mark: Any) -> str:
    return lines[mark.line] if mark.line < len(lines) else ""


def _at(file: str, mark: Any, line: str, what: str, cure: str) -> Mistake:
    said = f"not valid YAML, column {mark.column + 1}: {what}"
    return Mistake(said, Origin(file, mark.line + 1), cure, excerpt=excerpt(line, mark.column))


def excerpt(line: str, column: int) -> str:
    """A line, or what is around a column of it (from 0), and a mark below that column; tabs are shown as arrows."""
    start, end = max(0, column - _BEFORE), column + _AFTER
    shown = ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
    return f"{shown}\n{' ' * (column - start + (start > 0))}^".replace("\t", "→")
