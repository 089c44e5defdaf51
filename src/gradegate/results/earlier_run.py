"""The base run that a run is compared with, and the status of a case against it. Frozen values."""

from collections.abc import Iterable, Sequence

from gradegate.core.numbers import many
from gradegate.results.accounts import BaselineReport
from gradegate.results.grades import Grade, Outcome, Row
from gradegate.structs import Struct, replace

OK, FIXED, PRE_EXISTING = "ok", "fixed", "pre-existing"
NEW_FAILURE, UNSTEADY, UNDECIDED = "new-failure", "unsteady", "undecided"
OPEN = ""  # failed once, and nobody needed to know whether it stands
WORST = (
    NEW_FAILURE,
    UNDECIDED,
    OPEN,
    UNSTEADY,
    PRE_EXISTING,
)  # what a case is, of several grades that fail


class Baseline(Struct, frozen=True):
    """A run of the base. ``started`` is ISO 8601; ``confirm`` says how its failures were asked again, "" for not at all."""

    answers: tuple[Row, ...]
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
    by_mean = row.outcome is Outcome.FAIL and (
        row.threshold is not None or not any(grade.outcome is Outcome.FAIL for grade in own)
    )
    if by_mean and row.base is not Outcome.FAIL and failing <= {PRE_EXISTING, NEW_FAILURE}:
        return NEW_FAILURE  # what fails may be old, and that the whole fails is new
    if failing:
        return next(status for status in WORST if status in failing)
    if by_mean:
        return PRE_EXISTING
    fixed = row.threshold is not None and row.base is Outcome.FAIL
    return FIXED if fixed or any(grade.status == FIXED for grade in chosen) else OK


def together(rows: Sequence[Row]) -> list[Row]:
    """Rows of the base by what is compared: the runs of a case as one row, with a grade for each of theirs; else themselves.

    What failed in a case that failed as a whole is old, and what did not pass in enough runs of another is not known.
    """
    if not rows[0].run or rows[0].verdict is None:
        return [*rows]
    first, failed = rows[0], rows[0].verdict is Outcome.FAIL
    grades = []
    for grade, *others in zip(*(row.grades for row in rows), strict=False):
        outcomes = [it.outcome for it in (grade, *others)]
        unless = Outcome.FAIL if failed and Outcome.FAIL in outcomes else Outcome.ERROR
        outcome = Outcome.PASS if outcomes.count(Outcome.PASS) >= first.needed else unless
        grades.append(replace(grade, outcome=outcome, votes=()))
    return [replace(first, outcome=rows[0].verdict, grades=tuple(grades))]


def fails(row: Row, grade: Grade) -> bool:
    """Whether a grade fails, and its case does not tolerate that."""
    return grade.outcome is Outcome.FAIL and (row.outcome is Outcome.FAIL or not grade.counts)


def of_base(report: BaselineReport | None) -> str:
    """Which base that is: `` (1a2b3c4, 2 days old)``."""
    if report is None:
        return ""
    aged = "" if report.age_days is None else f"{many(report.age_days, 'day')} old"
    about = ", ".join(
        filter(None, (report.commit[:7], "asked in this run" if report.fresh else aged))
    )
    return f" ({about})" if about else ""
