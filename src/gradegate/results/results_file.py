"""Reads the files of earlier runs: results.json and the history of the default branch.

A results.json is read as a decision (``load_decision``) or as the run of the base (``load_baseline``). Anybody may have written
these files, so all of their content is checked.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedReader
from itertools import islice
from pathlib import Path
from sys import intern

from msgspec.structs import astuple

from gradegate import __version__
from gradegate.core.provider_spec import NOTHING
from gradegate.core.usage import NO_USAGE
from gradegate.errors import ConfigError, Origin
from gradegate.files.limits import MAX_ANSWERS, MAX_BASELINE, MAX_FILE, MAX_HISTORY, MIB
from gradegate.files.plain_files import UnusableError, open_plain_file
from gradegate.results.baseline import Baseline, fold_base_runs
from gradegate.results.encoding import MisfitError, decode, encode
from gradegate.results.history import GradeRecord, HistoryLine, PastRun, Records
from gradegate.results.rows import Row, runs_by_case
from gradegate.results.run_result import Decision, RunResult
from gradegate.results.shape import Head, Results
from gradegate.structs import NamedTexts, replace

# The version of gradegate that wrote a file, whatever else stands in it.
_WRITER = re.compile(rb'"tool": ?"([0-9A-Za-z.+-]{1,40})"')
# The first line of results.json ends with this, each further line is a case, and the last line is this.
_HEAD_END = b'"cases":['
_LAST_LINE = b"]}"
_DIGEST_SIZE = 32  # bytes
_COMMIT = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})?")  # empty: no commit was known


def load_decision(path: Path) -> tuple[Decision, NamedTexts]:
    """Read a results.json: its decision, and the links of its run by name. Raises ConfigError if the file is not one."""
    try:
        with open_plain_file(path, MAX_BASELINE, follows_links=True) as file:
            content = file.read(MAX_BASELINE)
    except UnusableError as e:
        cure = "start `gradegate run` here first, or name the results.json of a run"
        raise ConfigError.at(f"`{path}` cannot be read: {e}", None, cure) from e
    return parse_decision(content, str(path))


def load_results(path: str | os.PathLike[str]) -> RunResult:
    """Read the run in a results.json. Raises ConfigError if the file is not one of this version."""
    return load_decision(Path(path))[0].run


def parse_decision(content: bytes, name: str) -> tuple[Decision, NamedTexts]:
    """Read the content of a results.json: its decision, and the links of its run by name. ``name`` is that of the file.

    Raises ConfigError.
    """
    try:
        results = decode(content, Results)
    except MisfitError as e:
        cure = "write it with `gradegate run -o results.json`"
        if str(e).startswith("version "):
            cure = f"read it with the gradegate that wrote it, or {cure}"
        problem = f"not a results.json of this version: {e}"
        raise ConfigError.at(problem, Origin(name), cure) from e
    return results.decision, results.links


def load_baseline(path: Path) -> Baseline:
    """Read the run of the base in a results.json. Raises UnusableError.

    gradegate writes a line for each case, and so the file is read line by line. Any other layout is read as a whole.
    """
    with open_plain_file(path, MAX_BASELINE) as file:
        start = file.readline(MAX_FILE)
        try:
            if start.rstrip().endswith(_HEAD_END):
                return _build_baseline(decode(start + _LAST_LINE, Results), _read_rows(file))
            if os.fstat(file.fileno()).st_size > MAX_FILE:
                raise UnusableError(
                    f"it has more than {MAX_FILE // MIB} MiB, and is not laid out as gradegate writes it"
                )
            results = decode(start + file.read(MAX_FILE), Results)
            return _build_baseline(results, results.cases)
        except MisfitError as e:
            writer = _WRITER.search(start)
            if writer and writer[1] != __version__.encode():
                reason = f"gradegate {writer[1].decode()} wrote it, and this is {__version__}"
            else:
                reason = f"it is not a results.json of this version: {e}"
            raise UnusableError(reason) from e


def _read_rows(file: BufferedReader) -> Iterator[Row]:
    """The cases on the lines after the first one, up to the last line. Raises UnusableError if there is no last line."""
    number = 1
    while line := file.readline(MAX_FILE).strip():
        if line == _LAST_LINE:
            return
        number += 1
        try:
            yield decode(line.removesuffix(b","), Row)
        except MisfitError as e:
            raise MisfitError(f"line {number}: {e}") from e
    raise UnusableError("it breaks off")


def _build_baseline(head: Head, cases: Iterable[Row]) -> Baseline:
    """The run of the base. Raises UnusableError if later runs cannot be compared with it, and MisfitError for a wrong case."""
    # 1. The cases, in the order of the file. All of them are in memory, so their number is limited.
    rows: list[Row] = []
    for row in islice(cases, MAX_ANSWERS + 1):
        if len(row.key) != _DIGEST_SIZE:
            raise MisfitError(f"cases.{len(rows)}.key is missing")
        rows.append(_without_unused(row))
    if len(rows) > MAX_ANSWERS:
        raise UnusableError(f"it has more than {MAX_ANSWERS:,} cases")

    # 2. How the run was made
    made = head.made
    if made.only:
        raise UnusableError(f"it holds a part of a run: {made.only}")
    if not _COMMIT.fullmatch(made.commit):
        raise UnusableError("it is not a results.json of this version: made.commit is not a commit")

    # 3. The runs of a case count as one answer.
    answers: list[Row] = []
    for case in runs_by_case(rows):
        answers += fold_base_runs(case)
    return Baseline(
        tuple(answers),
        commit=made.commit,
        started=made.started,
        models=tuple(model.name for model in head.models),
        reask=head.reask.mode if head.reask else "",
    )


def _without_unused(row: Row) -> Row:
    """The row without what is not compared, which would fill the memory if the file is large."""
    grades = tuple(
        replace(grade, reason="", evidence=NOTHING, usage=NO_USAGE) for grade in row.grades
    )
    variables = NOTHING if row.description else row.vars
    return replace(row, grades=grades, usage=NO_USAGE, vars=variables)


def load_history(path: Path) -> Records:
    """Read a history: what is recorded of each grade, by its identity. Raises UnusableError if the file is cut or damaged."""
    records = {}
    with open_plain_file(path, MAX_HISTORY) as file:
        for number, content in enumerate(file, 1):
            line = _parse_history_line(content, number)
            if line.grade in records:
                raise UnusableError(f"line {number} has a grade that is there already")
            # Most runs of most grades have equal texts, which are kept in memory once.
            runs = tuple(PastRun(*map(intern, astuple(run))) for run in line.runs)
            records[line.grade] = GradeRecord(line.name, runs)
    return records


def _parse_history_line(content: bytes, number: int) -> HistoryLine:
    """One line of a history. Raises UnusableError if it is cut, or of another version."""
    if not content.endswith(b"\n"):
        raise UnusableError("it breaks off")
    try:
        return decode(content, HistoryLine)
    except MisfitError as e:
        problem = f"it is not a history of this version: line {number}: {e}"
        raise UnusableError(problem) from e


def history_lines(records: Mapping[str, GradeRecord]) -> Iterator[str]:
    """The lines of a history file."""
    for grade, record in records.items():
        yield encode(HistoryLine(1, grade, record.name, record.runs)) + "\n"
