"""Compares a run with the run of its base: the status of each grade and case, and what reports say about it. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from gradegate.core.numbers import format_count, list_some
from gradegate.results.accounts import BaselineReport
from gradegate.results.grades import ERROR, FAIL, PASS, Counterpart, Grade, Outcome
from gradegate.results.rows import AnswerId, Row, leaf_grades
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, replace

# The files in the folder of a baseline
RESULTS = "results.json"
HISTORY = "history.jsonl"
_STALE_DAYS = 14  # from which reports mention the age of a baseline

# The status of a grade or a case.
OK = "ok"
FIXED = "fixed"
PRE_EXISTING = "pre-existing"  # fails here and on the base
NEW_FAILURE = "new-failure"
UNSTEADY = "unsteady"  # the base's answer passed, and fails when it is graded now
UNDECIDED = "undecided"
OPEN = ""  # failed once, and no rule needed to know whether the failure is real
# The status of a case with several failing grades: the first of these that one of them has.
WORST = (NEW_FAILURE, UNDECIDED, OPEN, UNSTEADY, PRE_EXISTING)
# The status of a failure that passed on the base, by the outcome of the base's answer when it was graded again.
_BY_REGRADE = {PASS: NEW_FAILURE, FAIL: UNSTEADY, ERROR: UNDECIDED}


class Baseline(FrozenStruct):
    """The results of a run of the base."""

    answers: tuple[Row, ...]
    commit: str = ""  # empty if it is not known
    started: str = ""  # ISO 8601; empty if it is not known
    models: tuple[str, ...] = ()
    reask: str = ""  # how its failures were re-asked; empty for not at all
    fresh: bool = False  # asked in the same run
    paired: Mapping[AnswerId, Row | None] = {}  # the answer of the base for each answer of a plan
    removed: tuple[str, ...] = ()  # the names of answers of the base without a counterpart


def case_status(row: Row, grades: Iterable[Grade] | None = None) -> str:
    """The status of a case by its grades that count, or by these ``grades``."""
    if row.has_error:
        return UNDECIDED
    counting = [grade for grade in row.grades if grade.counts]
    chosen = counting if grades is None else list(grades)
    failing = {grade.status for grade in chosen if is_untolerated_failure(row, grade)}

    # 1. Does the case fail as a whole? Each failure in it may be known, and that the whole fails is new.
    fails_as_whole = _fails_as_whole(row, counting)
    if fails_as_whole and row.base is not FAIL and failing <= {PRE_EXISTING, NEW_FAILURE}:
        return NEW_FAILURE

    # 2. The worst of the failures decides.
    for status in WORST:
        if status in failing:
            return status
    if failing:
        return UNDECIDED  # only a file that contradicts itself gives a failure the status of a pass
    if fails_as_whole:
        return PRE_EXISTING

    # 3. The case passes. Did it fail on the base?
    if row.threshold is not None and row.base is FAIL:
        return FIXED
    if any(grade.status == FIXED for grade in chosen):
        return FIXED
    return OK


def _fails_as_whole(row: Row, counting: Iterable[Grade]) -> bool:
    """Whether a case fails by its threshold, or without a failing grade. ``counting`` are its grades that count."""
    if not row.has_failed:
        return False
    return row.threshold is not None or not any(grade.has_failed for grade in counting)


def is_untolerated_failure(row: Row, grade: Grade) -> bool:
    """Whether a grade fails, and its case does not pass all the same."""
    return grade.has_failed and (row.has_failed or not grade.counts)


def fold_base_runs(rows: Sequence[Row]) -> list[Row]:
    """The rows of a case of the base as they are compared: its runs become one row, with a grade for each of theirs.

    A failure in a case that failed is known. In a case that passed, a grade without enough passes is an error.
    """
    first = rows[0]
    if not first.run or first.verdict is None:
        return [*rows]
    grades = []
    all_grades = [row.grades for row in rows]
    # One grade of each run: they are grades of the same assertion.
    for grades_of_runs in zip(*all_grades, strict=False):
        outcomes = [grade.outcome for grade in grades_of_runs]
        outcome = ERROR
        if outcomes.count(PASS) >= first.needed:
            outcome = PASS
        elif first.verdict is FAIL and FAIL in outcomes:
            outcome = FAIL
        grades.append(replace(grades_of_runs[0], outcome=outcome, votes=()))
    return [replace(first, outcome=first.verdict, grades=tuple(grades))]


def with_counterparts(row: Row, base: Row | None) -> Row:
    """The row with what the base says about its case and about each of its grades.

    ``base`` is the row of the base for the same case. If there is none, nothing is added.
    """
    if base is None:
        return row

    # 1. A grade is compared with the grade of the same assertion, if the assertion did not change.
    base_grades = {grade.assertion.key: grade for grade in base.grades}
    grades = []
    for grade in row.grades:
        counterpart = None
        base_grade = base_grades.get(grade.assertion.key)
        if base_grade and base_grade.assertion.definition == grade.assertion.definition:
            counterpart = _make_counterpart(base_grade, base)
        grades.append(replace(grade, base=counterpart))
    row = replace(row, grades=tuple(grades), base_runs=base.runs, base_passed=base.passed)

    # 2. The case as a whole is compared if it did not change.
    if base.definition != row.definition:
        return replace(row, base=None, base_took=None)
    # The base has one answer for all runs of a case, so only the first run is compared with its cost.
    is_first_run = row.run <= 1
    return replace(row, base=base.outcome, base_took=base.took if is_first_run else None)


def _make_counterpart(grade: Grade, base: Row) -> Counterpart:
    """What the base said about a grade. An empty answer gives nothing that could be graded again."""
    has_text = bool((base.output or "").strip())
    if has_text or base.turns or base.runs or base.metadata.get("tool_calls"):
        return Counterpart(grade.outcome, grade.first_outcome)
    return Counterpart(ERROR, ERROR)


def grade_status(grade: Grade, regrade: Outcome | None, is_settled: bool) -> str:
    """The status of a grade compared with the base.

    ``regrade`` is the outcome of the base's answer when it was graded again, None if it was not. A failure ``is_settled``
    if it was confirmed or cannot be re-asked.
    """
    if grade.has_error:
        return UNDECIDED
    failed_before = grade.base is not None and grade.base.has_failed
    passed_before = grade.base is not None and grade.base.has_passed

    if grade.has_passed:
        return FIXED if failed_before else OK
    if failed_before:
        return PRE_EXISTING
    if not is_settled:
        return OPEN
    if not passed_before:
        return NEW_FAILURE
    # The base's answer passed. Was it graded again, to learn whether the answers or the grader changed?
    return _BY_REGRADE[regrade] if regrade else OPEN


def with_statuses(row: Row, regrades: Mapping[int, Outcome], open_: Collection[int]) -> Row:
    """A row with the status of each grade. ``regrades`` and ``open_`` are by position; open failures may be re-asked."""
    grades = list(row.grades)
    # The members of a set follow it, so they get their status first.
    for position in reversed(range(len(grades))):
        grade = grades[position]
        if grade.assertion.is_set:
            status = _set_status(grade, leaf_grades(grades, position))
        else:
            status = grade_status(grade, regrades.get(position), position not in open_)
        grades[position] = replace(grade, status=status)
    return replace(row, grades=tuple(grades))


def _set_status(grade: Grade, members: Iterable[Grade]) -> str:
    """The status of a set by its failing members. They may be known, and that the whole fails is new."""
    failed_before = grade.base is not None and grade.base.has_failed
    if not grade.has_failed or failed_before:
        return grade_status(grade, None, is_settled=True)
    failing = set()
    for member in members:
        if member.has_failed and member.assertion.counts:
            failing.add(member.status)
    if grade.assertion.is_negated:
        return NEW_FAILURE
    if NEW_FAILURE in failing and grade.threshold is None:
        return NEW_FAILURE
    for status in (UNDECIDED, OPEN, UNSTEADY):
        if status in failing:
            return status
    return NEW_FAILURE


# --- what reports say -----------------------------------------------------------------------------------------


def describe_base(report: BaselineReport | None) -> str:
    """Say which base that is: `` (1a2b3c4, 2 days old)``."""
    if report is None:
        return ""
    age = ""
    if report.fresh:
        age = "asked in this run"
    elif report.age_days is not None:
        age = f"{format_count(report.age_days, 'day')} old"
    details = [detail for detail in (report.commit[:7], age) if detail]
    return f" ({', '.join(details)})" if details else ""


def summarize_baseline(rows: Iterable[Row], baseline: Baseline, now: datetime) -> BaselineReport:
    """The run compared with its base, in figures."""
    graded = [row for row in rows if row.grades]
    cases = Counter(case_status(row) for row in graded)
    return BaselineReport(
        commit=baseline.commit,
        age_days=age_in_days(baseline.started, now),
        compared=sum(row.base in (PASS, FAIL) for row in graded),
        new_failures=cases[NEW_FAILURE],
        pre_existing=cases[PRE_EXISTING],
        fixed=cases[FIXED],
        unsteady=cases[UNSTEADY],
        undecided=cases[UNDECIDED],
        new=sum(answer is None for answer in baseline.paired.values()),
        removed=baseline.removed,
        fresh=baseline.fresh,
    )


def age_in_days(started: str, now: datetime) -> int | None:
    """Whole days since a time in ISO 8601. None if the text is no time, or one in the future."""
    try:
        then = datetime.fromisoformat(started)
        if then.tzinfo is None:
            then = then.replace(tzinfo=UTC)
        days = (now - then).days
    except (ValueError, OverflowError):
        return None
    return days if days >= 0 else None


def baseline_remarks(
    baseline: Baseline, now: datetime, commit: str, models: Iterable[str]
) -> Iterator[str]:
    """What a reader should know about a stored baseline. ``commit`` is that of the base, empty if it is not known."""
    days = age_in_days(baseline.started, now)
    if days is None and baseline.started:
        yield f"the baseline says that it was made at `{excerpt(baseline.started, 40)}`, which is not a time in the past"
    elif days is None:
        yield "the baseline does not say when it was made"
    elif days > _STALE_DAYS:
        yield f"the baseline is {format_count(days, 'day')} old"
    if commit and baseline.commit != commit:
        baseline_commit = baseline.commit[:7] or "unknown"
        yield f"the baseline is from commit {baseline_commit}, but the base is at {commit[:7]}"
    here = set(models)
    there = set(baseline.models)
    if here != there:
        only_there = _list_names(there - here)
        only_here = _list_names(here - there)
        yield f"the baseline was made with other models: {only_there} there, {only_here} here"
    contradictions = count_contradictions(baseline.answers)
    if contradictions:
        verb = "contradicts its" if contradictions == 1 else "contradict their"
        yield f"{format_count(contradictions, 'case')} of the baseline {verb} own assertions: the assertions are used"
    if baseline.reask in ("", "off"):
        yield "the baseline was made without re-asks: a failure in it may be noise, and may hide a new failure"


def count_contradictions(rows: Iterable[Row]) -> int:
    """How many cases have another outcome than their assertions give."""
    contradictions = 0
    for row in rows:
        if row.threshold is not None:
            continue
        # The quarantine is for the case as a whole. Each run keeps its outcome.
        if row.needs and any(grade.quarantine for grade in row.grades):
            continue
        counting = [grade for grade in row.grades if grade.counts]
        has_failure = any(grade.has_failed for grade in counting)
        if counting and row.has_failed != has_failure:
            contradictions += 1
    return contradictions


def _list_names(names: Iterable[str]) -> str:
    shown = [f"`{excerpt(name, 80)}`" for name in sorted(names)]
    return list_some(shown[:3], len(shown)) or "none"
