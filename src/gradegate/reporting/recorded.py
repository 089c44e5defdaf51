"""Reads the results of the base, a file that anybody may have written, as far as a comparison needs them.

results.json has one case a line, and is read line by line; a file that is laid out otherwise is read whole.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gradegate.baseline import BaseAnswer, BaseGrade, Baseline
from gradegate.bounded.bounds import MAX_ANSWERS, MAX_BASELINE, MAX_FILE, MIB
from gradegate.files.values import wrong
from gradegate.reporting.plain import shown
from gradegate.reporting.reread import turn_of
from gradegate.reporting.results import TurnLine, Version, Word
from gradegate.reporting.visible import one_line
from gradegate.result import Counterpart, Outcome

_HEAD_END, _LAST = b'"cases":[', b"]}"  # how the first line of results.json ends, and what the last one is
_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Unusable(ValueError):
    """The file cannot be compared with; the message says why."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Vote(_Part):
    outcome: Word


class _Grade(_Part):
    key: _Hash
    definition: _Hash
    outcome: Word
    votes: list[_Vote] = []
    blocking: bool = True
    inner: bool = False
    weight: float | None = None

    @property
    def counts(self) -> bool:
        return self.blocking and not self.inner and self.weight != 0


class _Answer(_Part):
    key: _Hash
    definition: _Hash
    outcome: Word
    description: str = ""
    vars: dict[str, Any] = {}
    prompt: str = ""
    output: str | None = None
    turns: list[TurnLine] = []
    metadata: dict[str, Any] = {}
    threshold: float | None = None
    reason: str = ""
    hidden: bool = False
    grades: list[_Grade]


class _Made(_Part):
    commit: str = Field(default="", pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})?$")
    started: str = ""


class _Asked(_Part):
    name: str


class _Confirm(_Part):
    mode: str


class _Head(_Part):
    version: Version
    made: _Made
    asked: list[_Asked] = []
    confirm: _Confirm | None = None
    cases: list[_Answer]


def read_baseline(path: Path) -> Baseline:
    """The run of the base that a results.json holds. Raises Unusable."""
    try:
        # Neither a pipe nor a device: a reader of these may wait for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unusable("it is not a plain file")
            return _read(file)
    except OSError as e:
        raise Unusable(e.strerror or str(e)) from e
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the top"
        raise Unusable(f"it is no results.json of this version: {place} {wrong(first)[0]}") from e


def _read(file: BufferedReader) -> Baseline:
    size = os.fstat(file.fileno()).st_size
    if size > MAX_BASELINE:
        raise Unusable(f"it has more than {MAX_BASELINE // MIB} MiB")
    start = file.readline(MAX_FILE)
    if start.rstrip().endswith(_HEAD_END):
        head = _Head.model_validate_json(start + _LAST)
        return _baseline(head, tuple(_lines(file)))
    if size > MAX_FILE:
        raise Unusable(f"it has more than {MAX_FILE // MIB} MiB, and is not laid out as gradegate writes it")
    head = _Head.model_validate_json(start + file.read(MAX_FILE))
    return _baseline(head, tuple(map(_answer, _few(head.cases))))


def _few(cases: list[_Answer]) -> list[_Answer]:
    if len(cases) > MAX_ANSWERS:
        raise Unusable(f"it has more than {MAX_ANSWERS:,} cases")
    return cases


def _lines(file: BufferedReader) -> Iterator[BaseAnswer]:
    for number, line in enumerate(iter(lambda: file.readline(MAX_FILE), b"")):
        text = line.strip()
        if text == _LAST:
            return
        if number >= MAX_ANSWERS:
            raise Unusable(f"it has more than {MAX_ANSWERS:,} cases")
        yield _answer(_Answer.model_validate_json(text.removesuffix(b",")))
    raise Unusable("it breaks off")


def _baseline(head: _Head, answers: tuple[BaseAnswer, ...]) -> Baseline:
    return Baseline(
        answers,
        commit=head.made.commit,
        started=head.made.started,
        models=tuple(model.name for model in head.asked),
        confirm=head.confirm.mode if head.confirm else "",
    )


def _answer(line: _Answer) -> BaseAnswer:
    named = one_line(line.description, 160) or one_line(shown(line.vars), 160)
    return BaseAnswer(
        key=bytes.fromhex(line.key),
        definition=bytes.fromhex(line.definition),
        name=named,
        outcome=Outcome(line.outcome),
        prompt=line.prompt,
        output=line.output,
        turns=tuple(map(turn_of, line.turns)),
        metadata=line.metadata,
        grades={grade.key: grade for grade in (_grade(grade, line) for grade in line.grades)},
        hidden=line.hidden,
        contradictory=_is_contradictory(line),
    )


def _is_contradictory(answer: _Answer) -> bool:
    """Whether the outcome of a case is not what its assertions come to, and nothing says that a function decided it."""
    outcomes = {grade.outcome for grade in answer.grades if grade.counts}
    return (
        bool(outcomes)
        and answer.threshold is None
        and not answer.reason
        and (answer.outcome == "fail") != ("fail" in outcomes)
    )


def _is_empty(answer: _Answer) -> bool:
    """Whether a target gave no answer: that is an error of its row in every run of ours."""
    return not (answer.output or "").strip() and not answer.turns and not answer.metadata.get("tool_calls")


def _grade(line: _Grade, answer: _Answer) -> BaseGrade:
    first = line.votes[0].outcome if line.votes else line.outcome
    said = Counterpart(Outcome(line.outcome), Outcome(first))
    if _is_empty(answer):  # whatever was said of it, there is nothing that could be graded again
        said = Counterpart(Outcome.ERROR, Outcome.ERROR)
    return BaseGrade(bytes.fromhex(line.key), bytes.fromhex(line.definition), said)
