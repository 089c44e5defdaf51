"""Decides: rules over grades, errors apart, blocked over inconclusive over advisory. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace

from gradegate.deciding.blame import blamed
from gradegate.deciding.confirmations import spared
from gradegate.deciding.errors import Errors, errors_of
from gradegate.deciding.regressions import with_base
from gradegate.deciding.rules import apply, count
from gradegate.deciding.runs import as_cases
from gradegate.deciding.sentinels import ruled
from gradegate.values.changes import GUARD, NO_CHANGES, GateChanges, done, guarded
from gradegate.values.figures import many
from gradegate.values.result import NO_POWER, Decision, GateOutcome, Grade, Outcome, Power, Row, RuleResult, RunResult, takes
from gradegate.values.suite import Note, Policy, Rule


def decide(run: RunResult, policies: Sequence[Policy], changes: GateChanges = NO_CHANGES) -> Decision:
    """The verdict on a run. A threshold is met at equality. ``changes`` are what the pull request does to its gate."""
    powers = iter(run.powers)
    rules = (
        *(result for policy in policies for result in _applied(policy, run, powers)),
        *([_guard(changes)] if changes.found and changes.block else ()),
    )
    errors = errors_of(run, policies, rules)
    outcome, reason = _outcome(run, rules, errors, changes)
    if run.made.only and outcome is GateOutcome.PASS:  # a part never passes for the whole
        outcome = GateOutcome.ADVISORY
    return Decision(
        outcome=outcome,
        reason=reason,
        rules=rules,
        run=run,
        grades=count(grade.outcome for row in run.rows for grade in row.grades),
        cases=count(row.outcome for row in as_cases(None, run.rows) if row.grades or row.error),
        setup=outcome is GateOutcome.INCONCLUSIVE and errors.setup,
        changes=changes,
        blocking=blamed(run.rows, rules) if outcome is GateOutcome.BLOCKED else frozenset(),
    )


def withheld(decision: Decision, changes: GateChanges) -> Decision:
    """A decision about a run that did not take place, with what the pull request does to its gate: that takes no key to block."""
    decision = replace(decision, changes=changes)
    if not (changes.found and changes.block):
        return decision
    guard = _guard(changes)
    if not changes.blocking:
        return replace(decision, rules=(guard,))
    said = replace(decision.run, notes=(Note(f"Not run: {decision.reason}"), *decision.run.notes))
    return replace(decision, outcome=GateOutcome.BLOCKED, reason=_named([guard]), rules=(guard,), run=said)


def _applied(policy: Policy, run: RunResult, powers: Iterator[Power]) -> Iterator[RuleResult]:
    """The rules of a suite; that every case passes says nothing about a suite in which nothing counts."""
    for rule in policy.rules:
        power = asdict(next(powers, NO_POWER))
        suite_rows = [row for row in run.rows if row.suite == rule.suite]
        if not (rule.every_case and rule.blocking and suite_rows and not any(row.counts for row in suite_rows)):

            def result(rows: Sequence[Row], rule: Rule = rule) -> RuleResult:
                return with_base(apply(rule, rows), rows, run.baseline, policy.confirm == "answers")

            yield replace(ruled(result(suite_rows), suite_rows, run.sentinels, result), **power)


def _guard(changes: GateChanges) -> RuleResult:
    """The rule that is missed when a pull request changes its own gate and nobody approved that."""
    if changes.approved:
        return RuleResult(Rule(GUARD), Outcome.PASS, f"{done(changes)}, approved by {changes.approved}")
    return RuleResult(Rule(GUARD), Outcome.FAIL, guarded(changes))


# --- the outcome ----------------------------------------------------------------------------------------------


def _outcome(run: RunResult, rules: Sequence[RuleResult], errors: Errors, changes: GateChanges) -> tuple[GateOutcome, str]:
    blocking = [rule for rule in rules if rule.rule.blocking]
    failed = [rule for rule in blocking if rule.outcome is Outcome.FAIL]
    if failed:
        return GateOutcome.BLOCKED, _named(failed) + spared(run, missed=True)
    if errors.effect == "block":
        return GateOutcome.BLOCKED, f"{errors.said}, and errors block"
    if run.interrupted:
        return GateOutcome.INCONCLUSIVE, f"the run was {run.interrupted} before it ended"
    if run.incomplete:
        return GateOutcome.INCONCLUSIVE, f"parts of the run are missing or damaged: {run.incomplete}"
    if errors.effect:
        return GateOutcome.INCONCLUSIVE, errors.said
    undecided = [rule for rule in blocking if rule.outcome is Outcome.ERROR]
    if undecided:
        return GateOutcome.INCONCLUSIVE, _named(undecided[:1])
    suites = dict.fromkeys(row.suite for row in run.rows)
    graded = {row.suite for row in run.rows if any(grade.outcome is not Outcome.ERROR for grade in row.grades)}
    if not graded:
        return GateOutcome.INCONCLUSIVE, "nothing could be graded"
    if len(graded) < len(suites):
        first = next(suite for suite in suites if suite not in graded)
        return GateOutcome.INCONCLUSIVE, f"nothing could be graded in {first}"
    if changes.weakened and not changes.approved:
        return GateOutcome.ADVISORY, done(changes)
    return _green(run, rules, blocking)


def _green(run: RunResult, rules: Sequence[RuleResult], blocking: Sequence[RuleResult]) -> tuple[GateOutcome, str]:
    """The outcome of a run that nothing blocks: with something to read, or without."""
    advisory = [rule for rule in rules if not rule.rule.blocking and rule.outcome is not Outcome.PASS]
    if advisory:
        return GateOutcome.ADVISORY, _named(advisory)
    findings = sum(_is_advice(row, grade, rules) for row in run.rows for grade in row.grades)
    if findings:
        return GateOutcome.ADVISORY, many(findings, "advisory finding")
    new = [rule for rule in blocking if rule.new_failures or rule.within_noise]
    if new:
        return GateOutcome.ADVISORY, _named(new)
    if not blocking:
        return GateOutcome.ADVISORY, "everything passed, but nothing can block: every assertion is advisory"
    return GateOutcome.PASS, "; ".join(rule.reason for rule in blocking) + spared(run, missed=False)


def _is_advice(row: Row, grade: Grade, rules: Sequence[RuleResult]) -> bool:
    """Whether a grade failed and no rule looks at it, or could not be told and no rule that blocks does."""
    if grade.outcome is Outcome.PASS or grade.inner:
        return False
    looking = (result.rule for result in rules if takes(result.rule, row, grade))
    return not grade.counts or not any(rule.blocking or grade.outcome is Outcome.FAIL for rule in looking)


def _named(results: Iterable[RuleResult]) -> str:
    """The reasons of rules, by their names; that every case passes needs none."""
    named = ((result.rule.name if not result.rule.every_case else "", result.reason) for result in results)
    return "; ".join(": ".join(filter(None, pair)) for pair in named)
