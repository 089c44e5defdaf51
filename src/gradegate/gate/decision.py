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
from gradegate.results.rows import (
    AnswerId,
    Row,
    leaf_grades,
    runs_by_case,
    selects_grade,
    unconfirmed_positions,
)
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
        for count in ("passed", "failed", "errored"):
            if getattr(result, count) != getattr(reapplied, count):
                return False
        if reapplied.has_failed and result.has_passed:
            return False
    if decision.blocking != blocking_rows(rows, decision.rules):
        return False

    # The file contains no policies. Errors may have made the outcome worse than the rules alone make it.
    best, _ = _conclude(decision.run, decision.rules, NO_ERRORS, decision.changes)
    return decision.outcome in _FROM_BEST_TO_WORST[_FROM_BEST_TO_WORST.index(best) :]


def may_be_baseline(decision: Decision, policies: Sequence[Policy]) -> bool:
    """Whether later runs may be compared with this one: nothing was left out, and its gate ignores each error."""
    run = decision.run
    is_partial = _reason_cut_short(run) or run.made.only or (run.budget and run.budget.used_up)
    if is_partial or not run.rows:
        return False
    rows = tuple(map(_with_contradictions_as_failures, run.rows))
    errors = _weigh_errors(replace(run, rows=rows), policies, decision.rules)
    return errors.effect is None


def _with_contradictions_as_failures(row: Row) -> Row:
    """The row, with a failure in place of votes that decide nothing: such a grade lacks no vote."""
    grades = list(row.grades)
    for position, grade in enumerate(grades):
        errors = [leaf for leaf in leaf_grades(row.grades, position) if leaf.has_error]
        if errors and all(map(is_contradicted, errors)):
            grades[position] = replace(grade, outcome=FAIL, score=0.0)
    return with_grades(row, grades)


def _count_grades(rows: Iterable[Row]) -> Counts:
    return count_outcomes(grade.outcome for row in rows for grade in row.grades)


def _count_cases(rows: Iterable[Row]) -> Counts:
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

    # Is a blocking rule missed, or do errors block?
    missed = [result for result in blocking if result.has_failed]
    if missed:
        return GateOutcome.BLOCKED, _join_reasons(missed) + note_on_not_reasked(run, missed=True)
    if errors.effect is GateOutcome.BLOCKED:
        return GateOutcome.BLOCKED, f"{errors.reason}, and errors block"

    # Is too little known: a run that was cut short, errors, an undecided rule, a suite without a grade?
    if cut_short := _reason_cut_short(run):
        return GateOutcome.INCONCLUSIVE, cut_short
    if errors.effect is GateOutcome.INCONCLUSIVE:
        return GateOutcome.INCONCLUSIVE, errors.reason
    unsettled = [result for result in blocking if result.has_error]
    if unsettled:
        return GateOutcome.INCONCLUSIVE, _join_reasons(unsettled[:1])
    graded_suites = {
        row.suite for row in run.rows if any(not grade.has_error for grade in row.grades)
    }
    if not graded_suites:
        return GateOutcome.INCONCLUSIVE, "nothing could be graded"
    for row in run.rows:
        if row.suite not in graded_suites:
            return GateOutcome.INCONCLUSIVE, f"nothing could be graded in {row.suite}"

    # Is there something that people should read?
    if changes.has_weakening and not changes.approved:
        return GateOutcome.ADVISORY, describe_changes(changes)
    advisory = [result for result in rules if not (result.rule.blocking or result.has_passed)]
    if advisory:
        return GateOutcome.ADVISORY, _join_reasons(advisory)
    findings = _count_advisory_findings(run.rows, rules)
    if findings:
        return GateOutcome.ADVISORY, format_count(findings, "advisory finding")
    tolerant = [result for result in blocking if result.new_failures or result.within_noise]
    if tolerant:
        return GateOutcome.ADVISORY, _join_reasons(tolerant)
    if not blocking:
        reason = "everything passed, but nothing can block: every assertion is advisory"
        return GateOutcome.ADVISORY, reason

    # The run passes, unless every blocking rule waits for the first baseline or history.
    waiting = [result for result in blocking if result.outcome is None]
    not_decided = f"not decided: {_join_reasons(waiting)}"
    if len(waiting) == len(blocking):
        return GateOutcome.ADVISORY, not_decided
    reasons = [result.reason for result in blocking if result.has_passed]
    if waiting:
        reasons.append(not_decided)
    return GateOutcome.PASS, "; ".join(reasons) + note_on_not_reasked(run, missed=False)


def _count_advisory_findings(rows: Iterable[Row], rules: Sequence[RuleResult]) -> int:
    """How many grades did not pass and are only for people to read.

    No rule looks at such a grade, or it is an error and no rule that looks at it blocks.
    """
    findings = 0
    for row in rows:
        for grade in row.grades:
            if grade.has_passed or grade.inner:
                continue
            decides = False
            for result in rules if grade.counts else ():
                if selects_grade(result.rule, row, grade):
                    decides = decides or result.rule.blocking or grade.has_failed
            findings += not decides
    return findings


def _join_reasons(results: Sequence[RuleResult]) -> str:
    """The reasons of rules, each after the name that a person gave its rule.

    A rule without such a name is called by its config if there are several configs.
    """
    has_several_suites = len({result.rule.suite for result in results} - {""}) > 1
    reasons = []
    for result in results:
        name = result.rule.name
        if result.rule.every_case or result.rule.is_default:
            name = result.rule.suite if has_several_suites else ""
        reasons.append(": ".join(filter(None, (name, result.reason))))
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
    """What the errors of one suite do, and the errors to report."""
    errors = [*_deciding_errors(run, rows, blocking)]
    if policy.errors == "block":
        return GateOutcome.BLOCKED, errors
    if policy.errors == "inconclusive":
        return GateOutcome.INCONCLUSIVE, errors

    # Errors are ignored up to a share of all that could be one: selected grades, and answers that never came.
    possible = 0
    for row in rows:
        possible += bool(row.error) and not row.grades
        for grade in row.grades:
            possible += grade.counts and _is_selected(blocking, row, grade)
    if len(errors) > exact_fraction(policy.errors_up_to) * possible:
        return GateOutcome.INCONCLUSIVE, errors
    unignorable = [error for error in errors if error.may_hide_failure]
    if unignorable:
        return GateOutcome.INCONCLUSIVE, unignorable
    return None, errors


def _is_selected(blocking: Iterable[RuleResult], row: Row, grade: Grade) -> bool:
    return any(selects_grade(result.rule, row, grade) for result in blocking)


def _as_blocking_rules_see(case: Sequence[Row], blocking: Iterable[RuleResult]) -> Sequence[Row]:
    """The runs of a case as one row, with an error if a rule sees one. Other rows, and runs that no rule sees, as they are."""
    if not case[0].needs:
        return case
    folded = [row for result in blocking if (row := fold_runs(result.rule, case))]
    errors = [row for row in folded if row.has_error]
    return (errors or folded)[:1] or case


def _deciding_errors(
    run: RunResult, rows: Sequence[Row], blocking: Sequence[RuleResult]
) -> Iterator[DecidingError]:
    """The errors that decide: of what a blocking rule looks at, and of answers without any grade."""
    # A case that an interruption left undone might pass, so it is not an error for certain.
    if _reason_cut_short(run):
        rows = [row for row in rows if not (row.undone or any(it.undone for it in row.grades))]
    for row in rows:
        yield from _deciding_errors_of_row(run, row, blocking)
    for row in rows:
        if row.error and not row.grades:
            yield DecidingError(row.error, row.undone or row.withheld)


def _deciding_errors_of_row(
    run: RunResult, row: Row, blocking: Sequence[RuleResult]
) -> Iterator[DecidingError]:
    errors = [grade for grade in row.grades if grade.counts and grade.has_error]
    # If the error leaves the whole case undecided, no rule counts the failures in it.
    hides_failure = row.has_error and any(grade.counts and grade.has_failed for grade in row.grades)
    for grade in errors:
        looking = [result for result in blocking if selects_grade(result.rule, row, grade)]
        if looking:
            # A rule may be met whatever an answer is on which the grader contradicts itself.
            decides = not (is_contradicted(grade) and all(result.bears for result in looking))
        else:
            # It only advises, unless not a single call to a model succeeded.
            usage = run.target_usage if row.error else run.grader_usage
            has_reply = bool(usage.calls or usage.cached)
            decides = (grade.unheard or grade.withheld) and not has_reply
        if decides:
            yield DecidingError(grade.reason, not grade.unheard or hides_failure)

    # The whole is an error without an error in a grade: no mean can be taken, or there is no score.
    is_only_whole = row.has_error and row.grades and not errors
    if is_only_whole and any(outcome_in_rule(result.rule, row) is ERROR for result in blocking):
        yield DecidingError(row.reason, may_hide_failure=True)


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
        of_suite = {position: row for position, row in enumerate(rows) if row.suite == suite}
        for part in split_rule(result.rule):
            # One half of a rule that limits the run and the comparison with the base may be met.
            if part.has_base_limit or apply_rule(part, [*of_suite.values()]).has_failed:
                positions.update(_positions_of_failures(part, of_suite))
    return frozenset(positions)


def _positions_of_failures(rule: Rule, rows: Mapping[int, Row]) -> Iterator[int]:
    """The positions of rows that fail in a rule for good. ``rows`` are those of its suite, by position."""
    remaining = iter(rows)
    for case in runs_by_case(rows.values()):
        positions = [next(remaining) for _ in case]
        runs = [
            OpenRow(AnswerId(position, 0), row, unconfirmed_positions(row))
            for position, row in zip(positions, case, strict=True)
        ]
        if case[0].needs:
            if _fails_for_good(rule, runs):
                for position, row in zip(positions, case, strict=True):
                    if outcome_in_rule(rule, row) is FAIL:
                        yield position
        elif rule.has_base_limit:
            if _has_new_failure(rule, runs[0]):
                yield positions[0]
        elif _fails_for_good(rule, runs):
            yield positions[0]


def _fails_for_good(rule: Rule, case: OpenCase) -> bool:
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
