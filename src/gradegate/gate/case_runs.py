"""The runs of a case: what they mean for a rule, how many are made next, and the case as one row. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from gradegate.core.policy import CaseRuns, Rule, Runs
from gradegate.results.baseline import (
    FIXED,
    NEW_FAILURE,
    OK,
    OPEN,
    PRE_EXISTING,
    UNDECIDED,
    WORST,
    case_status,
)
from gradegate.results.grades import ERROR, FAIL, PASS, Counterpart, Grade, Outcome
from gradegate.results.rows import (
    AnswerId,
    GradeId,
    Row,
    counts_case,
    open_in_case,
    open_in_grade,
    runs_by_case,
    selects_grade,
)
from gradegate.structs import FrozenStruct, replace


def conclude_runs(runs: Runs, outcomes: Sequence[Outcome]) -> Outcome | None:
    """What a case comes to by its first runs, None as long as further ones decide."""
    made = outcomes[: runs.of]
    passed, failed, _ = map(made.count, Outcome)
    left, most = runs.of - len(made), runs.of - runs.passes
    if passed >= runs.passes:
        return PASS
    if failed > most:
        return FAIL
    return ERROR if passed + left < runs.passes and failed + left <= most else None


def runs_required(rule: Rule | None, needs: CaseRuns) -> Runs:
    """What a rule asks of the runs of a case; without a rule, what the case as a whole is held to."""
    if rule is None or needs.own:
        return needs.whole
    runs = rule.runs or Runs(needs.plain, needs.plain)
    return replace(runs, of=runs.of or needs.plain)


def next_runs(rules: Iterable[Rule], rows: Sequence[Row], needs: CaseRuns) -> int:
    """How many more runs of a case are made at once, with those that there are, so that it is settled for all that look at it.

    Of as many, each is needed whatever the others say.
    """
    most = 0
    for rule in (None, *rules):
        runs, outcomes = (
            runs_required(rule, needs),
            [it for row in rows if (it := outcome_in_rule(rule, row))],
        )
        if len(outcomes) == len(rows) and not conclude_runs(runs, outcomes):
            made = outcomes[: runs.of]
            to_pass = runs.passes - made.count(PASS)
            to_fail = runs.of - runs.passes + 1 - made.count(FAIL)
            most = max(most, 1, min(to_pass, to_fail, runs.of - len(made)))
        if rule and rule.min_score is not None and outcomes:  # a mean is over all runs
            most = max(most, runs.of - len(rows))
    return most


def _is_whole(rule: Rule | None, row: Row) -> bool:
    """Whether a rule looks at all that counts in a case, so that the outcome of its row says it."""
    if rule is None or rule.every_case:
        return True
    if not rule.blocking or row.suite != rule.suite or not row.counts:
        return False
    return all(selects_grade(rule, row, grade) for grade in row.grades if grade.counts)


def _selected(rule: Rule | None, row: Row) -> list[Grade]:
    if _is_whole(rule, row):
        return [grade for grade in row.grades if grade.counts] or [
            grade for grade in row.grades if not grade.inner
        ]
    return [grade for grade in row.grades if rule and selects_grade(rule, row, grade)]


def outcome_in_rule(rule: Rule | None, row: Row) -> Outcome | None:
    """What a rule says of a case with one run, or of one run of a case; None if the case is not in the rule.

    If a selected assertion fails, the case fails; else if one has an error, the case has an error. A rule that selects
    everything follows the case, so a threshold of the case decides.
    """
    row = _counting(row)
    if rule is None:
        return row.outcome
    if rule.every_case:
        return row.outcome if counts_case(rule, row) else None
    if row.grades and _is_whole(rule, row):
        return row.outcome
    outcomes = {grade.outcome for grade in _selected(rule, row)}
    return next((outcome for outcome in (FAIL, ERROR, PASS) if outcome in outcomes), None)


def is_unfinished(rule: Rule, row: Row) -> bool:
    """Whether a case has an error in a rule only because a budget or a signal ended the run before it."""
    errors = [grade for grade in _selected(rule, row) if grade.has_error]
    if not errors or outcome_in_rule(rule, row) is not ERROR:
        return False
    return all(grade.undone for grade in errors)


def open_positions(rule: Rule, row: Row, open_: Collection[int]) -> list[int]:
    """The open grades of a case that fails in the rule by nothing else."""
    if outcome_in_rule(rule, row) is not FAIL:
        return []
    if _is_whole(rule, row):
        return open_in_case(row, open_)
    failing = [
        position
        for position, grade in enumerate(row.grades)
        if grade.has_failed and selects_grade(rule, row, grade)
    ]
    each = [open_in_grade(row.grades, position, open_) for position in failing]
    if not all(each):
        return []
    return sorted({position for positions in each for position in positions})


def _counting(row: Row) -> Row:
    """A run of a case as it is without a quarantine: that is for the case, which no rule looks at then."""
    if not (row.needs and any(grade.quarantine for grade in row.grades)):
        return row
    return replace(row, grades=tuple(replace(grade, quarantine=None) for grade in row.grades))


def _is_forgiven(row: Row) -> bool:
    return any(grade.quarantine for grade in row.grades) and all(
        grade.quarantine or grade.has_passed or grade.inner or not grade.assertion.counts
        for grade in row.grades
    )


# --- a case as one row ----------------------------------------------------------------------------------------


def fold_cases(rule: Rule | None, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, the runs of a case as the one that a rule sees; what it does not look at is left out."""
    for case in runs_by_case(rows):
        if case[0].needs is None:
            yield from case
        elif row := fold_runs(rule, case):
            yield row


def describe_runs_required(rule: Rule, cases: Iterable[Row]) -> str:
    """Say what passing takes, of cases with runs that are all held to the same."""
    held = {runs_required(rule, row.needs) if row.needs else None for row in cases}
    (runs,) = held if len(held) == 1 else (None,)
    return f"at least {runs.passes} of {runs.of} runs" if runs else ""


def fold_runs(rule: Rule | None, rows: Sequence[Row]) -> Row | None:
    """The runs of a case as one row with one grade, as a rule sees it; None where the rule does not look at it."""
    assert rows[0].needs is not None
    runs = runs_required(rule, rows[0].needs)
    forgiven = [*map(_is_forgiven, rows[: runs.of])]
    rows = [*map(_counting, rows[: runs.of])]
    outcomes = [it for row in rows if (it := outcome_in_rule(rule, row))]
    if len(outcomes) < len(rows):
        return None
    end = conclude_runs(runs, outcomes) or ERROR
    telling = [row for row, outcome in zip(rows, outcomes, strict=True) if outcome is end] or rows
    why = [it for it, outcome in zip(forgiven, outcomes, strict=True) if outcome is end]
    if rule and rule.blocking and end is not PASS and why and all(why):
        return None  # of a test in quarantine
    row = replace(
        telling[0],
        outcome=end,
        threshold=None,
        verdict=end,
        runs=len(rows),
        of=runs.of,
        passed=outcomes.count(PASS),
        needed=runs.passes,
    )
    row = replace(row, reason=row.runs_summary)
    selected = [grade for one in telling for grade in _selected(rule, one)]
    decisive = [grade for grade in selected if grade.outcome is end] or selected
    if not decisive:
        return row
    bases = {grade.base.outcome if grade.base else ERROR for grade in _selected(rule, row)}
    base = row.base
    if not _is_whole(rule, row):
        base = None if ERROR in bases else FAIL if FAIL in bases else PASS
    compared = any(grade.status or grade.base for grade in selected) or row.base is not None
    first = decisive[0]
    grade = replace(
        first,
        assertion=replace(first.assertion, is_set=False),
        outcome=end,
        score=None,
        reason=row.runs_summary
        if end is not ERROR or not first.has_error
        else f"{row.runs_summary}; the first error: {first.reason}",
        votes=(),
        confirmed=any(grade.confirmed for grade in decisive) if end is FAIL else None,
        undone=any(grade.undone for grade in decisive),
        unheard=all(grade.unheard for grade in decisive)
        and FAIL not in outcomes,  # no failure may hide behind an error
        inner=False,
        status=_status(rule, end, base, telling) if compared else "",
        base=Counterpart(base, base) if base else None,
    )
    return replace(row, grades=(grade,))


def with_verdicts(rows: Sequence[Row]) -> list[Row]:
    """The rows of a job, those of a case with runs with what these come to."""
    case = fold_runs(None, rows) if rows[0].needs else None
    if case is None:
        return [*rows]
    said = {name: getattr(case, name) for name in ("verdict", "runs", "of", "passed", "needed")}
    return [replace(row, **said) for row in rows]


def _status(rule: Rule | None, end: Outcome, base: Outcome | None, telling: Sequence[Row]) -> str:
    """What a case is beside the base: verdicts are compared; of one that passed there the failing runs say whether it still does."""
    if end is not FAIL:
        return UNDECIDED if end is ERROR else FIXED if base is FAIL else OK
    if base is FAIL:
        return PRE_EXISTING
    found = {case_status(row, _selected(rule, row)) for row in telling}
    if base is PASS:
        return next((kind for kind in WORST if kind in found), NEW_FAILURE)
    return OPEN if OPEN in found else NEW_FAILURE


# --- what is open ---------------------------------------------------------------------------------------------


class OpenRow(FrozenStruct):
    """A row, and the positions of its failing grades that may still be re-asked."""

    id: AnswerId
    row: Row
    open: frozenset[int] = frozenset()

    def grade_ids(self, positions: Iterable[int]) -> tuple[GradeId, ...]:
        """The ids of the grades at these positions."""
        return tuple(GradeId(self.id, position) for position in positions)


def open_grades(rule: Rule, case: Sequence[OpenRow]) -> list[GradeId]:
    """The open grades of all failing runs of a case that has not passed; none if it fails anyway."""
    needs = case[0].row.needs
    assert needs is not None
    runs = runs_required(rule, needs)
    grades: list[GradeId] = []
    best = []  # the outcomes if all open grades pass
    for run in case[: runs.of]:
        positions = open_positions(rule, run.row, run.open)
        grades += run.grade_ids(positions)
        best.append(PASS if positions else outcome_in_rule(rule, run.row) or ERROR)
    return [] if conclude_runs(runs, best) is FAIL else grades
