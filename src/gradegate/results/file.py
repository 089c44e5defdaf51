"""A results.json that anybody may have written: as the decision that it holds, and as the run of the base.

The file has one case a line, so that the base is read line by line; a file that is laid out otherwise is read whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from gradegate.errors import ConfigError, Origin
from gradegate.files.bounds import MAX_ANSWERS, MAX_BASELINE, MAX_FILE, MIB
from gradegate.files.plain_files import UnusableError, regular
from gradegate.files.validation import first_wrong
from gradegate.results.earlier_run import Baseline, together
from gradegate.results.mapping import value
from gradegate.results.shape import CaseLine, Head, Results
from gradegate.values.account import Made
from gradegate.values.conversation import NO_USAGE
from gradegate.values.result import Decision, Row, runs_of
from gradegate.values.suite import NOTHING

_HEAD_END, _LAST = b'"cases":[', b"]}"  # how the first line of results.json ends, and what the last one is


def reread_file(path: Path) -> tuple[Decision, Mapping[str, str]]:
    """The decision that a results.json holds, and the links of its head. Raises ConfigError when it is not one."""
    try:
        with regular(path, MAX_BASELINE, links=True) as file:
            results = _results(file.read(MAX_BASELINE), str(path))
    except UnusableError as e:
        cure = "name the results.json of a run: `gradegate run -o results.json` writes one"
        raise ConfigError.at(f"`{path}` cannot be read: {e}", None, cure) from e
    return _decision(results), results.links


def reread(content: bytes, name: str) -> Decision:
    """The decision that the bytes of a results.json hold; ``name`` is for messages. Raises ConfigError."""
    return _decision(_results(content, name))


def _results(content: bytes, name: str) -> Results:
    try:
        return Results.model_validate_json(content)
    except ValidationError as e:
        cure = "write it with `gradegate run -o results.json`"
        if e.errors(include_url=False)[0]["loc"] == ("version",):
            cure = f"read it with the gradegate that wrote it, or {cure}"
        raise ConfigError.at(f"not a results.json of this version: {first_wrong(e)}", Origin(name), cure) from e


def _decision(results: Results) -> Decision:
    blocking = frozenset(place for place, line in enumerate(results.cases) if line.blocks)
    return replace(value(Decision, results), blocking=blocking)


# --- the run of the base --------------------------------------------------------------------------------------


class _Answer(CaseLine):
    """A case of the base: without a key, there is nothing that it could be compared by."""

    key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Base(Head):
    cases: list[_Answer]


def read_baseline(path: Path) -> Baseline:
    """The run of the base that a results.json holds. Raises UnusableError."""
    try:
        with regular(path, MAX_BASELINE) as file:
            start = file.readline(MAX_FILE)
            if start.rstrip().endswith(_HEAD_END):
                return _baseline(_Base.model_validate_json(start + _LAST), _lines(file))
            if os.fstat(file.fileno()).st_size > MAX_FILE:
                raise UnusableError(f"it has more than {MAX_FILE // MIB} MiB, and is not laid out as gradegate writes it")
            head = _Base.model_validate_json(start + file.read(MAX_FILE))
            return _baseline(head, head.cases)
    except ValidationError as e:
        raise UnusableError(f"it is not a results.json of this version: {first_wrong(e)}") from e


def _lines(file: BufferedReader) -> Iterator[_Answer]:
    while line := file.readline(MAX_FILE).strip():
        if line == _LAST:
            return
        yield _Answer.model_validate_json(line.removesuffix(b","))
    raise UnusableError("it breaks off")


def _baseline(head: _Base, cases: Iterable[_Answer]) -> Baseline:
    rows = [*map(_row, islice(cases, MAX_ANSWERS + 1))]
    if len(rows) > MAX_ANSWERS:
        raise UnusableError(f"it has more than {MAX_ANSWERS:,} cases")
    made = value(Made, head.made)
    if made.only:
        raise UnusableError(f"it holds a part of a run: {made.only}")
    if not re.fullmatch(r"([0-9a-f]{40}|[0-9a-f]{64})?", made.commit):
        raise UnusableError("it is not a results.json of this version: made.commit is not a commit")
    return Baseline(
        tuple(row for case in runs_of(rows) for row in together(case)),
        commit=made.commit,
        started=made.started,
        models=tuple(model.name for model in head.asked),
        confirm=head.confirm.mode if head.confirm else "",
    )


def _row(line: _Answer) -> Row:
    """The row, without what nothing of another run is compared with: of a large file it would fill the memory."""
    row = value(Row, line)
    grades = tuple(replace(grade, reason="", evidence=NOTHING, usage=NO_USAGE) for grade in row.grades)
    return replace(row, grades=grades, usage=NO_USAGE, vars=NOTHING if row.description else row.vars)
