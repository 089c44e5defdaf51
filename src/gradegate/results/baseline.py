"""Compares a run with the run of its base: the status of each grade, and the notes. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from gradegate.core.numbers import format_count, list_some
from gradegate.results.accounts import BaselineReport
from gradegate.results.grades import ERROR, FAIL, PASS, Counterpart, Grade, Outcome
from gradegate.results.rows import AnswerId, Row, parts
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, replace

RESULTS, HISTORY = "results.json", "history.jsonl"  # the files in the folder of a baseline
STALE = 14  # days after which a baseline is too old to go unsaid
OK, FIXED, PRE_EXISTING = "ok", "fixed", "pre-existing"
NEW_FAILURE, UNSTEADY, UNDECIDED = "new-failure", "unsteady", "undecided"
# What a failure is that passed on the base, by what the base's answer came to when it was graded again.
_AGAIN = {PASS: NEW_FAILURE, FAIL: UNSTEADY, ERROR: UNDECIDED}
OPEN = ""  # failed once, and nobody needed to know whether it stands
WORST = (
    NEW_FAILURE,
    UNDECIDED,
    OPEN,
    UNSTEADY,
    PRE_EXISTING,
)  # what a case is, of several grades that fail


class Baseline(FrozenStruct):
    """A run of the base. ``started`` is ISO 8601; ``reask`` says how its failures were asked again, "" for not at all."""

    answers: tuple[Row, ...]
    commit: str = ""
    started: str = ""
    models: tuple[str, ...] = ()
    reask: str = ""
    fresh: bool = False  # asked in the same run
    # For each repetition of each job of a plan; and the names of answers without a counterpart.
    paired: Mapping[AnswerId, Row | None] = {}
    removed: tuple[str, ...] = ()


def standing(row: Row, grades: Iterable[Grade] | None = None) -> str:
    """The status of a case: by those of its grades that count, or by the given ones."""
    own = [grade for grade in row.grades if grade.counts]
    chosen = own if grades is None else list(grades)
    if row.has_error:
        return UNDECIDED
    failing = {grade.status for grade in chosen if fails(row, grade)}
    by_mean = row.has_failed and (
        row.threshold is not None or not any(grade.has_failed for grade in own)
    )
    if by_mean and row.base is not FAIL and failing <= {PRE_EXISTING, NEW_FAILURE}:
        return NEW_FAILURE  # what fails may be old, and that the whole fails is new
    if failing:
        return next(status for status in WORST if status in failing)
    if by_mean:
        return PRE_EXISTING
    fixed = row.threshold is not None and row.base is FAIL
    return FIXED if fixed or any(grade.status == FIXED for grade in chosen) else OK


def together(rows: Sequence[Row]) -> list[Row]:
    """Rows of the base by what is compared: the runs of a case as one row, with a grade for each of theirs; else themselves.

    What failed in a case that failed as a whole is old, and what did not pass in enough runs of another is not known.
    """
    if not rows[0].run or rows[0].verdict is None:
        return [*rows]
    first = rows[0]
    failed = first.verdict is FAIL
    grades = []
    for grade, *others in zip(*(row.grades for row in rows), strict=False):
        outcomes = [it.outcome for it in (grade, *others)]
        unless = FAIL if failed and FAIL in outcomes else ERROR
        outcome = PASS if outcomes.count(PASS) >= first.needed else unless
        grades.append(replace(grade, outcome=outcome, votes=()))
    return [replace(first, outcome=first.verdict, grades=tuple(grades))]


def fails(row: Row, grade: Grade) -> bool:
    """Whether a grade fails, and its case does not tolerate that."""
    return grade.has_failed and (row.has_failed or not grade.counts)


def of_base(report: BaselineReport | None) -> str:
    """Which base that is: `` (1a2b3c4, 2 days old)``."""
    if report is None:
        return ""
    aged = "" if report.age_days is None else f"{format_count(report.age_days, 'day')} old"
    about = ", ".join(
        filter(None, (report.commit[:7], "asked in this run" if report.fresh else aged))
    )
    return f" ({about})" if about else ""


def beside(row: Row, base: Row | None) -> Row:
    """A row that knows what the base says of it and of each of its grades."""
    if base is None:
        return row
    # Of an answer that was none, whatever is said of it, there is nothing that could be graded again.
    empty = (
        not base.runs
        and not (base.output or "").strip()
        and not base.turns
        and not base.metadata.get("tool_calls")
    )
    said = {}
    for grade in base.grades:
        first = grade.votes[0].outcome if grade.votes else grade.outcome
        counterpart = Counterpart(ERROR, ERROR) if empty else Counterpart(grade.outcome, first)
        said[grade.assertion.key] = grade.assertion.definition, counterpart
    found = ((grade, *said.get(grade.assertion.key, (b"", None))) for grade in row.grades)
    grades = tuple(
        replace(grade, base=it if definition == grade.assertion.definition else None)
        for grade, definition, it in found
    )
    same = base.definition == row.definition
    there = base.outcome if same else None
    took = (
        base.took if same and row.run <= 1 else None
    )  # one answer of the base is beside one of the case's runs
    return replace(
        row, grades=grades, base=there, base_took=took, base_runs=base.runs, base_passed=base.passed
    )


def status(grade: Grade, again: Outcome | None, settled: bool) -> str:
    """What a grade is beside the base, whose answer came to ``again`` when it was graded again, None where it was not.

    ``settled``: a failure stands, because it was confirmed or cannot be asked again.
    """
    base = grade.base.outcome if grade.base else ERROR
    if grade.has_error:
        return UNDECIDED
    if grade.has_passed:
        return FIXED if base is FAIL else OK
    if base is FAIL:
        return PRE_EXISTING
    if not settled:
        return OPEN
    return NEW_FAILURE if base is ERROR else _AGAIN[again] if again else OPEN


def stated(row: Row, again: Mapping[int, Outcome], open_: Collection[int]) -> Row:
    """A row with the status of each of its grades; of those at ``open_`` places failures may still be asked again."""
    grades = list(row.grades)
    for place in reversed(range(len(grades))):  # the members of a set follow it
        grade, settled = grades[place], place not in open_
        kind = (
            _of_set(grade, parts(grades, place))
            if grade.assertion.is_set
            else status(grade, again.get(place), settled)
        )
        grades[place] = replace(grade, status=kind)
    return replace(row, grades=tuple(grades))


def _of_set(grade: Grade, members: Sequence[Grade]) -> str:
    """The status of a set, by the members that fail; what fails may be old, and that the whole fails is new."""
    failing = {member.status for member in members if member.has_failed and member.assertion.counts}
    old = grade.base is not None and grade.base.has_failed
    if not grade.has_failed or old:
        return status(grade, None, settled=True)
    if grade.assertion.negated or (NEW_FAILURE in failing and grade.threshold is None):
        return NEW_FAILURE
    return next((kind for kind in (UNDECIDED, OPEN, UNSTEADY) if kind in failing), NEW_FAILURE)


# --- what is said of it ---------------------------------------------------------------------------------------


def report(
    rows: Sequence[Row],
    baseline: Baseline,
    now: datetime,
) -> BaselineReport:
    """The run compared with its base, in figures."""
    counted = [row for row in rows if row.grades]
    kinds = Counter(map(standing, counted))
    return BaselineReport(
        commit=baseline.commit,
        age_days=age(baseline.started, now),
        compared=sum(row.base in (PASS, FAIL) for row in counted),
        new_failures=kinds[NEW_FAILURE],
        pre_existing=kinds[PRE_EXISTING],
        fixed=kinds[FIXED],
        unsteady=kinds[UNSTEADY],
        undecided=kinds[UNDECIDED],
        new=sum(answer is None for answer in baseline.paired.values()),
        removed=baseline.removed,
        fresh=baseline.fresh,
    )


def age(started: str, now: datetime) -> int | None:
    """Whole days since a time in ISO 8601; None where it is none, or yet to come."""
    try:
        then = datetime.fromisoformat(started)
        days = (now - (then if then.tzinfo else then.replace(tzinfo=UTC))).days
    except (ValueError, OverflowError):
        return None
    return days if days >= 0 else None


def remarks(baseline: Baseline, now: datetime, commit: str, models: Iterable[str]) -> Iterator[str]:
    """What a reader should know of a stored baseline. ``commit`` is that of the base, empty where it is not known."""
    days = age(baseline.started, now)
    if days is None and baseline.started:
        yield f"the baseline says that it was made at `{excerpt(baseline.started, 40)}`, which is not a time in the past"
    elif days is None:
        yield "the baseline does not say when it was made"
    elif days > STALE:
        yield f"the baseline is {format_count(days, 'day')} old"
    if commit and baseline.commit != commit:
        yield f"the baseline is from commit {baseline.commit[:7] or 'unknown'}, but the base is at {commit[:7]}"
    here, there = set(models), set(baseline.models)
    if here != there:
        yield f"the baseline was made with other models: {_listed(there - here)} there, {_listed(here - there)} here"
    if odd := count_contradictions(baseline.answers):
        what = "contradicts its" if odd == 1 else "contradict their"
        yield f"{format_count(odd, 'case')} of the baseline {what} own assertions: the assertions are used"
    if baseline.reask in ("", "off"):
        yield "the baseline was made without re-asks: a failure in it may be noise, and may hide a new failure"


def count_contradictions(rows: Iterable[Row]) -> int:
    """How many cases are not what their assertions come to."""
    odd = 0
    for row in rows:
        if row.needs and any(grade.quarantine for grade in row.grades):
            continue  # the quarantine is for the case: each run keeps its outcome
        outcomes = {grade.outcome for grade in row.grades if grade.counts}
        odd += bool(outcomes) and row.threshold is None and row.has_failed != (FAIL in outcomes)
    return odd


def _listed(names: Iterable[str]) -> str:
    shown = [f"`{excerpt(name, 80)}`" for name in sorted(names)]
    return list_some(shown[:3], len(shown)) or "none"
