"""Decides: rules over grades, errors apart, blocked over inconclusive over advisory. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import asdict

from gradegate.core.numbers import exact, many
from gradegate.core.policy import Note, Policy, Rule
from gradegate.gate.case_runs import as_cases, outcome_of, whole
from gradegate.gate.grader_drift import ruled
from gradegate.gate.reasks.ballot import is_contradicted
from gradegate.gate.reasks.needs import Opened, parts_of, units
from gradegate.gate.reasks.stopping import CONTRADICTION, DOUBT, RETURN
from gradegate.gate.regressions import Case, with_base
from gradegate.gate.rules import apply, count, is_in_quarantine, spared
from gradegate.results.baseline import NEW_FAILURE
from gradegate.results.case_outcome import conclude_case
from gradegate.results.gate_changes import GUARD, NO_CHANGES, GateChanges, done, guarded
from gradegate.results.grades import ERROR, FAIL, PASS
from gradegate.results.rows import Row, left_open, parts, runs_of, takes
from gradegate.results.run_result import NO_POWER, Decision, GateOutcome, RuleResult, RunResult
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
        row, place, open_ = case[0], places[id(case[0])], left_open(case[0])
        if row.needs:
            opened = Opened.of_case([(places[id(run)], run, left_open(run)) for run in case])
            if any(outcome is FAIL and not unit for outcome, unit, _ in units(rule, opened)):
                yield from (places[id(run)] for run in case if outcome_of(rule, run) is FAIL)
            continue
        if rule.beside_base:
            grades = tuple(
                grade
                for position, grade in enumerate(row.grades)
                if position not in open_ and takes(rule, row, grade)
            )
            blames = (
                any(grade.has_failed for grade in grades)
                and Case(row, grades).standing == NEW_FAILURE
            )
        else:
            blames = any(
                outcome is FAIL and not positions
                for outcome, positions, _ in units(rule, Opened(row, open_))
            )
        if blames:
            yield place


class _Errors(NamedTuple):
    """What the ERRORs that count come to under the policies: "", "inconclusive" or "block", and how that is said."""

    effect: str
    said: str
    setup: bool


class _Error(NamedTuple):
    """An ERROR that decides. ``held``: something came that may be a failure, or the run itself left it: no policy ignores it."""

    reason: str
    held: bool


def _errors(run: RunResult, policies: Sequence[Policy], rules: Sequence[RuleResult]) -> _Errors:
    """The ERRORs of all suites, each under the policy of its own."""
    setup = any(grade.has_error and grade.setup for row in run.rows for grade in row.grades)
    by_suite = {rule.suite: policy for policy in policies for rule in policy.rules}
    blocking = [result for result in rules if result.rule.blocking]
    effects, found = set[str](), list[_Error]()
    for suite, policy in by_suite.items():
        rows = []
        for case in runs_of(row for row in run.rows if row.suite == suite):
            # The runs of a case as a rule sees them: as one with an error, where there is one.
            views = (
                [row for result in blocking if (row := whole(result.rule, case))]
                if case[0].needs
                else []
            )
            rows += [min(views, key=lambda row: not row.has_error)] if views else case
        effect, deciding = policy.errors, list(_found(run, rows, blocking))
        if effect == "ignore":
            counting = ((row, grade) for row in rows for grade in row.grades if grade.counts)
            looked_at = sum(
                any(takes(result.rule, *pair) for result in blocking) for pair in counting
            )
            silent = sum(bool(row.error) and not row.grades for row in rows)
            held = [error for error in deciding if error.held]
            few = len(deciding) <= exact(policy.errors_up_to) * (looked_at + silent)
            effect, deciding = (
                ("", deciding) if few and not held else ("inconclusive", held if few else deciding)
            )
        effects |= {effect} if deciding else set()
        found += deciding
    if not found:
        return _Errors("", "", setup)
    first, more = found[0].reason, len(found) > 1
    what, _, how = first.partition(": ")
    said = f"{many(len(found), 'error')}{'; the first' * more}: {first}"
    if what in (CONTRADICTION, DOUBT, RETURN) and all(
        error.reason.startswith(f"{what}: ") for error in found
    ):
        said = f"{what} on {many(len(found), 'case')} ({'the first: ' * more}{how})"
    return _Errors(
        next((effect for effect in ("block", "inconclusive") if effect in effects), ""), said, setup
    )


def _found(run: RunResult, rows: Sequence[Row], blocking: Sequence[RuleResult]) -> Iterator[_Error]:
    """The ERRORs that decide: of what a blocking rule looks at, and of answers of which nothing was asserted.

    What an interruption left undone is not an error for certain: it might pass.
    """
    if _cut_short(run):
        rows = [row for row in rows if not (row.undone or any(it.undone for it in row.grades))]
    for row in rows:
        errors = [it for it in row.grades if it.counts and it.has_error]
        # Where the error leaves the whole case undecided, what fails in it is in no count.
        hides = row.has_error and any(it.counts and it.has_failed for it in row.grades)
        usage = run.target_usage if row.error else run.grader_usage
        for grade in errors:
            looking = [result for result in blocking if takes(result.rule, row, grade)]
            # Where nothing looks at it, it is advice, unless no model that was asked is there at all.
            absent = (grade.unheard or grade.withheld) and not (usage.calls or usage.cached)
            if (
                not (is_contradicted(grade) and all(result.bears for result in looking))
                if looking
                else absent
            ):
                yield _Error(grade.reason, held=not grade.unheard or hides)
        whole = (
            row.has_error and row.grades and not errors
        )  # no mean can be taken, or no score was made
        if whole and any(outcome_of(result.rule, row) is ERROR for result in blocking):
            yield _Error(row.reason, held=True)
    yield from (
        _Error(row.error, row.undone or row.withheld)
        for row in rows
        if row.error and not row.grades
    )


def decide(
    run: RunResult, policies: Sequence[Policy], changes: GateChanges = NO_CHANGES
) -> Decision:
    """The verdict on a run. A threshold is met at equality. ``changes`` are what the pull request does to its gate."""
    rules = (
        *_applied(run, policies),
        *([_guard(changes)] if changes.found and changes.block else ()),
    )
    errors = _errors(run, policies, rules)
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


def is_whole(decision: Decision, policies: Sequence[Policy]) -> bool:
    """Whether later runs may be compared with this one: nothing was left out, and each error is one that its gate ignores."""
    run = decision.run
    used_up = run.budget.used_up if run.budget else ""
    was_cut_short = bool(_cut_short(run) or run.made.only or used_up)
    graded = replace(run, rows=tuple(map(_with_contradictions_as_failures, run.rows)))
    return (
        bool(run.rows)
        and not was_cut_short
        and not _errors(graded, policies, decision.rules).effect
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
        decision, outcome=GateOutcome.BLOCKED, reason=_named([guard]), rules=(guard,), run=said
    )


def _applied(run: RunResult, policies: Iterable[Policy]) -> Iterator[RuleResult]:
    """The rules of all suites; that every case passes says nothing about a suite in which nothing counts."""
    powers = iter(run.powers)
    for policy, rule in ((one, rule) for one in policies for rule in one.rules):
        power = asdict(next(powers, NO_POWER))
        suite_rows = [row for row in run.rows if row.suite == rule.suite]
        if not (
            (rule.every_case or rule.is_default)
            and rule.blocking
            and suite_rows
            and not any(row.counts or is_in_quarantine(row) for row in suite_rows)
        ):

            def result(
                rows: Sequence[Row], rule: Rule = rule, answers: bool = policy.reask == "answers"
            ) -> RuleResult:
                return with_base(apply(rule, rows), rows, run, answers)

            found = ruled(result(suite_rows), suite_rows, run.labels, result)
            if found.has_passed and _cut_short(run):  # what is missing might miss it
                found = replace(found, outcome=ERROR, reason=_cut_short(run))
            yield replace(found, **power)


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


def _outcome(
    run: RunResult, rules: Sequence[RuleResult], errors: _Errors, changes: GateChanges
) -> tuple[GateOutcome, str]:
    blocking = [rule for rule in rules if rule.rule.blocking]
    failed = [rule for rule in blocking if rule.has_failed]
    if failed:
        return GateOutcome.BLOCKED, _named(failed) + spared(run, missed=True)
    if errors.effect == "block":
        return GateOutcome.BLOCKED, f"{errors.said}, and errors block"
    if why := _cut_short(run):
        return GateOutcome.INCONCLUSIVE, why
    if errors.effect:
        return GateOutcome.INCONCLUSIVE, errors.said
    erring = [rule for rule in blocking if rule.has_error]
    if erring:
        return GateOutcome.INCONCLUSIVE, _named(erring[:1])
    suites = dict.fromkeys(row.suite for row in run.rows)
    graded = {row.suite for row in run.rows if any(not grade.has_error for grade in row.grades)}
    if not graded:
        return GateOutcome.INCONCLUSIVE, "nothing could be graded"
    if len(graded) < len(suites):
        first = next(suite for suite in suites if suite not in graded)
        return GateOutcome.INCONCLUSIVE, f"nothing could be graded in {first}"
    if changes.weakened and not changes.approved:
        return GateOutcome.ADVISORY, done(changes)
    advisory = [rule for rule in rules if not rule.rule.blocking and not rule.has_passed]
    if advisory:
        return GateOutcome.ADVISORY, _named(advisory)
    # Grades that failed and that no rule looks at, or could not be told and that no rule that blocks does.
    short = (
        (row, it) for row in run.rows for it in row.grades if not it.has_passed and not it.inner
    )
    looked_at = [result.rule for result in rules]
    findings = sum(
        not it.counts
        or not any(rule.blocking or it.has_failed for rule in looked_at if takes(rule, row, it))
        for row, it in short
    )
    if findings:
        return GateOutcome.ADVISORY, many(findings, "advisory finding")
    new = [rule for rule in blocking if rule.new_failures or rule.within_noise]
    if new:
        return GateOutcome.ADVISORY, _named(new)
    if not blocking:
        return (
            GateOutcome.ADVISORY,
            "everything passed, but nothing can block: every assertion is advisory",
        )
    undecided = [rule for rule in blocking if rule.outcome is None]
    not_decided = f"not decided: {_named(undecided)}"
    if len(undecided) == len(blocking):
        return GateOutcome.ADVISORY, not_decided
    reasons = [rule.reason for rule in blocking if rule.has_passed]
    said = "; ".join([*reasons, not_decided] if undecided else reasons)
    return GateOutcome.PASS, said + spared(run, missed=False)


def _named(results: Iterable[RuleResult]) -> str:
    """The reasons of rules, by the names that somebody gave them."""
    named = (
        (
            "" if result.rule.every_case or result.rule.is_default else result.rule.name,
            result.reason,
        )
        for result in results
    )
    return "; ".join(": ".join(filter(None, pair)) for pair in named)
