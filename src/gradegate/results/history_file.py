"""The file of earlier runs: one JSON object a line and grade. It is read strictly, and holds no text of answers or reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from sys import intern
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from gradegate.files.bounds import MAX_HISTORY
from gradegate.files.plain_files import UnusableError, regular
from gradegate.files.validation import first_wrong
from gradegate.results.mapping import written
from gradegate.results.shape import VERSION, Version
from gradegate.values.history import GradeRecord, PastRun, Records

Shared = AfterValidator(intern)  # most runs of most grades say the same


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Run(_Strict):
    at: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"), Shared]
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{0,64}$"), Shared]
    model: Annotated[str, Field(max_length=300), Shared]
    votes: Annotated[str, Field(pattern=r"^[PFE]{1,200}$"), Shared]
    outcome: Annotated[Literal["pass", "fail", "error", "open"], Shared]
    request: Annotated[str, Field(pattern=r"^[0-9a-f]{0,64}$"), Shared]


class _Line(_Strict):
    v: Version
    grade: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    name: Annotated[str, Field(max_length=1000)]
    runs: list[_Run]


def read_history(path: Path) -> Records:
    """The grades of a file by their identities. Raises UnusableError for a file that is not whole, or of another version."""
    found: dict[str, GradeRecord] = {}
    try:
        with regular(path, MAX_HISTORY) as file:
            for number, content in enumerate(file, 1):
                if not content.endswith(b"\n"):
                    raise UnusableError("it breaks off")
                line = _Line.model_validate_json(content)
                if line.grade in found:
                    raise UnusableError(f"line {number} has a grade that is there already")
                found[line.grade] = GradeRecord(line.name, tuple(PastRun(**dict(run)) for run in line.runs))
    except ValidationError as e:
        raise UnusableError(f"it is not a history of this version: line {number}: {first_wrong(e)}") from e
    return found


def history_lines(records: Mapping[str, GradeRecord]) -> Iterator[str]:
    """The lines of a file."""
    for grade, record in records.items():
        yield written({"v": VERSION, "grade": grade, "name": record.name, "runs": list(map(asdict, record.runs))}) + "\n"
