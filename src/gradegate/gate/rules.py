"""One rule of a gate over the cases that it selects. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

from gradegate.core.numbers import exact_mean, format_count, format_percents, format_scores, meets
from gradegate.core.policy import Rule
from gradegate.gate.case_runs import as_cases, held_runs, is_unfinished, of_rule, outcome_of
from gradegate.results.baseline import PRE_EXISTING, standing
from gradegate.results.case_outcome import strangeness
from gradegate.results.grades import ERROR, FAIL, PASS, Grade, Outcome
from gradegate.results.rows import Row, counted, parts, takes, unconfirmed
from gradegate.results.run_result import Counts, RuleResult, RunResult
from gradegate.structs import replace


class AskedAgain:
    """What re-asks found in the cases that a rule counts, from the outcome of each case and the grades that decide it."""

    def __init__(self, counted: Iterable[tuple[Outcome, Sequence[Grade]]]) -> None:
        self.confirmed = self.overturned = 0  # cases; grades
        self.evidence = ""  # of the last grade that fails for certain, where its history decided
        for outcome, grades in counted:
            self.confirmed += outcome is FAIL and any(grade.confirmed for grade in grades)
            self.overturned += sum(grade.has_passed and bool(grade.votes) for grade in grades)
            for grade in grades:
                if grade.confirmed and grade.history and grade.history.before:
                    self.evidence = f"{grade.failing_votes} of {format_count(len(grade.votes), 'ask')} here, {grade.history.before}"

    def of_cases(self, failed: int, number: int) -> str:
        """Say ``2 of 100 cases failed, and each failed again when re-asked (4 more failures were overturned)``."""
        cases = f"of {format_count(number, 'case')}"
        note = overturned(self.overturned, self.confirmed)
        if not failed:
            return f"{number:,} {cases} passed{note}"
        how = ""
        if failed == 1 and self.confirmed:
            how = f": {self.evidence}" if self.evidence else ", and failed again when re-asked"
        elif self.confirmed == failed:
            how = ", and each failed again when re-asked"
        elif self.confirmed:
            how = f"; {self.confirmed:,} of these failed again when re-asked"
        return f"{failed:,} {cases} failed{how}{note}"

    def of_failures(self, failed: int) -> str:
        """The same of a rule's failures, after how it was met or missed."""
        note = overturned(self.overturned, self.confirmed)
        if not self.confirmed:
            return note
        some = f"{'each' if failed > 1 else 'the'} failure was"
        if self.confirmed < failed:
            some = f"{self.confirmed:,} of {failed:,} failures were"
        return f"; {some} re-asked and confirmed{note}"


def overturned(number: int, confirmed: int = 0) -> str:
    """`` (4 more failures were overturned)``, beside so many that were confirmed."""
    if not number:
        return ""
    more, how = ("more ", "") if confirmed else ("", " by re-asks")
    return f" ({format_count(number, f'{more}failure')} {'was' if number == 1 else 'were'} overturned{how})"


def spared(run: RunResult, missed: bool) -> str:
    """How many cases failed once and were not asked again; an empty string where none did."""
    failures = filter(unconfirmed, as_cases(None, run.rows))
    if run.reask and run.reask.pre_existing:  # old ones, by the rules that look at the base
        failures = filter(lambda row: standing(row) != PRE_EXISTING, failures)
    number = sum(1 for _ in failures)
    if not number:
        return ""
    if not missed:
        return f"; {format_count(number, 'failure')} not re-asked"
    verb, them = ("was", "it") if number == 1 else ("were", "them")
    return f"; {format_count(number, 'case')} failed once and {verb} not re-asked, because the rule is missed without {them}"


def left_undone(number: int) -> str:
    """Say ``5 more were not finished``: a budget or a signal ended the run first."""
    return (
        f"{number:,} more {'was' if number == 1 else 'were'} not finished and might meet the rule"
    )


def apply(rule: Rule, rows: Sequence[Row]) -> RuleResult:
    """The rule over the rows of its suite."""
    if not rule.judges:
        return RuleResult(rule, PASS, "")
    cases = [*as_cases(rule, rows)]
    if rule.every_case:
        return _every_case(rule, cases)
    outcomes = [(row, outcome) for row in cases if (outcome := outcome_of(rule, row))]
    counts = count(outcome for _, outcome in outcomes)
    # The scores of all runs count.
    first = (row for row in rows if not row.needs or row.run <= of_rule(rule, row.needs).of)
    grades = [grade for row in first for grade in row.grades if takes(rule, row, grade)]
    strange = next(filter(None, map(strangeness, grades)), "")
    average = _average(rule, grades)
    misses, measured = _measured(rule, counts, average)
    outcome = ERROR
    if counts.pass_rate is None:
        reason = nothing_graded(rows)
    elif too_few := _too_few(rule, counts):
        reason = too_few
    elif rule.min_score is not None and strange:
        reason = strange
    elif misses:
        reason = "; ".join(misses)
        undone = sum(is_unfinished(rule, row) for row, _ in outcomes)
        best = replace(counts, passed=counts.passed + undone, errored=counts.errored - undone)
        # It may be met with a PASS for all of these.
        if undone and not _measured(rule, best, _average(rule, grades, undone=1.0))[0]:
            graded = counts.passed + counts.failed
            reason = f"{reason} so far, of {graded:,} graded; {left_undone(undone)}"
        else:
            outcome = FAIL
    else:
        outcome, reason = by_counts(rule, counts), "; ".join(measured)
    if outcome is not ERROR:
        if held := held_runs(rule, cases):
            reason += f", a case by {held}"
        again = AskedAgain((outcome, _selected_parts(rule, row)) for row, outcome in outcomes)
        reason += again.of_failures(counts.failed)
    score = None if average is None else float(average)
    return _result(rule, outcome, reason, counts, score)


def _result(
    rule: Rule, outcome: Outcome, reason: str, counts: Counts, score: float | None = None
) -> RuleResult:
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


def _selected_parts(rule: Rule, row: Row) -> list[Grade]:
    """The grades that a rule looks at in a case, the members of a set in place of the set."""
    found = []
    for position, grade in enumerate(row.grades):
        if takes(rule, row, grade):
            found += parts(row.grades, position)
    return found


def nothing_graded(rows: Iterable[Row], what: str = "nothing that the rule selects") -> str:
    """Say that a rule has nothing to decide by; what a quarantine forgives is nothing to decide by, either."""
    where = " outside of quarantine" if any(map(is_in_quarantine, rows)) else ""
    return f"{what}{where} could be graded"


def is_in_quarantine(row: Row) -> bool:
    """Whether something in a row only advises because its test is in quarantine."""
    return any(grade.quarantine for grade in row.grades)


def by_counts(rule: Rule, counts: Counts) -> Outcome:
    """What the rule says as far as it looks at how many passed; ERROR where they are too few to tell."""
    graded = counts.passed + counts.failed
    if not graded or _too_few(rule, counts):
        return ERROR
    if rule.min_pass_rate is None and not rule.every_case:
        return PASS
    least = 1.0 if rule.min_pass_rate is None else rule.min_pass_rate
    return PASS if meets(Fraction(counts.passed, graded), least) else FAIL


def _too_few(rule: Rule, counts: Counts) -> str:
    graded, least = counts.passed + counts.failed, rule.min_cases or 0
    return (
        f"only {graded:,} of at least {format_count(least, 'case')} graded"
        if graded < least
        else ""
    )


def count(outcomes: Iterable[Outcome]) -> Counts:
    """How many of each."""
    found = list(outcomes)
    return Counts(*map(found.count, Outcome))


def _average(rule: Rule, grades: Sequence[Grade], undone: float | None = None) -> Fraction | None:
    """The mean score, by metric the mean of the metrics' means; None where nothing has one. ``undone``: the score of what is."""
    by_metric = defaultdict(list)
    for grade in grades:
        score = undone if grade.undone else grade.score
        if score is not None:
            name = (grade.metric or grade.assertion.type) if rule.by_metric else ""
            by_metric[name].append(score)
    return exact_mean(exact_mean(scores) for scores in by_metric.values()) if by_metric else None


def _every_case(rule: Rule, cases: Sequence[Row]) -> RuleResult:
    rows = [row for row in cases if counted(rule, row)]
    counts = count(row.outcome for row in rows)
    graded = counts.passed + counts.failed
    if not graded:
        return _result(rule, ERROR, nothing_graded(cases, "no case"), counts)
    again = AskedAgain((row.outcome, row.grades) for row in rows)
    # Of all cases, those with an error included, as headlines count them.
    reason = again.of_cases(counts.failed, counts.planned if counts.failed else graded)
    if held := held_runs(rule, rows):
        reason = f"{counts.passed} of {format_count(graded, 'case')} passed {held}"
        if counts.failed:
            reason += f"; {format_count(counts.failed, 'failure')}"
        reason += again.of_failures(counts.failed)
    return _result(rule, FAIL if counts.failed else PASS, reason, counts)


def _measured(rule: Rule, counts: Counts, average: Fraction | None) -> tuple[list[str], list[str]]:
    """The keys that the rule is missed by, and all that it measures, in words."""
    missed, measured = [], []
    if rule.min_pass_rate is not None:
        rate, least = format_percents(counts.pass_rate or 0.0, rule.min_pass_rate)
        if by_counts(rule, counts) is FAIL:
            missed.append(f"pass rate {rate} is below {least}")
        measured.append(f"pass rate {rate}, at least {least}")
    if rule.min_score is not None and average is not None:
        score, least = format_scores(float(average), rule.min_score, rule.scale)
        if not meets(average, rule.min_score):
            missed.append(f"mean score {score} is below {least}")
        measured.append(f"mean score {score}, at least {least}")
    return missed, measured
