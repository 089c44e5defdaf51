"""Files of earlier runs, which anybody may have written: results.json as a decision and as the run of the base, and the history."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from io import BufferedReader
from itertools import islice
from pathlib import Path
from sys import intern
from typing import Annotated, Literal

from msgspec.structs import asdict
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from gradegate import __version__
from gradegate.core.provider_spec import NOTHING
from gradegate.core.usage import NO_USAGE
from gradegate.core.validation import first_wrong
from gradegate.errors import ConfigError, Origin
from gradegate.files.limits import MAX_ANSWERS, MAX_BASELINE, MAX_FILE, MAX_HISTORY, MIB
from gradegate.files.plain_files import UnusableError, regular
from gradegate.results.accounts import Made
from gradegate.results.baseline import Baseline, together
from gradegate.results.history import GradeRecord, PastRun, Records
from gradegate.results.mapping import Sha256, model_of, value, written
from gradegate.results.rows import Row, runs_of
from gradegate.results.run_result import Decision
from gradegate.results.shape import VERSION, CaseLine, Head, Results, Version
from gradegate.structs import NamedTexts, replace

# The version of gradegate that wrote a file, whatever else stands in it.
_WRITER = re.compile(rb'"tool": ?"([0-9A-Za-z.+-]{1,40})"')
Shared = AfterValidator(intern)  # most runs of most grades say the same
_HEAD_END, _LAST = (
    b'"cases":[',
    b"]}",
)  # how the first line of results.json ends, and what the last one is


def reread_file(path: Path) -> tuple[Decision, NamedTexts]:
    """The decision that a results.json holds, and the links of its head. Raises ConfigError when it is not one."""
    try:
        with regular(path, MAX_BASELINE, links=True) as file:
            content = file.read(MAX_BASELINE)
    except UnusableError as e:
        cure = "start `gradegate run` here first, or name the results.json of a run"
        raise ConfigError.at(f"`{path}` cannot be read: {e}", None, cure) from e
    return reread(content, str(path))


def reread(content: bytes, name: str) -> tuple[Decision, NamedTexts]:
    """The same of its content; ``name`` is for messages."""
    try:
        results = model_of(Results).model_validate_json(content)
    except ValidationError as e:
        cure = "write it with `gradegate run -o results.json`"
        if e.errors(include_url=False)[0]["loc"] == ("version",):
            cure = f"read it with the gradegate that wrote it, or {cure}"
        raise ConfigError.at(
            f"not a results.json of this version: {first_wrong(e)}", Origin(name), cure
        ) from e
    blocking = frozenset(place for place, line in enumerate(results.cases) if line.blocks)
    return replace(value(Decision, results), blocking=blocking), results.links


_Party = tuple[str, str, str]


class _Answer(CaseLine):
    """A case of the base: without a key, there is nothing that it could be compared by."""

    key: Sha256
    parties: tuple[()] | tuple[_Party, _Party] = ()


class _Base(Head):
    cases: list[_Answer]


def read_baseline(path: Path) -> Baseline:
    """The run of the base that a results.json holds, a line for each case; laid out otherwise, it is read whole. Raises UnusableError."""
    with regular(path, MAX_BASELINE) as file:
        start = file.readline(MAX_FILE)
        try:
            if start.rstrip().endswith(_HEAD_END):
                return _baseline(model_of(_Base).model_validate_json(start + _LAST), _lines(file))
            if os.fstat(file.fileno()).st_size > MAX_FILE:
                raise UnusableError(
                    f"it has more than {MAX_FILE // MIB} MiB, and is not laid out as gradegate writes it"
                )
            head = model_of(_Base).model_validate_json(start + file.read(MAX_FILE))
            return _baseline(head, head.cases)
        except ValidationError as e:
            writer = _WRITER.search(start)
            if writer and writer[1] != __version__.encode():
                why = f"gradegate {writer[1].decode()} wrote it, and this is {__version__}"
            else:
                why = f"it is not a results.json of this version: {first_wrong(e)}"
            raise UnusableError(why) from e


def _lines(file: BufferedReader) -> Iterator[_Answer]:
    while line := file.readline(MAX_FILE).strip():
        if line == _LAST:
            return
        yield model_of(_Answer).model_validate_json(line.removesuffix(b","))
    raise UnusableError("it breaks off")


def _baseline(head: _Base, cases: Iterable[_Answer]) -> Baseline:
    rows = []
    for row in (value(Row, case) for case in islice(cases, MAX_ANSWERS + 1)):
        # What nothing of another run is compared with would fill the memory, of a large file.
        grades = tuple(
            replace(grade, reason="", evidence=NOTHING, usage=NO_USAGE) for grade in row.grades
        )
        rows.append(
            replace(
                row, grades=grades, usage=NO_USAGE, vars=NOTHING if row.description else row.vars
            )
        )
    if len(rows) > MAX_ANSWERS:
        raise UnusableError(f"it has more than {MAX_ANSWERS:,} cases")
    made = value(Made, head.made)
    if made.only:
        raise UnusableError(f"it holds a part of a run: {made.only}")
    if not re.fullmatch(r"([0-9a-f]{40}|[0-9a-f]{64})?", made.commit):
        raise UnusableError("it is not a results.json of this version: made.commit is not a commit")
    answers = tuple(row for case in runs_of(rows) for row in together(case))
    models = tuple(model.name for model in head.asked)
    return Baseline(
        answers, made.commit, made.started, models, head.confirm.mode if head.confirm else ""
    )


class _Run(BaseModel, strict=True, extra="forbid", frozen=True, defer_build=True):
    at: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), Shared]
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{0,64}$"), Shared]
    model: Annotated[str, Field(max_length=300), Shared]
    votes: Annotated[str, Field(pattern=r"^[PFE]{1,200}$"), Shared]
    outcome: Annotated[Literal["pass", "fail", "error", "open"], Shared]
    request: Annotated[str, Field(pattern=r"^[0-9a-f]{0,64}$"), Shared]


class _Line(BaseModel, strict=True, extra="forbid", frozen=True, defer_build=True):
    """A line of the history: a grade. Nothing in it is a text of an answer or a reason."""

    v: Version
    grade: Sha256
    name: Annotated[str, Field(max_length=1000)]
    runs: list[_Run]


def read_history(path: Path) -> Records:
    """The grades of a file by their identities. Raises UnusableError for a file that is not whole, or of another version."""
    found = {}
    try:
        with regular(path, MAX_HISTORY) as file:
            for number, content in enumerate(file, 1):
                if not content.endswith(b"\n"):
                    raise UnusableError("it breaks off")
                line = _Line.model_validate_json(content)
                if line.grade in found:
                    raise UnusableError(f"line {number} has a grade that is there already")
                found[line.grade] = GradeRecord(
                    line.name, tuple(PastRun(**dict(run)) for run in line.runs)
                )
    except ValidationError as e:
        raise UnusableError(
            f"it is not a history of this version: line {number}: {first_wrong(e)}"
        ) from e
    return found


def history_lines(records: Mapping[str, GradeRecord]) -> Iterator[str]:
    """The lines of a file."""
    for grade, record in records.items():
        yield written({"v": VERSION, "grade": grade, **asdict(record)}) + "\n"
