"""What the blocking rules still wait for: which failing grades are re-asked next, so that few asks settle the rules. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gradegate.core.numbers import exact_fraction
from gradegate.core.policy import Rule
from gradegate.gate.case_runs import (
    OpenRow,
    fold_runs,
    is_unfinished,
    open_grades,
    open_positions,
    outcome_in_rule,
)
from gradegate.gate.reasks.ballot import is_contradicted
from gradegate.gate.regressions import RuleCase, is_known_failure
from gradegate.gate.rules import outcome_by_counts
from gradegate.results.baseline import NEW_FAILURE
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, Outcome
from gradegate.results.open_failures import open_in_grade
from gradegate.results.rows import AnswerId, GradeId, Row, selects_grade
from gradegate.results.run_result import Counts
from gradegate.structs import FrozenStruct, Struct, replace

_MIN_WAVE = 8  # cases, as far as so many are open
_MAX_LAST_WAVE = 50  # cases of missed rules that are re-asked although no rule needs it

OpenCase = Sequence[OpenRow]  # what is decided together: the runs of a case, or a row alone


class CaseCount(FrozenStruct):
    """What a rule counts of one case."""

    outcome: Outcome
    open: tuple[GradeId, ...] = ()  # re-asks of these may change the outcome; else it is final
    undone: bool = False  # an error because a budget or a signal ended the run before


class RuleTally(Struct):
    """What a rule counts of all cases. A case with an error neither passed nor failed."""

    passed: int = 0
    failed: int = 0
    unsure: int = 0  # errors, which may be new failures because the grader contradicts itself
    undone: int = 0  # errors that might pass
    open: list[CaseCount] = []  # in plan order

    def add(self, count: CaseCount) -> None:
        """Count another case."""
        if count.open:
            self.open.append(count)
            return
        self.undone += count.undone
        if count.outcome is PASS:
            self.passed += 1
        elif count.outcome is FAIL:
            self.failed += 1
        else:
            self.unsure += 1


class _RulePart(Struct):
    """A rule, or what it asks of the base or of the run itself, with what it counts of each case."""

    rule: Rule
    counts: dict[AnswerId, CaseCount | None] = {}

    def tally(self) -> RuleTally:
        """What the rule counts of all cases together."""
        tally = RuleTally()
        for count in self.counts.values():
            if count is not None:
                tally.add(count)
        return tally


class RuleNeeds:
    """The open grades that blocking rules still wait for, while cases change. ``compared``: there is a base to compare with."""

    def __init__(self, rules: Iterable[Rule], cases: Iterable[OpenCase], compared: bool) -> None:
        self._rules = [
            [_RulePart(part) for part in split_rule(rule)] for rule in rules if rule.blocking
        ]
        self._compared = compared
        for case in cases:
            self.update(case)

    def update(self, case: OpenCase) -> None:
        """Count a case as it is now. A case is known by the id of its first row."""
        for parts in self._rules:
            for part in parts:
                part.counts[case[0].id] = count_case(part.rule, case)

    def next_wave(self) -> list[GradeId]:
        """The grades that are re-asked now, in plan order; none if no rule can change."""
        return self._grades_of_unsettled(wave_size)

    def all_needed(self) -> list[GradeId]:
        """All open grades of rules that are not settled."""
        return self._grades_of_unsettled(lambda _, tally: len(tally.open))

    def last_wave(self) -> list[GradeId]:
        """The first open cases of missed rules, for people who read the report: they should not fix good answers."""
        cases: dict[AnswerId, set[GradeId]] = {}
        for parts in self._rules:
            for part in parts:
                tally = part.tally()
                if is_missed(part.rule, tally):
                    for count in tally.open:
                        cases.setdefault(count.open[0].answer, set()).update(count.open)

        grades: list[GradeId] = []
        for first_answer in sorted(cases)[:_MAX_LAST_WAVE]:
            grades += cases[first_answer]
        return sorted(grades)

    def _grades_of_unsettled(self, size: Callable[[Rule, RuleTally], int]) -> list[GradeId]:
        """Open grades of the rules that may still change. ``size`` says how many open cases of a rule are taken."""
        grades: set[GradeId] = set()
        for parts in self._rules:
            tallies = [(part.rule, part.tally()) for part in parts]
            missed = [is_missed(rule, tally) for rule, tally in tallies]
            # A rule is missed when one part is. A drop is never known early. Without a base, this run may become one.
            may_stop_early = self._compared and all(rule.max_drop is None for rule, _ in tallies)
            if may_stop_early and any(missed):
                continue
            for (rule, tally), is_part_missed in zip(tallies, missed, strict=True):
                if is_part_missed:
                    continue
                if is_settled(rule, tally, self._compared):
                    # These cases are errors until they are decided, whatever the rule says.
                    next_cases = [count for count in tally.open if count.outcome is ERROR]
                else:
                    next_cases = tally.open[: size(rule, tally)]
                for count in next_cases:
                    grades.update(count.open)
        return sorted(grades)


def split_rule(rule: Rule) -> Iterator[Rule]:
    """The rule. If it limits both the run and the comparison with the base, a rule for each of them."""
    if rule.has_base_limit and rule.has_run_limit:
        yield replace(rule, max_new_failures=None, max_drop=None)
        yield replace(rule, min_pass_rate=None, min_score=None, min_cases=None)
    else:
        yield rule


# --- when a rule can change no more ---------------------------------------------------------------------------


def is_missed(rule: Rule, tally: RuleTally) -> bool:
    """Whether the rule is missed if all open cases pass, and if all undone cases pass, too."""
    if rule.has_base_limit:
        most = rule.max_new_failures
        return most is not None and rule.max_drop is None and tally.failed > most
    passed = tally.passed + len(tally.open)
    return all(
        outcome_by_counts(rule, Counts(passed + undone, tally.failed)) is FAIL
        for undone in (0, tally.undone)
    )


def is_settled(rule: Rule, tally: RuleTally, compared: bool = False) -> bool:
    """Whether the rule is missed if all open cases pass, or met if all fail.

    Without a base that is ``compared`` with, this run may become one, and what is new has to be known whatever the rule says.
    """
    failed = tally.failed + len(tally.open)
    if rule.has_base_limit:
        most = rule.max_new_failures
        if most is None or rule.max_drop is not None or not compared:
            return False
        return is_missed(rule, tally) or failed + tally.unsure <= most
    if is_missed(rule, tally):
        return True
    return rule.min_score is None and outcome_by_counts(rule, Counts(tally.passed, failed)) is PASS


def wave_size(rule: Rule, tally: RuleTally) -> int:
    """How many open cases are re-asked at once: as many as miss the rule if all are confirmed, and at least 8."""
    if rule.max_new_failures is not None and rule.max_drop is None:
        failures_allowed = rule.max_new_failures
    elif rule.every_case:
        failures_allowed = 0
    elif rule.min_pass_rate is None or rule.min_score is not None:
        return len(tally.open)
    else:
        cases = tally.passed + tally.failed + len(tally.open)
        failures_allowed = int((1 - exact_fraction(rule.min_pass_rate)) * cases)
    return max(_MIN_WAVE, failures_allowed + 1 - tally.failed)


# --- what a rule counts of a case -----------------------------------------------------------------------------


def count_case(rule: Rule, case: OpenCase) -> CaseCount | None:
    """What the rule counts of a case; None if it does not look at the case."""
    first = case[0]
    if first.row.needs:
        return _count_runs(rule, case)
    if rule.has_base_limit:
        return _count_against_base(rule, first)
    outcome = outcome_in_rule(rule, first.row)
    if outcome is None:
        return None
    positions = open_positions(rule, first.row, first.open)
    return CaseCount(outcome, first.grade_ids(positions), is_unfinished(rule, first.row))


def _count_runs(rule: Rule, case: OpenCase) -> CaseCount | None:
    """What the rule counts of a case with runs."""
    row = fold_runs(rule, [run.row for run in case])
    if row is None or not row.grades:
        return None
    grade = row.grades[0]
    open_: tuple[GradeId, ...] = ()
    if not row.has_passed:
        open_ = tuple(open_grades(rule, case))
    if not rule.has_base_limit:
        return CaseCount(row.outcome, open_, grade.undone)

    # Compared with the base: a known failure matters only for drops.
    if open_ and (rule.max_drop is not None or not is_known_failure(row, grade)):
        return CaseCount(row.outcome, open_)
    return CaseCount(FAIL if grade.status == NEW_FAILURE else PASS)


def _count_against_base(rule: Rule, case: OpenRow) -> CaseCount | None:
    """Count a new failure as FAIL, with its open grades: re-asks may show that it is none.

    For drops, the open grades of a known failure are counted, too.
    """
    row = case.row
    selected = []
    final = []  # selected grades that no re-ask can change
    reasked: set[int] = set()
    for position, grade in enumerate(row.grades):
        if not selects_grade(rule, row, grade):
            continue
        selected.append(grade)
        open_ = open_in_grade(row.grades, position, case.open)
        if not open_:
            final.append(grade)
        elif row.has_failed and (rule.max_drop is not None or not is_known_failure(row, grade)):
            reasked.update(open_)

    if not selected:
        return None
    if rule.max_drop is None and final and _is_new_failure(row, final):
        return CaseCount(FAIL)
    if reasked or _is_new_failure(row, selected):
        return CaseCount(FAIL, case.grade_ids(sorted(reasked)))
    return CaseCount(ERROR if any(map(is_contradicted, selected)) else PASS)


def _is_new_failure(row: Row, grades: Iterable[Grade]) -> bool:
    return RuleCase(row, tuple(grades)).status == NEW_FAILURE
