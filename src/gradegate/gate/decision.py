"""Decides: rules over grades, errors apart, blocked over inconclusive over advisory. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import asdict

from gradegate.core.numbers import exact_fraction, format_count
from gradegate.core.policy import Note, Policy, Rule
from gradegate.gate.case_runs import OpenRow, as_cases, outcome_of, whole
from gradegate.gate.grader_drift import ruled
from gradegate.gate.reasks.ballot import is_contradicted
from gradegate.gate.reasks.needs import OpenCase, count_case, parts_of
from gradegate.gate.reasks.stopping import CONTRADICTION, DOUBT, RETURN
from gradegate.gate.regressions import Case, with_base
from gradegate.gate.rules import apply, count, is_in_quarantine, spared
from gradegate.results.baseline import NEW_FAILURE, count_contradictions
from gradegate.results.case_outcome import conclude_case
from gradegate.results.gate_changes import GUARD, NO_CHANGES, GateChanges, done, guarded
from gradegate.results.grades import ERROR, FAIL, PASS, Grade
from gradegate.results.rows import AnswerId, Row, left_open, parts, runs_of, takes
from gradegate.results.run_result import (
    NO_POWER,
    Counts,
    Decision,
    GateOutcome,
    RuleResult,
    RunResult,
)
from gradegate.structs import replace


def blamed(rows: Sequence[Row], rules: Iterable[RuleResult]) -> frozenset[int]:
    """The places of the rows with a failure that a blocking rule is missed for; all else that fails only advises.

    A rule that only looks at the base is missed for new failures, and any other for whatever it selects. What failed once
    and was not asked to its end is no reason: the rule is missed without it.
    """
    places = set()
    for result in rules:
        if result.rule.blocking and result.has_failed:
            own = [(place, row) for place, row in enumerate(rows) if row.suite == result.rule.suite]
            for part in parts_of(result.rule):
                # A rule of several keys may be missed by what it asks of the run itself, or not by that.
                if part.beside_base or apply(part, [row for _, row in own]).has_failed:
                    places |= {*_counted_against(part, own)}
    return frozenset(places)


def _counted_against(rule: Rule, rows: Iterable[tuple[int, Row]]) -> Iterator[int]:
    places = {id(row): place for place, row in rows}
    for case in runs_of(row for _, row in rows):
        row, open_ = case[0], left_open(case[0])
        opened = [OpenRow(AnswerId(places[id(run)], 0), run, left_open(run)) for run in case]
        if row.needs:
            if _fails_for_good(rule, opened):
                yield from (places[id(run)] for run in case if outcome_of(rule, run) is FAIL)
            continue
        if rule.beside_base:
            grades = tuple(
                grade
                for position, grade in enumerate(row.grades)
                if position not in open_ and takes(rule, row, grade)
            )
            has_failure = any(grade.has_failed for grade in grades)
            blames = has_failure and Case(row, grades).standing == NEW_FAILURE
        else:
            blames = _fails_for_good(rule, opened)
        if blames:
            yield places[id(row)]


def _fails_for_good(rule: Rule, case: OpenCase) -> bool:
    count = count_case(rule, case)
    return count is not None and count.outcome is FAIL and not count.open


_FROM_BEST = (
    GateOutcome.PASS,
    GateOutcome.ADVISORY,
    GateOutcome.INCONCLUSIVE,
    GateOutcome.BLOCKED,
)


class _Errors(NamedTuple):
    """What the ERRORs that count do under the policies: "", "inconclusive" or "block", and how that is said."""

    effect: str
    reason: str


class _Error(NamedTuple):
    """An ERROR that decides.

    No policy ignores one that ``may_hide_failure``: something came that may be a failure, or the run itself left it.
    """

    reason: str
    may_hide_failure: bool


def _weigh_errors(
    run: RunResult, policies: Sequence[Policy], rules: Sequence[RuleResult]
) -> _Errors:
    """The ERRORs of all suites, each under the policy of its own."""
    by_suite = {rule.suite: policy for policy in policies for rule in policy.rules}
    blocking = [result for result in rules if result.rule.blocking]
    effects = set()
    reasons = []
    for suite, policy in by_suite.items():
        rows: list[Row] = []
        for case in runs_of(row for row in run.rows if row.suite == suite):
            rows += _as_blocking_rules_see(case, blocking)
        errors = list(_deciding_errors(run, rows, blocking))
        effect = policy.errors
        if effect == "ignore":
            counting = ((row, grade) for row in rows for grade in row.grades if grade.counts)
            looked_at = sum(
                any(takes(result.rule, *pair) for result in blocking) for pair in counting
            )
            silent = sum(bool(row.error) and not row.grades for row in rows)
            unignorable = [error for error in errors if error.may_hide_failure]
            effect = "inconclusive"
            if len(errors) <= exact_fraction(policy.errors_up_to) * (looked_at + silent):
                effect = "inconclusive" if unignorable else ""
                errors = unignorable or errors
        if errors:
            effects.add(effect)
            reasons += [error.reason for error in errors]
    effect = next((effect for effect in ("block", "inconclusive") if effect in effects), "")
    return _Errors(effect, _summarise_errors(reasons))


def _as_blocking_rules_see(case: Sequence[Row], blocking: Iterable[RuleResult]) -> Sequence[Row]:
    """The runs of a case as one row, with an error where a rule sees one; any other row as it is."""
    if not case[0].needs:
        return case
    views = [row for result in blocking if (row := whole(result.rule, case))]
    return [min(views, key=lambda row: not row.has_error)] if views else case


def _summarise_errors(reasons: Sequence[str]) -> str:
    """How many errors there are, and the reason of the first."""
    if not reasons:
        return ""
    kind, _, details = reasons[0].partition(": ")
    first = "the first: " if len(reasons) > 1 else ""
    if kind in (CONTRADICTION, DOUBT, RETURN) and all(
        reason.startswith(f"{kind}: ") for reason in reasons
    ):
        return f"{kind} on {format_count(len(reasons), 'case')} ({first}{details})"
    return f"{format_count(len(reasons), 'error')}{'; ' if first else ': '}{first}{reasons[0]}"


def _deciding_errors(
    run: RunResult, rows: Sequence[Row], blocking: Sequence[RuleResult]
) -> Iterator[_Error]:
    """The ERRORs that decide: of what a blocking rule looks at, and of answers of which nothing was asserted.

    What an interruption left undone is not an error for certain: it might pass.
    """
    if _cut_short(run):
        rows = [row for row in rows if not (row.undone or any(it.undone for it in row.grades))]
    for row in rows:
        errors = [grade for grade in row.grades if grade.counts and grade.has_error]
        # Where the error leaves the whole case undecided, what fails in it is in no count.
        hides = row.has_error and any(grade.counts and grade.has_failed for grade in row.grades)
        usage = run.target_usage if row.error else run.grader_usage
        for grade in errors:
            looking = [result for result in blocking if takes(result.rule, row, grade)]
            decides = not (is_contradicted(grade) and all(result.bears for result in looking))
            if not looking:  # it is advice, unless no model that was asked is there at all
                absent = grade.unheard or grade.withheld
                decides = absent and not (usage.calls or usage.cached)
            if decides:
                yield _Error(grade.reason, not grade.unheard or hides)
        # No mean can be taken, or no score was made.
        is_only_whole = row.has_error and row.grades and not errors
        if is_only_whole and any(outcome_of(result.rule, row) is ERROR for result in blocking):
            yield _Error(row.reason, may_hide_failure=True)
    for row in rows:
        if row.error and not row.grades:
            yield _Error(row.error, row.undone or row.withheld)


def decide(
    run: RunResult, policies: Sequence[Policy], changes: GateChanges = NO_CHANGES
) -> Decision:
    """The verdict on a run. A threshold is met at equality. ``changes`` are what the pull request does to its gate."""
    rules = (
        *_apply_rules(run, policies),
        *([_guard(changes)] if changes.found and changes.block else ()),
    )
    errors = _weigh_errors(run, policies, rules)
    outcome, reason = _conclude(run, rules, errors, changes)
    if run.made.only and outcome is GateOutcome.PASS:  # a part never passes for the whole
        outcome = GateOutcome.ADVISORY
    return Decision(
        outcome=outcome,
        reason=reason,
        rules=rules,
        run=run,
        grades=_count_grades(run.rows),
        cases=_count_cases(run.rows),
        setup=outcome is GateOutcome.INCONCLUSIVE and run.has_setup_error,
        changes=changes,
        blocking=blamed(run.rows, rules) if outcome is GateOutcome.BLOCKED else frozenset(),
    )


def _count_grades(rows: Iterable[Row]) -> Counts:
    return count(grade.outcome for row in rows for grade in row.grades)


def _count_cases(rows: Iterable[Row]) -> Counts:
    return count(row.outcome for row in as_cases(None, rows) if row.grades or row.error)


def is_consistent(decision: Decision) -> bool:
    """Whether a decision follows from its cases. One that a file holds may not: anybody can have written that.

    Policies are in no file, so errors may have made the outcome worse than it would be without them.
    """
    run, rows, rules = decision.run, decision.run.rows, decision.rules
    counts = _count_grades(rows), _count_cases(rows)
    if (decision.grades, decision.cases) != counts or count_contradictions(rows):
        return False
    if not rows:
        return True
    for result in rules:
        anew = apply(result.rule, [row for row in rows if row.suite == result.rule.suite])
        figures = [(it.passed, it.failed, it.errored) for it in (result, anew)]
        if figures[0] != figures[1] or (anew.has_failed and result.has_passed):
            return False
    is_blocked = decision.outcome is GateOutcome.BLOCKED
    if decision.blocking != (blamed(rows, rules) if is_blocked else frozenset()):
        return False
    best, _ = _conclude(run, rules, _Errors("", ""), decision.changes)
    return decision.outcome in _FROM_BEST[_FROM_BEST.index(best) :]


def is_whole(decision: Decision, policies: Sequence[Policy]) -> bool:
    """Whether later runs may be compared with this one: nothing was left out, and each error is one that its gate ignores."""
    run = decision.run
    used_up = run.budget.used_up if run.budget else ""
    was_cut_short = bool(_cut_short(run) or run.made.only or used_up)
    graded = replace(run, rows=tuple(map(_with_contradictions_as_failures, run.rows)))
    return (
        bool(run.rows)
        and not was_cut_short
        and not _weigh_errors(graded, policies, decision.rules).effect
    )


def _with_contradictions_as_failures(row: Row) -> Row:
    """The row as if votes that decide nothing were a failure: nothing is missing in them."""
    grades = list(row.grades)
    for place, grade in enumerate(grades):
        errors = [part for part in parts(row.grades, place) if part.has_error]
        if errors and all(map(is_contradicted, errors)):
            grades[place] = replace(grade, outcome=FAIL, score=0.0)
    if tuple(grades) == row.grades:
        return row
    outcome = conclude_case(grades, row.threshold).outcome
    return replace(row, grades=tuple(grades), outcome=outcome)


def withheld(decision: Decision, changes: GateChanges) -> Decision:
    """A decision about a run that did not take place, with what the pull request does to its gate: that takes no key to block."""
    decision = replace(decision, changes=changes)
    if not (changes.found and changes.block):
        return decision
    guard = _guard(changes)
    if changes.approved:
        return replace(decision, rules=(guard,))
    said = replace(decision.run, notes=(Note(f"Not run: {decision.reason}"), *decision.run.notes))
    return replace(
        decision,
        outcome=GateOutcome.BLOCKED,
        reason=_name_reasons([guard]),
        rules=(guard,),
        run=said,
    )


def _apply_rules(run: RunResult, policies: Iterable[Policy]) -> Iterator[RuleResult]:
    """The rules of all suites; that every case passes says nothing about a suite in which nothing counts."""
    powers = iter(run.powers)
    cut_short = _cut_short(run)
    for policy in policies:
        for rule in policy.rules:
            power = asdict(next(powers, NO_POWER))
            rows = [row for row in run.rows if row.suite == rule.suite]
            is_strict = (rule.every_case or rule.is_default) and rule.blocking
            if is_strict and rows and not any(row.counts or is_in_quarantine(row) for row in rows):
                continue

            def apply_to(
                rows: Sequence[Row], rule: Rule = rule, answers: bool = policy.reask == "answers"
            ) -> RuleResult:
                return with_base(apply(rule, rows), rows, run, answers)

            result = ruled(apply_to(rows), rows, run.labels, apply_to)
            if result.has_passed and cut_short:  # what is missing might miss it
                result = replace(result, outcome=ERROR, reason=cut_short)
            yield replace(result, **power)


def _cut_short(run: RunResult) -> str:
    """Why rows of the run are missing, so that no rule can be met; empty where none is."""
    if run.interrupted:
        return f"the run was {run.interrupted} before it ended"
    return f"parts of the run are missing or damaged: {run.incomplete}" if run.incomplete else ""


def _guard(changes: GateChanges) -> RuleResult:
    """The rule that is missed when a pull request changes its own gate and nobody approved that."""
    if changes.approved:
        return RuleResult(Rule(GUARD), PASS, f"{done(changes)}, approved by {changes.approved}")
    return RuleResult(Rule(GUARD), FAIL, guarded(changes))


def _conclude(
    run: RunResult, rules: Sequence[RuleResult], errors: _Errors, changes: GateChanges
) -> tuple[GateOutcome, str]:
    """The outcome with its reason, by the first of these questions that is answered with yes."""
    blocking = [result for result in rules if result.rule.blocking]
    missed = [result for result in blocking if result.has_failed]
    if missed:
        return GateOutcome.BLOCKED, _name_reasons(missed) + spared(run, missed=True)
    if errors.effect == "block":
        return GateOutcome.BLOCKED, f"{errors.reason}, and errors block"
    unknown = _cut_short(run) or (errors.effect and errors.reason)
    if unknown:
        return GateOutcome.INCONCLUSIVE, unknown
    unsettled = [result for result in blocking if result.has_error]
    if unsettled:
        return GateOutcome.INCONCLUSIVE, _name_reasons(unsettled[:1])
    graded = {row.suite for row in run.rows if any(not grade.has_error for grade in row.grades)}
    ungraded = [row.suite for row in run.rows if row.suite not in graded]
    if ungraded or not graded:
        where = f" in {ungraded[0]}" if graded else ""
        return GateOutcome.INCONCLUSIVE, f"nothing could be graded{where}"
    if changes.weakened and not changes.approved:
        return GateOutcome.ADVISORY, done(changes)
    advisory = [result for result in rules if not (result.rule.blocking or result.has_passed)]
    if advisory:
        return GateOutcome.ADVISORY, _name_reasons(advisory)
    findings = sum(
        _is_advisory(row, grade, rules)
        for row in run.rows
        for grade in row.grades
        if not (grade.has_passed or grade.inner)
    )
    if findings:
        return GateOutcome.ADVISORY, format_count(findings, "advisory finding")
    tolerant = [result for result in blocking if result.new_failures or result.within_noise]
    if tolerant:
        return GateOutcome.ADVISORY, _name_reasons(tolerant)
    if not blocking:
        reason = "everything passed, but nothing can block: every assertion is advisory"
        return GateOutcome.ADVISORY, reason
    undecided = [result for result in blocking if result.outcome is None]
    not_decided = f"not decided: {_name_reasons(undecided)}"
    if len(undecided) == len(blocking):
        return GateOutcome.ADVISORY, not_decided
    reasons = [result.reason for result in blocking if result.has_passed]
    if undecided:
        reasons.append(not_decided)
    return GateOutcome.PASS, "; ".join(reasons) + spared(run, missed=False)


def _is_advisory(row: Row, grade: Grade, rules: Iterable[RuleResult]) -> bool:
    """Whether a grade that did not pass is for people alone: no rule looks at it, or it is an error and no rule that looks at it blocks."""
    if not grade.counts:
        return True
    looking = [result.rule for result in rules if takes(result.rule, row, grade)]
    return not any(rule.blocking or grade.has_failed for rule in looking)


def _name_reasons(results: Sequence[RuleResult]) -> str:
    """The reasons of rules, by the names that somebody gave them, else by their configs if there are several."""
    several = len({result.rule.suite for result in results} - {""}) > 1
    reasons = []
    for result in results:
        rule = result.rule
        name = rule.name
        if rule.every_case or rule.is_default:
            name = rule.suite if several else ""
        reasons.append(": ".join(filter(None, (name, result.reason))))
    return "; ".join(reasons)
