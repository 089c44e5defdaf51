"""One rule of a gate over the grades that it selects. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from gradegate.deciding.chances import Interval, wilson
from gradegate.deciding.confirmations import asked_again, left_undone
from gradegate.deciding.runs import as_cases, held_runs, of_rule
from gradegate.grading.conclude import strangeness
from gradegate.values.figures import many, percent, percents, scores
from gradegate.values.limits import mean, reached
from gradegate.values.open_grades import members
from gradegate.values.result import Counts, Grade, Outcome, Row, RuleResult, counted, takes
from gradegate.values.suite import Rule


def apply(rule: Rule, rows: Sequence[Row]) -> RuleResult:
    """The rule over the rows of its suite."""
    if not rule.judges:
        return RuleResult(rule, Outcome.PASS, "")
    cases = [*as_cases(rule, rows)]
    if rule.every_case:
        return _every_case(rule, [row for row in cases if counted(rule, row)])
    places = [(row, place) for row in cases for place, grade in enumerate(row.grades) if takes(rule, row, grade)]
    counts = count(row.grades[place].outcome for row, place in places)
    first = (row for row in rows if not row.needs or row.run <= of_rule(rule, row.needs).of)  # the scores of all runs count
    grades = [grade for row in first for grade in row.grades if takes(rule, row, grade)]
    strange = next(filter(None, map(strangeness, grades)), "")
    average = _average(rule, grades)
    if counts.pass_rate is None:
        outcome, reason = Outcome.ERROR, "nothing that the rule selects could be graded"
    elif too_few := _too_few(rule, counts):
        outcome, reason = Outcome.ERROR, too_few
    elif rule.min_score is not None and strange:
        outcome, reason = Outcome.ERROR, strange
    elif misses := _misses(rule, counts, average):
        outcome, reason = _missed(rule, grades, counts, misses)
    else:
        outcome = by_counts(rule, counts)
        reason = "; ".join(_meets(rule, counts, average))
    if outcome is not Outcome.ERROR:
        held = held_runs(rule, cases)
        reason += (f", a case by {held}" if held else "") + asked_again(_units(places)).said(counts.failed)
    score = None if average is None else float(average)
    interval = _interval(rule, counts) or (None, None)
    return RuleResult(rule, outcome, reason, counts.passed, counts.failed, counts.errored, counts.pass_rate, score, *interval)


def by_counts(rule: Rule, counts: Counts) -> Outcome:
    """What the rule says as far as it looks at how many passed; ERROR where they are too few to tell."""
    graded = counts.passed + counts.failed
    if not graded or _too_few(rule, counts):
        return Outcome.ERROR
    if rule.min_pass_rate is None and not rule.every_case:
        return Outcome.PASS
    least = 1.0 if rule.min_pass_rate is None else rule.min_pass_rate
    interval = _interval(rule, counts)
    if interval is None:
        return Outcome.PASS if reached(Fraction(counts.passed, graded), least) else Outcome.FAIL
    if interval.high < least:
        return Outcome.FAIL
    return Outcome.PASS if interval.low >= least else Outcome.ERROR


def _units(places: Iterable[tuple[Row, int]]) -> Iterator[tuple[Outcome, Sequence[Grade]]]:
    """The outcome of each grade, with the grades that it is made of."""
    for row, place in places:
        grade = row.grades[place]
        parts = [row.grades[inner] for inner in members(row.grades, place)] if grade.assertion.is_set else [grade]
        yield grade.outcome, parts


def _too_few(rule: Rule, counts: Counts) -> str:
    graded, least = counts.passed + counts.failed, rule.min_cases or 0
    return f"only {graded:,} of at least {many(least, rule.counts)} graded" if graded < least else ""


def _interval(rule: Rule, counts: Counts) -> Interval | None:
    """Where the pass rate of all cases lies, of which these are a sample; None for a rule that does not ask."""
    if rule.confidence is None:
        return None
    return wilson(counts.passed, counts.passed + counts.failed, rule.confidence)


def count(outcomes: Iterable[Outcome]) -> Counts:
    """How many of each."""
    passed = failed = errored = 0
    for outcome in outcomes:
        passed += outcome is Outcome.PASS
        failed += outcome is Outcome.FAIL
        errored += outcome is Outcome.ERROR
    return Counts(passed, failed, errored)


def _average(rule: Rule, grades: Sequence[Grade], undone: float | None = None) -> Fraction | None:
    """The mean score, or for a rule by metric the mean of the metrics' means; None where nothing has one.

    What is ``undone`` takes that score.
    """
    by_metric: dict[str, list[float]] = {}
    for grade in grades:
        score = undone if grade.undone else grade.score
        if score is not None:
            name = (grade.metric or grade.assertion.type) if rule.by_metric else ""
            by_metric.setdefault(name, []).append(score)
    return mean(mean(scores) for scores in by_metric.values()) if by_metric else None


def _missed(rule: Rule, grades: Sequence[Grade], counts: Counts, misses: Sequence[str]) -> tuple[Outcome, str]:
    """What a rule comes to that is missed by what was graded: only if it is with a PASS for all that is undone, too."""
    undone = sum(grade.undone for grade in grades)
    best = replace(counts, passed=counts.passed + undone, errored=counts.errored - undone)
    if not undone or _misses(rule, best, _average(rule, grades, undone=1.0)):
        return Outcome.FAIL, "; ".join(misses)
    graded = counts.passed + counts.failed
    return Outcome.ERROR, f"{'; '.join(misses)} so far, of {graded:,} graded; {left_undone(undone)}"


def _every_case(rule: Rule, rows: Sequence[Row]) -> RuleResult:
    counts = count(row.outcome for row in rows)
    graded = counts.passed + counts.failed
    if not graded:
        outcome, reason = Outcome.ERROR, "no case could be graded"
    else:
        outcome = Outcome.FAIL if counts.failed else Outcome.PASS
        again, held = asked_again((row.outcome, row.grades) for row in rows), held_runs(rule, rows)
        reason = again.of_cases(counts.failed, graded)
        if held:
            reason = f"{counts.passed} of {many(graded, 'case')} passed {held}"
            reason += (f"; {many(counts.failed, 'failure')}" if counts.failed else "") + again.said(counts.failed)
    return RuleResult(rule, outcome, reason, counts.passed, counts.failed, counts.errored, counts.pass_rate)


def _misses(rule: Rule, counts: Counts, average: Fraction | None) -> list[str]:
    misses = []
    if rule.min_pass_rate is not None and by_counts(rule, counts) is Outcome.FAIL:
        rate, least = percents(counts.pass_rate or 0.0, rule.min_pass_rate)
        misses.append(f"pass rate {rate} is below {least}{_within(rule, counts)}")
    if rule.min_score is not None and average is not None and not reached(average, rule.min_score):
        score, least = scores(float(average), rule.min_score, rule.scale)
        misses.append(f"mean score {score} is below {least}")
    return misses


def _meets(rule: Rule, counts: Counts, average: Fraction | None) -> list[str]:
    parts = []
    if rule.min_pass_rate is not None:
        rate, least = percents(counts.pass_rate or 0.0, rule.min_pass_rate)
        parts.append(f"pass rate {rate}, at least {least}{_within(rule, counts)}")
    if rule.min_score is not None and average is not None:
        score, least = scores(float(average), rule.min_score, rule.scale)
        parts.append(f"mean score {score}, at least {least}")
    return parts


def _within(rule: Rule, counts: Counts) -> str:
    """The interval, and what it leaves open."""
    interval = _interval(rule, counts)
    if interval is None:
        return ""
    told = ": inconclusive" if by_counts(rule, counts) is Outcome.ERROR else ""
    low, high = (percent(share, 2) for share in interval)
    return f"{told} ({low} to {high} with {percent(rule.confidence or 0.0)} confidence)"
