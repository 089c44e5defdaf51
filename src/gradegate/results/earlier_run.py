"""The run of the base that another run is compared with, and how one case stands beside it. Frozen values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gradegate.values.account import BaselineReport
from gradegate.values.conversation import Turn
from gradegate.values.figures import many
from gradegate.values.result import Counterpart, Grade, Outcome, Row

OK, FIXED, PRE_EXISTING = "ok", "fixed", "pre-existing"
NEW_FAILURE, UNSTEADY, UNDECIDED = "new-failure", "unsteady", "undecided"
OPEN = ""  # failed once, and nobody needed to know whether it stands
_SHORT = 7  # characters of a commit
_WORST = (NEW_FAILURE, UNDECIDED, OPEN, UNSTEADY, PRE_EXISTING)  # what a case is, of several grades that fail


@dataclass(frozen=True, slots=True)
class BaseGrade:
    """One grade of the base: what it is called, what was asked for, and what came of it."""

    key: bytes
    definition: bytes
    said: Counterpart


@dataclass(frozen=True, slots=True)
class BaseAnswer:
    """One answer of the base as it was recorded; ``output`` is None where there was none."""

    key: bytes
    definition: bytes
    name: str
    outcome: Outcome
    prompt: str = ""
    output: str | None = None
    turns: tuple[Turn, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    grades: Mapping[bytes, BaseGrade] = field(default_factory=dict)  # by key
    hidden: bool = False  # a secret is hidden in it: it is not what was graded
    contradictory: bool = False  # the case passes although an assertion that counts fails, or the other way round


@dataclass(frozen=True, slots=True)
class Baseline:
    """A run of the base. ``started`` is ISO 8601; ``confirm`` says how its failures were asked again, "" for not at all."""

    answers: tuple[BaseAnswer, ...]
    commit: str = ""
    started: str = ""
    models: tuple[str, ...] = ()
    confirm: str = ""
    fresh: bool = False  # asked in the same run


def standing(row: Row, grades: Iterable[Grade] | None = None) -> str:
    """The status of a case: by those of its grades that count, or by the given ones."""
    own = [grade for grade in row.grades if grade.counts]
    chosen = own if grades is None else list(grades)
    if row.outcome is Outcome.ERROR:
        return UNDECIDED
    failing = {grade.status for grade in chosen if fails(row, grade)}
    by_mean = row.outcome is Outcome.FAIL and (row.threshold is not None or not any(grade.outcome is Outcome.FAIL for grade in own))
    if by_mean and row.base is not Outcome.FAIL and failing <= {PRE_EXISTING, NEW_FAILURE}:
        return NEW_FAILURE  # what fails may be old, and that the whole fails is new
    if failing:
        return next(status for status in _WORST if status in failing)
    if by_mean:
        return PRE_EXISTING
    fixed = row.threshold is not None and row.base is Outcome.FAIL
    return FIXED if fixed or any(grade.status == FIXED for grade in chosen) else OK


def fails(row: Row, grade: Grade) -> bool:
    """Whether a grade fails, and its case does not tolerate that."""
    return grade.outcome is Outcome.FAIL and (row.outcome is Outcome.FAIL or not grade.counts)


def answer_of(row: Row) -> BaseAnswer:
    """A row as the answer of a base that is asked in the same run."""
    grades = (BaseGrade(grade.assertion.key, grade.assertion.definition, Counterpart(grade.outcome, grade.outcome)) for grade in row.grades)
    return BaseAnswer(
        key=row.key,
        definition=row.definition,
        name=row.description,
        outcome=row.outcome,
        prompt=row.prompt,
        output=row.output,
        turns=row.turns,
        metadata=row.metadata,
        grades={grade.key: grade for grade in grades},
        hidden=row.hidden,
    )


def of_base(report: BaselineReport | None) -> str:
    """Which base that is: `` (1a2b3c4, 2 days old)``."""
    if report is None:
        return ""
    aged = "" if report.age_days is None else f"{many(report.age_days, 'day')} old"
    about = ", ".join(filter(None, (report.commit[:_SHORT], "asked in this run" if report.fresh else aged)))
    return f" ({about})" if about else ""
