"""Decides: rules over grades, errors apart, blocked over inconclusive over advisory. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from gradegate.figures import cut
from gradegate.result import Counts, Decision, Grade, Outcome, Result, Row, RuleResult, RunResult
from gradegate.suite import Policy, Rule


def decide(run: RunResult, policies: Sequence[Policy]) -> Decision:
    """The verdict on a run. A threshold is met at equality."""
    rules = (
        *(_apply(rule, run.rows) for policy in policies for rule in policy.rules),
        *(_guard(policy) for policy in policies if policy.weakened and policy.changes == "block"),
    )
    errors = _errors(run.rows, policies)
    grades = [grade for row in run.rows for grade in row.grades]
    result, reason = _result(run, rules, errors, grades)
    counted = [grade for grade in grades if grade.outcome is Outcome.ERROR and grade.setup]
    return Decision(
        result=result,
        reason=reason,
        rules=rules,
        run=run,
        grades=_count(grade.outcome for grade in grades),
        cases=_count(row.outcome for row in run.rows if row.grades or row.error),
        notes=run.notes,
        setup=result is Result.INCONCLUSIVE and bool(counted or errors.setup),
    )


class _Errors:
    """What the ERRORs that count come to under the policies: "", "inconclusive" or "block"."""

    def __init__(self) -> None:
        self.effect = ""
        self.count = 0
        self.setup = False
        self.first = ""


def _errors(rows: Sequence[Row], policies: Sequence[Policy]) -> _Errors:
    found = _Errors()
    by_suite: Mapping[str, Policy] = {rule.suite: policy for policy in policies for rule in policy.rules}
    for suite, policy in by_suite.items():
        own = [row for row in rows if row.suite == suite]
        counted = [grade for row in own for grade in row.grades if grade.counts]
        errored = [grade for grade in counted if grade.outcome is Outcome.ERROR]
        silent = [row for row in own if row.error and not row.grades]  # nothing was asserted, and nothing answered
        if not errored and not silent:
            continue
        found.count += len(errored) + len(silent)
        found.first = found.first or (errored[0].reason if errored else silent[0].error)
        share = Fraction(len(errored) + len(silent), len(counted) + len(silent))
        if policy.errors == "block":
            found.effect = "block"
        elif not found.effect and (policy.errors == "inconclusive" or share > Fraction(str(policy.errors_up_to))):
            found.effect = "inconclusive"
    return found


def _apply(rule: Rule, rows: Sequence[Row]) -> RuleResult:
    own = [row for row in rows if row.suite == rule.suite]
    if rule.every_case:
        return _every_case(rule, [row for row in own if row.grades or row.error])
    grades = [grade for row in own for grade in row.grades if _takes(rule, row, grade)]
    counts = _count(grade.outcome for grade in grades)
    scores = [grade.score for grade in grades if grade.score is not None]
    mean = (_mean_of_metrics(grades) if rule.by_metric else float(_mean(scores))) if scores else None
    misses = _misses(rule, counts, mean)
    if counts.pass_rate is None:
        outcome, reason = Outcome.ERROR, "nothing that it selects could be graded"
    else:
        outcome = Outcome.FAIL if misses else Outcome.PASS
        reason = "; ".join(misses or _meets(rule, counts, mean))
    return RuleResult(rule, outcome, reason, counts.passed, counts.failed, counts.errored, counts.pass_rate, mean)


def _mean(scores: Sequence[float]) -> Fraction:
    return sum(map(Fraction, scores), Fraction(0)) / len(scores)


def _mean_of_metrics(grades: Sequence[Grade]) -> float:
    by_metric: dict[str, list[float]] = {}
    for grade in grades:
        if grade.score is not None:
            by_metric.setdefault(grade.metric or grade.assertion.type, []).append(grade.score)
    means = [_mean(scores) for scores in by_metric.values()]
    return float(sum(means, Fraction(0)) / len(means))


def _guard(policy: Policy) -> RuleResult:
    """The rule that is missed when a pull request weakens its own gate."""
    count, first = len(policy.weakened), policy.weakened[0].text
    reason = f"this pull request checks less than its base in {count} {'way' if count == 1 else 'ways'}: {first}"
    return RuleResult(Rule("the gate is not weakened"), Outcome.FAIL, reason)


def _takes(rule: Rule, row: Row, grade: Grade) -> bool:
    if grade.assertion.weight == 0 or grade.inner or (rule.blocking and not grade.assertion.blocking):
        return False
    return rule.select.takes(grade.assertion.type, grade.metric, row.provider, row.description)


def _every_case(rule: Rule, rows: Sequence[Row]) -> RuleResult:
    counts = _count(row.outcome for row in rows)
    graded = counts.passed + counts.failed
    if not graded:
        outcome, reason = Outcome.ERROR, "no case could be graded"
    elif counts.failed:
        outcome, reason = Outcome.FAIL, f"{counts.failed} of {graded} {_cases(graded)} failed"
    else:
        outcome, reason = Outcome.PASS, f"{graded} of {graded} {_cases(graded)} passed"
    return RuleResult(rule, outcome, reason, counts.passed, counts.failed, counts.errored, counts.pass_rate)


def _misses(rule: Rule, counts: Counts, mean: float | None) -> list[str]:
    graded = counts.passed + counts.failed
    found = []
    if (
        rule.min_pass_rate is not None
        and graded
        and Fraction(counts.passed, graded) < Fraction(str(rule.min_pass_rate))
    ):
        found.append(f"pass rate {_percent(counts.passed, graded)} is below {rule.min_pass_rate * 100:g}%")
    if rule.min_score is not None and mean is not None and mean < rule.min_score - 1e-12:
        found.append(f"mean score {_shown(mean, rule)} is below {_shown(rule.min_score, rule)}")
    return found


def _meets(rule: Rule, counts: Counts, mean: float | None) -> list[str]:
    graded = counts.passed + counts.failed
    found = []
    if rule.min_pass_rate is not None:
        found.append(f"pass rate {_percent(counts.passed, graded)}, at least {rule.min_pass_rate * 100:g}%")
    if rule.min_score is not None and mean is not None:
        found.append(f"mean score {_shown(mean, rule)}, at least {_shown(rule.min_score, rule)}")
    return found


def _result(
    run: RunResult, rules: Sequence[RuleResult], errors: _Errors, grades: Sequence[Grade]
) -> tuple[Result, str]:
    failed = [rule for rule in rules if rule.rule.blocking and rule.outcome is Outcome.FAIL]
    if failed:
        return Result.BLOCKED, "; ".join(f"{rule.rule.name}: {rule.reason}" for rule in failed)
    if errors.effect == "block":
        return Result.BLOCKED, f"{_errors_said(errors)}, and errors block"
    if run.interrupted:
        return Result.INCONCLUSIVE, f"the run was {run.interrupted} before it ended"
    if errors.effect:
        return Result.INCONCLUSIVE, _errors_said(errors)
    undecided = [rule for rule in rules if rule.rule.blocking and rule.outcome is Outcome.ERROR]
    if undecided:
        return Result.INCONCLUSIVE, f"{undecided[0].rule.name}: {undecided[0].reason}"
    if not any(grade.outcome is not Outcome.ERROR for grade in grades):
        return Result.INCONCLUSIVE, "nothing could be graded"
    advisory = [rule for rule in rules if not rule.rule.blocking and rule.outcome is not Outcome.PASS]
    loose = sum(grade.outcome is not Outcome.PASS and not grade.counts and not grade.inner for grade in grades)
    if advisory:
        return Result.ADVISORY, "; ".join(f"{rule.rule.name}: {rule.reason}" for rule in advisory)
    if loose:
        return Result.ADVISORY, f"{loose} advisory {'finding' if loose == 1 else 'findings'}"
    return Result.PASS, "; ".join(rule.reason for rule in rules if rule.rule.blocking) or "every rule is met"


def _errors_said(errors: _Errors) -> str:
    word = "verdict" if errors.count == 1 else "verdicts"
    return f"{errors.count} {word} could not be reached; the first: {errors.first}"


def _count(outcomes: Iterable[Outcome]) -> Counts:
    passed = failed = errored = 0
    for outcome in outcomes:
        passed += outcome is Outcome.PASS
        failed += outcome is Outcome.FAIL
        errored += outcome is Outcome.ERROR
    return Counts(passed, failed, errored)


def _shown(score: float, rule: Rule) -> str:
    return f"{score:.4g}" if rule.scale == 1 else cut(score, rule.scale)


def _percent(part: int, whole: int) -> str:
    """Cut, not rounded: 94.99% never shows as 95."""
    return f"{int(Fraction(part * 1000, whole)) / 10:g}%"


def _cases(count: int) -> str:
    return "case" if count == 1 else "cases"
