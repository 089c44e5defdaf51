"""Decides about a run: applies the rules, weighs the errors, and says why the check is green or red. Pure.

Blocked wins over inconclusive, inconclusive over advisory, advisory over passed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import asdict

from gradegate.core.numbers import exact_fraction, format_count
from gradegate.core.policy import Note, Policy, Rule
from gradegate.gate.case_runs import OpenRow, fold_cases, fold_runs, outcome_in_rule
from gradegate.gate.grader_drift import apply_drift
from gradegate.gate.reasks.ballot import is_contradicted
from gradegate.gate.reasks.needs import OpenCase, count_case, split_rule
from gradegate.gate.reasks.stopping import CONTRADICTION, DOUBT, RETURN
from gradegate.gate.regressions import RuleCase, apply_base_limits
from gradegate.gate.rules import apply_rule, count_outcomes, has_quarantine, note_on_not_reasked
from gradegate.results.baseline import NEW_FAILURE, count_contradictions
from gradegate.results.case_outcome import with_grades
from gradegate.results.gate_changes import (
    GUARD,
    NO_CHANGES,
    GateChanges,
    describe_changes,
    guard_reason,
)
from gradegate.results.grades import ERROR, FAIL, PASS, Grade
from gradegate.results.open_failures import unconfirmed_positions
from gradegate.results.rows import AnswerId, Row, leaf_grades, runs_by_case, selects_grade
from gradegate.results.run_result import (
    NO_POWER,
    Counts,
    Decision,
    GateOutcome,
    RuleResult,
    RunResult,
)
from gradegate.structs import FrozenStruct, replace

_FROM_BEST_TO_WORST = (
    GateOutcome.PASS,
    GateOutcome.ADVISORY,
    GateOutcome.INCONCLUSIVE,
    GateOutcome.BLOCKED,
)


def decide(
    run: RunResult, policies: Sequence[Policy], changes: GateChanges = NO_CHANGES
) -> Decision:
    """The decision about a run. A score that equals a threshold meets it.

    ``changes`` are what the pull request does to its own gate.
    """
    rules = [*_apply_rules(run, policies)]
    if changes.found and changes.block:
        rules.append(_guard_result(changes))

    errors = _weigh_errors(run, policies, rules)
    outcome, reason = _conclude(run, rules, errors, changes)
    # A part of the gate never passes for the whole gate.
    if run.made.only and outcome is GateOutcome.PASS:
        outcome = GateOutcome.ADVISORY

    return Decision(
        outcome=outcome,
        reason=reason,
        rules=tuple(rules),
        run=run,
        grades=_count_grades(run.rows),
        cases=_count_cases(run.rows),
        setup=outcome is GateOutcome.INCONCLUSIVE and run.has_setup_error,
        changes=changes,
        blocking=blocking_rows(run.rows, rules),
    )


def decision_without_run(decision: Decision, changes: GateChanges) -> Decision:
    """The decision about a run that did not take place. A weaker gate can block it: that takes no key."""
    decision = replace(decision, changes=changes)
    if not (changes.found and changes.block):
        return decision

    guard = _guard_result(changes)
    if changes.approved:
        return replace(decision, rules=(guard,))

    note = Note(f"Not run: {decision.reason}")
    return replace(
        decision,
        outcome=GateOutcome.BLOCKED,
        reason=_join_reasons([guard]),
        rules=(guard,),
        run=replace(decision.run, notes=(note, *decision.run.notes)),
    )


def is_consistent(decision: Decision) -> bool:
    """Whether a decision follows from its cases. Anybody can have written the file that it was read from."""
    rows = decision.run.rows
    if decision.grades != _count_grades(rows) or decision.cases != _count_cases(rows):
        return False
    if count_contradictions(rows):
        return False
    if not rows:
        return True

    for result in decision.rules:
        reapplied = apply_rule(result.rule, _rows_of_suite(rows, result.rule.suite))
        if _counts_of(result) != _counts_of(reapplied):
            return False
        if reapplied.has_failed and result.has_passed:
            return False
    if decision.blocking != blocking_rows(rows, decision.rules):
        return False

    # The file contains no policies. Errors may have made the outcome worse than the rules alone make it.
    best, _ = _conclude(decision.run, decision.rules, NO_ERRORS, decision.changes)
    possible = _FROM_BEST_TO_WORST[_FROM_BEST_TO_WORST.index(best) :]
    return decision.outcome in possible


def _counts_of(result: RuleResult) -> Counts:
    """How many cases passed, failed and were errors in a rule."""
    return Counts(result.passed, result.failed, result.errored)


def may_be_baseline(decision: Decision, policies: Sequence[Policy]) -> bool:
    """Whether later runs may be compared with this one: nothing was left out, and its gate ignores each error."""
    run = decision.run
    has_used_up_budget = run.budget is not None and run.budget.used_up != ""
    if _reason_cut_short(run) or run.made.only or has_used_up_budget or not run.rows:
        return False

    # A contradiction is an error that no further ask would cure, so it counts as a failure here.
    rows = tuple(_with_contradictions_as_failures(row) for row in run.rows)
    errors = _weigh_errors(replace(run, rows=rows), policies, decision.rules)
    return errors.effect is None


def _with_contradictions_as_failures(row: Row) -> Row:
    """The row, with a failure in place of votes that decide nothing: such a grade lacks no vote."""
    grades = list(row.grades)
    for position, grade in enumerate(grades):
        errors = [leaf for leaf in leaf_grades(row.grades, position) if leaf.has_error]
        if errors and all(is_contradicted(leaf) for leaf in errors):
            grades[position] = replace(grade, outcome=FAIL, score=0.0)
    return with_grades(row, grades)


def _count_grades(rows: Iterable[Row]) -> Counts:
    return count_outcomes(grade.outcome for row in rows for grade in row.grades)


def _count_cases(rows: Iterable[Row]) -> Counts:
    """Count the outcomes of the cases that have a grade, or no answer."""
    return count_outcomes(row.outcome for row in fold_cases(None, rows) if row.grades or row.error)


def _rows_of_suite(rows: Iterable[Row], suite: str) -> list[Row]:
    return [row for row in rows if row.suite == suite]


# --- rules ----------------------------------------------------------------------------------------------------


def _apply_rules(run: RunResult, policies: Iterable[Policy]) -> Iterator[RuleResult]:
    """The results of the rules of all suites."""
    powers = iter(run.powers)
    cut_short = _reason_cut_short(run)
    for policy in policies:
        for rule in policy.rules:
            power = next(powers, NO_POWER)
            rows = _rows_of_suite(run.rows, rule.suite)
            if rows and _is_empty_promise(rule, rows):
                continue

            apply_to = partial(_apply_rule_and_base_limits, rule, run, policy)
            result = apply_drift(apply_to(rows), rows, run.labels, apply_to)
            # The missing rows might miss the rule.
            if result.has_passed and cut_short:
                result = replace(result, outcome=ERROR, reason=cut_short)
            yield replace(result, **asdict(power))


def _is_empty_promise(rule: Rule, rows: Iterable[Row]) -> bool:
    """Whether the rule says that every case passes, in a suite in which no case counts."""
    if not rule.blocking or not (rule.every_case or rule.is_default):
        return False
    return not any(row.counts or has_quarantine(row) for row in rows)


def _apply_rule_and_base_limits(
    rule: Rule, run: RunResult, policy: Policy, rows: Sequence[Row]
) -> RuleResult:
    """Apply a rule to rows of its suite: first its limits on the run, then those against the base."""
    compares_answers = policy.reask == "answers"
    return apply_base_limits(apply_rule(rule, rows), rows, run, compares_answers)


def _reason_cut_short(run: RunResult) -> str:
    """Why rows of the run are missing, which is why no rule can be met. Empty if no row is missing."""
    if run.interrupted:
        return f"the run was {run.interrupted} before it ended"
    if run.incomplete:
        return f"parts of the run are missing or damaged: {run.incomplete}"
    return ""


def _guard_result(changes: GateChanges) -> RuleResult:
    """The rule that is missed when a pull request changes its own gate and nobody approved that."""
    rule = Rule(GUARD)
    if changes.approved:
        return RuleResult(
            rule, PASS, f"{describe_changes(changes)}, approved by {changes.approved}"
        )
    return RuleResult(rule, FAIL, guard_reason(changes))


# --- the outcome ----------------------------------------------------------------------------------------------


class ErrorWeight(FrozenStruct):
    """What the errors of a run do: block it, make it inconclusive, or nothing (None)."""

    effect: GateOutcome | None = None
    reason: str = ""


NO_ERRORS = ErrorWeight()


def _conclude(
    run: RunResult, rules: Sequence[RuleResult], errors: ErrorWeight, changes: GateChanges
) -> tuple[GateOutcome, str]:
    """The outcome with its reason. The first question that is answered with yes decides."""
    blocking = [result for result in rules if result.rule.blocking]

    # 1. Is a blocking rule missed, or do errors block?
    missed = [result for result in blocking if result.has_failed]
    if missed:
        return GateOutcome.BLOCKED, _join_reasons(missed) + note_on_not_reasked(run, missed=True)
    if errors.effect is GateOutcome.BLOCKED:
        return GateOutcome.BLOCKED, f"{errors.reason}, and errors block"

    # 2. Do errors or missing grades leave the decision open?
    reason_open = _reason_inconclusive(run, blocking, errors)
    if reason_open is not None:
        return GateOutcome.INCONCLUSIVE, reason_open

    # 3. Is there something that people should read?
    reason_to_read = _reason_advisory(run, rules, changes)
    if reason_to_read is not None:
        return GateOutcome.ADVISORY, reason_to_read

    # 4. Do all blocking rules wait for the first baseline or history?
    waiting = [result for result in blocking if result.outcome is None]
    not_decided = f"not decided: {_join_reasons(waiting)}"
    if len(waiting) == len(blocking):
        return GateOutcome.ADVISORY, not_decided

    # The run passes: the other blocking rules are met.
    reasons = [result.reason for result in blocking if result.has_passed]
    if waiting:
        reasons.append(not_decided)
    return GateOutcome.PASS, "; ".join(reasons) + note_on_not_reasked(run, missed=False)


def _reason_inconclusive(
    run: RunResult, blocking: Iterable[RuleResult], errors: ErrorWeight
) -> str | None:
    """Why the decision is open although no blocking rule is missed. None if it is not open."""
    cut_short = _reason_cut_short(run)
    if cut_short:
        return cut_short
    if errors.effect is GateOutcome.INCONCLUSIVE:
        return errors.reason

    for result in blocking:
        if result.has_error:
            return _join_reasons([result])

    graded_suites = set()
    for row in run.rows:
        if any(not grade.has_error for grade in row.grades):
            graded_suites.add(row.suite)
    if not graded_suites:
        return "nothing could be graded"
    for row in run.rows:
        if row.suite not in graded_suites:
            return f"nothing could be graded in {row.suite}"
    return None


def _reason_advisory(
    run: RunResult, rules: Sequence[RuleResult], changes: GateChanges
) -> str | None:
    """What people should read although nothing blocks. None if there is nothing."""
    if changes.has_weakening and not changes.approved:
        return describe_changes(changes)

    blocking = []
    not_met = []  # advisory rules that are missed or not decided
    for result in rules:
        if result.rule.blocking:
            blocking.append(result)
        elif not result.has_passed:
            not_met.append(result)
    if not_met:
        return _join_reasons(not_met)

    findings = _count_advisory_findings(run.rows, rules)
    if findings:
        return format_count(findings, "advisory finding")

    # A rule can be met although failures are new, or although cost or latency are above the limit.
    tolerant = [result for result in blocking if result.new_failures or result.within_noise]
    if tolerant:
        return _join_reasons(tolerant)
    if not blocking:
        return "everything passed, but nothing can block: every assertion is advisory"
    return None


def _count_advisory_findings(rows: Iterable[Row], rules: Sequence[RuleResult]) -> int:
    """How many grades did not pass and are only for people to read.

    No rule looks at such a grade, or it is an error and no rule that looks at it blocks.
    """
    findings = 0
    for row in rows:
        for grade in row.grades:
            if grade.has_passed or grade.inner:
                continue
            if not grade.counts or not _is_decided_by_a_rule(rules, row, grade):
                findings += 1
    return findings


def _is_decided_by_a_rule(rules: Iterable[RuleResult], row: Row, grade: Grade) -> bool:
    """Whether a rule looks at a grade that did not pass. Only a blocking rule decides about an error."""
    for result in rules:
        may_decide = result.rule.blocking or grade.has_failed
        if may_decide and selects_grade(result.rule, row, grade):
            return True
    return False


def _join_reasons(results: Sequence[RuleResult]) -> str:
    """The reasons of rules, each after the name that a person gave its rule.

    A rule without such a name is called by its config if there are several configs.
    """
    suites = {result.rule.suite for result in results if result.rule.suite}
    reasons = []
    for result in results:
        rule = result.rule
        name = rule.name
        if rule.every_case or rule.is_default:
            name = rule.suite if len(suites) > 1 else ""
        parts = [part for part in (name, result.reason) if part]
        reasons.append(": ".join(parts))
    return "; ".join(reasons)


# --- errors ---------------------------------------------------------------------------------------------------


class DecidingError(FrozenStruct):
    """An error that decides.

    No policy ignores one that ``may_hide_failure``: the answer may be a failure, or gradegate itself stopped the call.
    """

    reason: str
    may_hide_failure: bool


def _weigh_errors(
    run: RunResult, policies: Iterable[Policy], rules: Iterable[RuleResult]
) -> ErrorWeight:
    """What the errors of all suites do, each under the policy of its suite."""
    policy_of = {rule.suite: policy for policy in policies for rule in policy.rules}
    blocking = [result for result in rules if result.rule.blocking]
    effects = set()
    reasons = []
    for suite, policy in policy_of.items():
        rows: list[Row] = []
        for case in runs_by_case(_rows_of_suite(run.rows, suite)):
            rows += _as_blocking_rules_see(case, blocking)
        effect, errors = _weigh_errors_of_suite(run, rows, blocking, policy)
        if errors:
            effects.add(effect)
            reasons += [error.reason for error in errors]

    for effect in (GateOutcome.BLOCKED, GateOutcome.INCONCLUSIVE):
        if effect in effects:
            return ErrorWeight(effect, _summarize_errors(reasons))
    return NO_ERRORS


def _weigh_errors_of_suite(
    run: RunResult, rows: Sequence[Row], blocking: Sequence[RuleResult], policy: Policy
) -> tuple[GateOutcome | None, list[DecidingError]]:
    """What the errors of one suite do, None for nothing, and the errors to report."""
    errors = [*_deciding_errors(run, rows, blocking)]
    if policy.errors == "block":
        return GateOutcome.BLOCKED, errors
    if policy.errors == "inconclusive":
        return GateOutcome.INCONCLUSIVE, errors

    # Errors are ignored up to a share of all that could be one: selected grades, and answers that never came.
    possible = 0
    for row in rows:
        if _has_only_error(row):
            possible += 1
        for grade in row.grades:
            if grade.counts and _is_selected(blocking, row, grade):
                possible += 1
    if len(errors) > exact_fraction(policy.errors_up_to) * possible:
        return GateOutcome.INCONCLUSIVE, errors
    unignorable = [error for error in errors if error.may_hide_failure]
    if unignorable:
        return GateOutcome.INCONCLUSIVE, unignorable
    return None, errors


def _has_only_error(row: Row) -> bool:
    """Whether the answer never came, and no assertion has a grade."""
    return bool(row.error) and not row.grades


def _is_selected(blocking: Iterable[RuleResult], row: Row, grade: Grade) -> bool:
    return any(selects_grade(result.rule, row, grade) for result in blocking)


def _as_blocking_rules_see(case: Sequence[Row], blocking: Iterable[RuleResult]) -> Sequence[Row]:
    """The runs of a case as one row, with an error if a rule sees one. Other rows, and runs that no rule sees, as they are."""
    if not case[0].needs:
        return case
    first = None
    for result in blocking:
        row = fold_runs(result.rule, case)
        if row and row.has_error:
            return [row]
        first = first or row
    return [first] if first else case


def _deciding_errors(
    run: RunResult, rows: Sequence[Row], blocking: Sequence[RuleResult]
) -> Iterator[DecidingError]:
    """The errors that decide: of what a blocking rule looks at, and of answers without any grade."""
    if _reason_cut_short(run):
        # A case that an interruption left undone might pass, so it is not an error for certain.
        rows = [row for row in rows if not _is_undone(row)]
    for row in rows:
        yield from _deciding_errors_of_grades(run, row, blocking)
        if _has_only_whole_error(row, blocking):
            yield DecidingError(row.reason, may_hide_failure=True)
    for row in rows:
        if _has_only_error(row):
            yield DecidingError(row.error, row.undone or row.withheld)


def _is_undone(row: Row) -> bool:
    return row.undone or any(grade.undone for grade in row.grades)


def _deciding_errors_of_grades(
    run: RunResult, row: Row, blocking: Sequence[RuleResult]
) -> Iterator[DecidingError]:
    """The errors of the grades of one row, as far as they decide."""
    # If the whole case is an error, no rule counts the failures in it.
    has_failure = any(grade.counts and grade.has_failed for grade in row.grades)
    hides_failure = row.has_error and has_failure

    for grade in row.grades:
        if not (grade.counts and grade.has_error):
            continue
        selecting = [result for result in blocking if selects_grade(result.rule, row, grade)]
        if selecting:
            decides = not _is_borne(grade, selecting)
        else:
            decides = _is_error_of_all_calls(run, row, grade)
        if decides:
            yield DecidingError(grade.reason, not grade.unheard or hides_failure)


def _is_borne(grade: Grade, results: Iterable[RuleResult]) -> bool:
    """Whether a grader contradicts itself on an answer, and these rules are met whatever the answer is."""
    return is_contradicted(grade) and all(result.bears for result in results)


def _is_error_of_all_calls(run: RunResult, row: Row, grade: Grade) -> bool:
    """Whether a grade lacks a reply, as every call of the run does.

    Such an error decides although no blocking rule looks at the grade.
    """
    usage = run.target_usage if row.error else run.grader_usage
    has_reply = usage.calls > 0 or usage.cached > 0
    return (grade.unheard or grade.withheld) and not has_reply


def _has_only_whole_error(row: Row, blocking: Iterable[RuleResult]) -> bool:
    """Whether a blocking rule sees an error of the case, but no grade has one: no mean can be taken, or there is no score."""
    if not row.has_error or not row.grades:
        return False
    if any(grade.counts and grade.has_error for grade in row.grades):
        return False
    return any(outcome_in_rule(result.rule, row) is ERROR for result in blocking)


def _summarize_errors(reasons: Sequence[str]) -> str:
    """How many errors there are, and the reason of the first."""
    first = "the first: " if len(reasons) > 1 else ""
    kind, _, details = reasons[0].partition(": ")
    is_doubt = kind in (CONTRADICTION, DOUBT, RETURN)
    if is_doubt and all(reason.startswith(f"{kind}: ") for reason in reasons):
        return f"{kind} on {format_count(len(reasons), 'case')} ({first}{details})"
    separator = "; " if first else ": "
    return f"{format_count(len(reasons), 'error')}{separator}{first}{reasons[0]}"


# --- what blocks ----------------------------------------------------------------------------------------------


def blocking_rows(rows: Sequence[Row], rules: Iterable[RuleResult]) -> frozenset[int]:
    """The positions of the rows with a failure for which a blocking rule is missed. All other failures only advise.

    A rule that only looks at the base is missed because of new failures, any other because of whatever it selects.
    A failure that was not re-asked to the end is no reason: the rule is missed without it.
    """
    positions: set[int] = set()
    for result in rules:
        if not (result.rule.blocking and result.has_failed):
            continue
        suite = result.rule.suite
        row_at = {position: row for position, row in enumerate(rows) if row.suite == suite}
        for part in split_rule(result.rule):
            # One half of a rule that limits the run and the comparison with the base may be met.
            if part.has_base_limit or apply_rule(part, list(row_at.values())).has_failed:
                positions.update(_positions_of_failures(part, row_at))
    return frozenset(positions)


def _positions_of_failures(rule: Rule, rows: Mapping[int, Row]) -> Iterator[int]:
    """The positions of rows that fail in a rule for good. ``rows`` are those of its suite, by position."""
    positions = list(rows)
    end = 0
    for case in runs_by_case(rows.values()):
        start = end
        end += len(case)
        runs = []
        for position, row in zip(positions[start:end], case, strict=True):
            runs.append(OpenRow(AnswerId(position, 0), row, unconfirmed_positions(row)))

        has_runs = case[0].needs is not None
        if rule.has_base_limit and not has_runs:
            is_reason = _has_new_failure(rule, runs[0])
        else:
            is_reason = _fails_for_good(rule, runs)
        if not is_reason:
            continue
        for run in runs:
            # If a case with runs fails, its failing runs are the reason.
            if not has_runs or outcome_in_rule(rule, run.row) is FAIL:
                yield run.id.case


def _fails_for_good(rule: Rule, case: OpenCase) -> bool:
    """Whether a case fails in a rule, and no re-ask can change that."""
    count = count_case(rule, case)
    return count is not None and count.outcome is FAIL and not count.open


def _has_new_failure(rule: Rule, run: OpenRow) -> bool:
    """Whether a failure that no re-ask can change is new."""
    grades = []
    for position, grade in enumerate(run.row.grades):
        if position not in run.open and selects_grade(rule, run.row, grade):
            grades.append(grade)
    has_failure = any(grade.has_failed for grade in grades)
    return has_failure and RuleCase(run.row, tuple(grades)).status == NEW_FAILURE
