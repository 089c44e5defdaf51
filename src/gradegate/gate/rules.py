"""Applies one rule of a gate to the cases that it selects. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

from gradegate.core.numbers import exact_mean, format_count, format_percents, format_scores, meets
from gradegate.core.policy import Rule
from gradegate.gate.case_runs import (
    describe_runs_required,
    fold_cases,
    is_unfinished,
    outcome_in_rule,
    runs_required,
)
from gradegate.results.baseline import PRE_EXISTING, case_status
from gradegate.results.case_outcome import reason_without_mean
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, Outcome
from gradegate.results.open_failures import is_unconfirmed
from gradegate.results.rows import Row, counts_case, leaf_grades, selects_grade
from gradegate.results.run_result import Counts, RuleResult, RunResult
from gradegate.structs import FrozenStruct, replace


def apply_rule(rule: Rule, rows: Sequence[Row]) -> RuleResult:
    """The result of a rule over the rows of its suite. Its limits against earlier runs come later."""
    if not rule.has_verdict_limit:
        return RuleResult(rule, PASS, "")
    cases = [*fold_cases(rule, rows)]
    if rule.every_case:
        return _apply_every_case(rule, cases)
    return _apply_thresholds(rule, cases, rows)


def outcome_by_counts(rule: Rule, counts: Counts) -> Outcome:
    """What the rule says about the share of cases that passed. ERROR if too few were graded."""
    graded = counts.passed + counts.failed
    if not graded or _reason_too_few(rule, counts):
        return ERROR
    if rule.min_pass_rate is not None:
        return PASS if meets(Fraction(counts.passed, graded), rule.min_pass_rate) else FAIL
    return FAIL if rule.every_case and counts.failed else PASS


def count_outcomes(outcomes: Iterable[Outcome]) -> Counts:
    """How many of each outcome there are."""
    counted = list(outcomes)
    return Counts(counted.count(PASS), counted.count(FAIL), counted.count(ERROR))


def has_quarantine(row: Row) -> bool:
    """Whether a grade of a row only advises because its test is in quarantine."""
    return any(grade.quarantine for grade in row.grades)


# --- a rule for every case ------------------------------------------------------------------------------------


def _apply_every_case(rule: Rule, cases: Sequence[Row]) -> RuleResult:
    """Apply the rule of a config without rules: each case must pass."""
    rows = [row for row in cases if counts_case(rule, row)]
    counts = count_outcomes([row.outcome for row in rows])
    graded = counts.passed + counts.failed
    if not graded:
        return _result(rule, ERROR, _reason_nothing_graded(cases, "no case"), counts)

    outcome = FAIL if counts.failed else PASS
    reasks = ReaskSummary([(row.outcome, row.grades) for row in rows])
    required = describe_runs_required(rule, rows)
    if not required:
        # Cases with an error are among all cases, as headlines count them.
        number = counts.planned if counts.failed else graded
        return _result(rule, outcome, reasks.summarize_cases(counts.failed, number), counts)

    reason = f"{counts.passed} of {format_count(graded, 'case')} passed {required}"
    if counts.failed:
        reason += f"; {format_count(counts.failed, 'failure')}"
    reason += reasks.note_on_failures(counts.failed)
    return _result(rule, outcome, reason, counts)


# --- a rule with thresholds -----------------------------------------------------------------------------------


def _apply_thresholds(rule: Rule, cases: Sequence[Row], rows: Sequence[Row]) -> RuleResult:
    """Apply ``min-pass-rate``, ``min-cases`` and ``min-score``. ``cases`` are the rows with the runs of a case folded."""
    counted = []  # cases in the rule
    outcomes = []
    for case in cases:
        case_outcome = outcome_in_rule(rule, case)
        if case_outcome is not None:
            counted.append(case)
            outcomes.append(case_outcome)
    counts = count_outcomes(outcomes)
    grades = _scored_grades(rule, rows)
    mean_score = _mean_score(rule, grades)
    score = None if mean_score is None else float(mean_score)

    # 1. Is there too little to decide?
    undecidable = _reason_undecidable(rule, counts, grades, rows)
    if undecidable:
        return _result(rule, ERROR, undecidable, counts, score)

    # 2. Is a threshold missed? If a run ended early, it is missed only if it would be missed even if all unfinished cases passed.
    measures = _measure(rule, counts, mean_score)
    unfinished = sum(is_unfinished(rule, case) for case in counted)
    if measures.missed and unfinished:
        passed = counts.passed + unfinished
        best_counts = replace(counts, passed=passed, errored=counts.errored - unfinished)
        best_mean = _mean_score(rule, grades, undone_score=1.0)
        if not _measure(rule, best_counts, best_mean).missed:
            graded = f"{counts.passed + counts.failed:,} graded"
            note = note_on_unfinished(unfinished)
            reason = f"{'; '.join(measures.missed)} so far, of {graded}; {note}"
            return _result(rule, ERROR, reason, counts, score)

    # 3. Say what was measured: the thresholds that are missed, else all of them.
    reason = "; ".join(measures.missed or measures.measured)
    required = describe_runs_required(rule, cases)
    if required:
        reason += f", a case by {required}"
    leaves = [_selected_leaves(rule, case) for case in counted]
    reasks = ReaskSummary(zip(outcomes, leaves, strict=True))
    reason += reasks.note_on_failures(counts.failed)
    return _result(rule, FAIL if measures.missed else PASS, reason, counts, score)


def _reason_undecidable(
    rule: Rule, counts: Counts, grades: Iterable[Grade], rows: Iterable[Row]
) -> str:
    """Why the thresholds of a rule cannot be applied. Empty if they can."""
    if counts.pass_rate is None:
        return _reason_nothing_graded(rows, "nothing that the rule selects")
    too_few = _reason_too_few(rule, counts)
    if too_few or rule.min_score is None:
        return too_few
    for grade in grades:
        obstacle = reason_without_mean(grade)
        if obstacle:
            return obstacle
    return ""


def _result(
    rule: Rule, outcome: Outcome, reason: str, counts: Counts, score: float | None = None
) -> RuleResult:
    """The result of a rule with the counts of its cases."""
    return RuleResult(
        rule,
        outcome,
        reason,
        passed=counts.passed,
        failed=counts.failed,
        errored=counts.errored,
        pass_rate=counts.pass_rate,
        score=score,
    )


class _Measures(FrozenStruct):
    """The thresholds of a rule, each with what was measured, in words."""

    missed: list[str]
    measured: list[str]  # all of them


def _measure(rule: Rule, counts: Counts, mean_score: Fraction | None) -> _Measures:
    """Compare the pass rate and the mean score with their thresholds."""
    missed = []
    measured = []
    if rule.min_pass_rate is not None:
        rate, least = format_percents(counts.pass_rate or 0.0, rule.min_pass_rate)
        if outcome_by_counts(rule, counts) is FAIL:
            missed.append(f"pass rate {rate} is below {least}")
        measured.append(f"pass rate {rate}, at least {least}")
    if rule.min_score is not None and mean_score is not None:
        score, least = format_scores(float(mean_score), rule.min_score, rule.scale)
        if not meets(mean_score, rule.min_score):
            missed.append(f"mean score {score} is below {least}")
        measured.append(f"mean score {score}, at least {least}")
    return _Measures(missed, measured)


def _scored_grades(rule: Rule, rows: Iterable[Row]) -> list[Grade]:
    """The selected grades of all rows, and of all runs of a case that count for the rule."""
    grades = []
    for row in rows:
        if row.needs and row.run > runs_required(rule, row.needs).of:
            continue
        grades += [grade for grade in row.grades if selects_grade(rule, row, grade)]
    return grades


def _mean_score(
    rule: Rule, grades: Iterable[Grade], undone_score: float | None = None
) -> Fraction | None:
    """The mean score; with `by_metric`, the mean of the means of the metrics. None if no grade has a score.

    ``undone_score`` stands for the score of a grade that a budget or a signal left undone.
    """
    scores_of = defaultdict(list)
    for grade in grades:
        score = undone_score if grade.undone else grade.score
        if score is None:
            continue
        metric = ""
        if rule.by_metric:
            metric = grade.metric or grade.assertion.type
        scores_of[metric].append(score)
    if not scores_of:
        return None
    return exact_mean([exact_mean(scores) for scores in scores_of.values()])


def _selected_leaves(rule: Rule, row: Row) -> list[Grade]:
    """The grades that a rule looks at in a case, with the members of a set in place of the set."""
    leaves = []
    for position, grade in enumerate(row.grades):
        if selects_grade(rule, row, grade):
            leaves += leaf_grades(row.grades, position)
    return leaves


def _reason_nothing_graded(rows: Iterable[Row], subject: str) -> str:
    """Say that the rule has nothing to decide by. A quarantined failure is nothing to decide by, either."""
    where = ""
    if any(has_quarantine(row) for row in rows):
        where = " outside of quarantine"
    return f"{subject}{where} could be graded"


def _reason_too_few(rule: Rule, counts: Counts) -> str:
    """Say ``only 3 of at least 20 cases graded``. Empty if enough cases are."""
    graded = counts.passed + counts.failed
    if rule.min_cases is None or graded >= rule.min_cases:
        return ""
    return f"only {graded:,} of at least {format_count(rule.min_cases, 'case')} graded"


# --- what re-asks found, in words -----------------------------------------------------------------------------


class ReaskSummary:
    """What re-asks found in the cases of a rule, made from the outcome of each case and the grades that decide it."""

    def __init__(self, cases: Iterable[tuple[Outcome, Sequence[Grade]]]) -> None:
        self._confirmed_cases = 0
        self._overturned_grades = 0
        self._evidence = ""  # the votes on the last confirmed failure that its history decided
        for outcome, grades in cases:
            if outcome is FAIL and any(grade.confirmed for grade in grades):
                self._confirmed_cases += 1
            for grade in grades:
                if grade.has_passed and grade.votes:
                    self._overturned_grades += 1
                if grade.confirmed and grade.history and grade.history.earlier_votes:
                    asks = format_count(len(grade.votes), "ask")
                    votes = f"{grade.failing_votes} of {asks} here"
                    self._evidence = f"{votes}, {grade.history.earlier_votes}"

    def summarize_cases(self, failed: int, number: int) -> str:
        """Say ``2 of 100 cases failed, and each failed again when re-asked (4 more failures were overturned)``."""
        cases = f"of {format_count(number, 'case')}"
        overturned = note_on_overturned(self._overturned_grades, self._confirmed_cases)
        if not failed:
            return f"{number:,} {cases} passed{overturned}"

        confirmed = ""
        if failed == 1 and self._confirmed_cases:
            confirmed = ", and failed again when re-asked"
            if self._evidence:
                confirmed = f": {self._evidence}"
        elif self._confirmed_cases == failed:
            confirmed = ", and each failed again when re-asked"
        elif self._confirmed_cases:
            confirmed = f"; {self._confirmed_cases:,} of these failed again when re-asked"
        return f"{failed:,} {cases} failed{confirmed}{overturned}"

    def note_on_failures(self, failed: int) -> str:
        """Say the same about the failures of a rule, after how the rule was met or missed."""
        overturned = note_on_overturned(self._overturned_grades, self._confirmed_cases)
        if not self._confirmed_cases:
            return overturned
        subject = "the failure was"
        if self._confirmed_cases < failed:
            subject = f"{self._confirmed_cases:,} of {failed:,} failures were"
        elif failed > 1:
            subject = "each failure was"
        return f"; {subject} re-asked and confirmed{overturned}"


def note_on_overturned(number: int, confirmed: int = 0) -> str:
    """Say `` (4 more failures were overturned)``, next to the number of failures that were confirmed."""
    if not number:
        return ""
    verb = "was" if number == 1 else "were"
    if confirmed:
        return f" ({format_count(number, 'more failure')} {verb} overturned)"
    return f" ({format_count(number, 'failure')} {verb} overturned by re-asks)"


def note_on_not_reasked(run: RunResult, missed: bool) -> str:
    """Say how many cases failed once and were not re-asked. Empty if there are none."""
    failures = [row for row in fold_cases(None, run.rows) if is_unconfirmed(row)]
    # The rules that look at the base have nothing to ask about known failures.
    if run.reask and run.reask.pre_existing:
        failures = [row for row in failures if case_status(row) != PRE_EXISTING]
    number = len(failures)
    if not number:
        return ""
    if not missed:
        return f"; {format_count(number, 'failure')} not re-asked"
    verb, pronoun = ("was", "it") if number == 1 else ("were", "them")
    return f"; {format_count(number, 'case')} failed once and {verb} not re-asked, because the rule is missed without {pronoun}"


def note_on_unfinished(number: int) -> str:
    """Say ``5 more were not finished``: a budget or a signal ended the run first."""
    verb = "was" if number == 1 else "were"
    return f"{number:,} more {verb} not finished and might meet the rule"
