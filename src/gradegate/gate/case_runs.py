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
from gradegate.results.open_failures import open_in_case, open_in_grade
from gradegate.results.rows import AnswerId, GradeId, Row, counts_case, runs_by_case, selects_grade
from gradegate.structs import FrozenStruct, replace


def conclude_runs(runs: Runs, outcomes: Sequence[Outcome]) -> Outcome | None:
    """The outcome of a case by its first runs. None while further runs can decide."""
    counted = outcomes[: runs.of]
    passed = counted.count(PASS)
    failed = counted.count(FAIL)
    failures_allowed = runs.of - runs.passes

    # Enough runs passed, or too many failed.
    if passed >= runs.passes:
        return PASS
    if failed > failures_allowed:
        return FAIL

    # If further runs cannot decide either, errors leave both results open.
    remaining = runs.of - len(counted)
    may_pass = passed + remaining >= runs.passes
    may_fail = failed + remaining > failures_allowed
    return None if may_pass or may_fail else ERROR


def runs_required(rule: Rule | None, needs: CaseRuns) -> Runs:
    """How many runs of a case a rule requires to pass. Without a rule, what the case as a whole requires."""
    if rule is None or needs.is_from_test:
        return needs.whole
    runs = rule.runs or Runs(needs.plain, needs.plain)
    return replace(runs, of=runs.of or needs.plain)


def next_runs(rules: Iterable[Rule], rows: Sequence[Row], needs: CaseRuns) -> int:
    """How many more runs of a case are made at once. Each of them is needed, whatever the others give."""
    most = 0
    for rule in (None, *rules):
        runs = runs_required(rule, needs)
        outcomes = _outcomes_in_rule(rule, rows)
        if len(outcomes) == len(rows):
            most = max(most, _runs_until_decided(runs, outcomes))
        # A mean score is taken over all runs.
        if rule and rule.min_score is not None and outcomes:
            most = max(most, runs.of - len(rows))
    return most


def _runs_until_decided(runs: Runs, outcomes: Sequence[Outcome]) -> int:
    """The fewest further runs that can decide about a case. 0 if it is decided."""
    if conclude_runs(runs, outcomes) is not None:
        return 0
    counted = outcomes[: runs.of]
    to_pass = runs.passes - counted.count(PASS)
    to_fail = runs.of - runs.passes + 1 - counted.count(FAIL)
    remaining = runs.of - len(counted)
    return max(1, min(to_pass, to_fail, remaining))


# --- what a rule says about one row ---------------------------------------------------------------------------


def outcome_in_rule(rule: Rule | None, row: Row) -> Outcome | None:
    """What a rule says about a case with one run, or about one run of a case. None if the rule does not count it.

    If a selected assertion fails, the case fails. Otherwise an error makes it an error. A rule that selects everything
    follows the case, so a threshold of the case decides.
    """
    row = _without_quarantine(row)
    if rule is None:
        return row.outcome
    if rule.every_case:
        return row.outcome if counts_case(rule, row) else None
    if row.grades and _selects_whole_case(rule, row):
        return row.outcome
    outcomes = {grade.outcome for grade in _selected_grades(rule, row)}
    for outcome in (FAIL, ERROR, PASS):
        if outcome in outcomes:
            return outcome
    return None


def is_unfinished(rule: Rule, row: Row) -> bool:
    """Whether a case has an error in a rule only because a budget or a signal ended the run before it."""
    errors = [grade for grade in _selected_grades(rule, row) if grade.has_error]
    if not errors or outcome_in_rule(rule, row) is not ERROR:
        return False
    return all(grade.undone for grade in errors)


def open_positions(rule: Rule, row: Row, open_: Collection[int]) -> list[int]:
    """The positions of the open grades of a case, if it fails in the rule by nothing else."""
    if outcome_in_rule(rule, row) is not FAIL:
        return []
    if _selects_whole_case(rule, row):
        return open_in_case(row, open_)
    positions: set[int] = set()
    for position, grade in enumerate(row.grades):
        if grade.has_failed and selects_grade(rule, row, grade):
            open_here = open_in_grade(row.grades, position, open_)
            if not open_here:
                return []
            positions.update(open_here)
    return sorted(positions)


def _outcomes_in_rule(rule: Rule | None, rows: Iterable[Row]) -> list[Outcome]:
    """The outcomes of the runs that the rule counts."""
    outcomes = [outcome_in_rule(rule, row) for row in rows]
    return [outcome for outcome in outcomes if outcome]


def _selects_whole_case(rule: Rule | None, row: Row) -> bool:
    """Whether a rule looks at everything that counts in a case, so that the outcome of the row decides."""
    if rule is None or rule.every_case:
        return True
    if not rule.blocking or row.suite != rule.suite or not row.counts:
        return False
    return all(selects_grade(rule, row, grade) for grade in row.grades if grade.counts)


def _selected_grades(rule: Rule | None, row: Row) -> list[Grade]:
    """The grades that a rule looks at. If it looks at the whole case: those that count, or all if none counts."""
    if rule and not _selects_whole_case(rule, row):
        return [grade for grade in row.grades if selects_grade(rule, row, grade)]
    counting = [grade for grade in row.grades if grade.counts]
    return counting or [grade for grade in row.grades if not grade.inner]


def _without_quarantine(row: Row) -> Row:
    """A run of a case without its quarantine, which excuses the case as a whole and not a run."""
    if not row.needs or not any(grade.quarantine for grade in row.grades):
        return row
    grades = [replace(grade, quarantine=None) for grade in row.grades]
    return replace(row, grades=tuple(grades))


def _is_excused_by_quarantine(row: Row) -> bool:
    """Whether everything that counts in a row passed or is in quarantine."""
    for grade in row.grades:
        is_excused = grade.quarantine or grade.has_passed or grade.inner
        if not is_excused and grade.assertion.counts:
            return False
    return any(grade.quarantine for grade in row.grades)


# --- a case as one row ----------------------------------------------------------------------------------------


def fold_cases(rule: Rule | None, rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, with the runs of a case folded into the one row that a rule sees."""
    for case in runs_by_case(rows):
        if case[0].needs is None:
            yield from case
            continue
        row = fold_runs(rule, case)
        if row is not None:
            yield row


def describe_runs_required(rule: Rule, cases: Iterable[Row]) -> str:
    """Say how many runs must pass: ``at least 2 of 3 runs``. Empty if that is not the same for all cases."""
    required = set()
    for row in cases:
        if row.needs is None:
            return ""
        required.add(runs_required(rule, row.needs))
    if len(required) != 1:
        return ""
    runs = required.pop()
    return f"at least {runs.passes} of {runs.of} runs"


def fold_runs(rule: Rule | None, rows: Sequence[Row]) -> Row | None:
    """Fold the runs of a case into one row with one grade, as a rule sees them. None if the rule does not count the case."""
    assert rows[0].needs is not None
    runs = runs_required(rule, rows[0].needs)

    # 1. The rule looks at the first runs. The case is in the rule if it counts each of them.
    as_written = rows[: runs.of]
    counted = [_without_quarantine(row) for row in as_written]
    outcomes = _outcomes_in_rule(rule, counted)
    if len(outcomes) < len(counted):
        return None
    outcome = conclude_runs(runs, outcomes) or ERROR

    # 2. The runs with the outcome of the case decide. If no run has it, all of them do.
    positions = [position for position, of_run in enumerate(outcomes) if of_run is outcome]

    # 3. A blocking rule does not count a case that fails only in quarantine.
    excused = [_is_excused_by_quarantine(as_written[position]) for position in positions]
    if rule and rule.blocking and outcome is not PASS and excused and all(excused):
        return None

    # 4. The first of the deciding runs stands for the case.
    deciding = [counted[position] for position in positions] or counted
    row = replace(
        deciding[0],
        outcome=outcome,
        threshold=None,
        verdict=outcome,
        runs=len(counted),
        of=runs.of,
        passed=outcomes.count(PASS),
        needed=runs.passes,
    )
    row = replace(row, reason=row.runs_summary)
    grade = _fold_grades(rule, row, deciding, hides_failure=FAIL in outcomes)
    return replace(row, grades=(grade,)) if grade else row


def _fold_grades(
    rule: Rule | None, case: Row, deciding: Sequence[Row], *, hides_failure: bool
) -> Grade | None:
    """The one grade of a folded case, made of the selected grades of the runs that decided. None if nothing is selected.

    ``hides_failure``: a run failed, so an error of the case may hide a failure.
    """
    selected = []
    for run in deciding:
        selected += _selected_grades(rule, run)
    decisive = [grade for grade in selected if grade.outcome is case.outcome] or selected
    if not decisive:
        return None
    first = decisive[0]

    reason = case.reason
    if case.has_error and first.has_error:
        reason += f"; the first error: {first.reason}"
    confirmed = None
    if case.has_failed:
        confirmed = any(grade.confirmed for grade in decisive)

    # Outcomes of cases are compared with the base, not those of grades.
    base = _base_outcome(rule, case)
    is_compared = case.base is not None or any(grade.status or grade.base for grade in selected)
    status = ""
    if is_compared:
        status = _status(rule, case.outcome, base, deciding)

    return replace(
        first,
        assertion=replace(first.assertion, is_set=False),
        outcome=case.outcome,
        score=None,
        reason=reason,
        votes=(),
        confirmed=confirmed,
        undone=any(grade.undone for grade in decisive),
        unheard=not hides_failure and all(grade.unheard for grade in decisive),
        inner=False,
        status=status,
        base=Counterpart(base, base) if base else None,
    )


def with_verdicts(rows: Sequence[Row]) -> list[Row]:
    """The rows of a job. Each run of a case also knows the outcome of the case."""
    case = fold_runs(None, rows) if rows[0].needs else None
    if case is None:
        return [*rows]
    return [
        replace(
            row,
            verdict=case.verdict,
            runs=case.runs,
            of=case.of,
            passed=case.passed,
            needed=case.needed,
        )
        for row in rows
    ]


def _base_outcome(rule: Rule | None, case: Row) -> Outcome | None:
    """What the base says about the selected part of a folded case."""
    if _selects_whole_case(rule, case):
        return case.base
    has_failed = False
    for grade in _selected_grades(rule, case):
        if grade.base is None or grade.base.has_error:
            return None
        if grade.base.has_failed:
            has_failed = True
    return FAIL if has_failed else PASS


def _status(
    rule: Rule | None, outcome: Outcome, base: Outcome | None, deciding: Sequence[Row]
) -> str:
    """The status of a folded case. Outcomes of cases are compared.

    If the case passed on the base, its failing runs say whether it still passes.
    """
    if outcome is ERROR:
        return UNDECIDED
    if outcome is PASS:
        return FIXED if base is FAIL else OK
    if base is FAIL:
        return PRE_EXISTING

    statuses = set()
    for row in deciding:
        statuses.add(case_status(row, _selected_grades(rule, row)))
    # Without a base, a failure is new as soon as it is confirmed.
    if base is not PASS:
        return OPEN if OPEN in statuses else NEW_FAILURE
    for status in WORST:
        if status in statuses:
            return status
    return NEW_FAILURE


# --- open grades ----------------------------------------------------------------------------------------------


class OpenRow(FrozenStruct):
    """A row, and the positions of its failing grades that may still be re-asked."""

    id: AnswerId
    row: Row
    open: frozenset[int] = frozenset()

    def grade_ids(self, positions: Iterable[int]) -> tuple[GradeId, ...]:
        """The ids of the grades at these positions."""
        return tuple(GradeId(self.id, position) for position in positions)


def open_grades(rule: Rule, case: Sequence[OpenRow]) -> list[GradeId]:
    """The open grades of all failing runs of a case that has not passed. None of them if the case fails anyway."""
    needs = case[0].row.needs
    assert needs is not None
    runs = runs_required(rule, needs)
    grades: list[GradeId] = []
    best_outcomes = []  # if all open grades pass
    for run in case[: runs.of]:
        positions = open_positions(rule, run.row, run.open)
        grades += run.grade_ids(positions)
        best = PASS if positions else outcome_in_rule(rule, run.row)
        best_outcomes.append(best or ERROR)
    return [] if conclude_runs(runs, best_outcomes) is FAIL else grades
