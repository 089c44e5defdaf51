"""Which ERRORs of a run decide its outcome, and which ones no policy can ignore. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gradegate.deciding.runs import whole
from gradegate.deciding.votes import CONTRADICTION, DISAGREEMENT, DOUBT, RETURN, is_contradicted
from gradegate.values.figures import many
from gradegate.values.limits import exact
from gradegate.values.result import Grade, Outcome, Row, RuleResult, RunResult, counted, runs_of, takes
from gradegate.values.suite import Policy


@dataclass(frozen=True, slots=True)
class Errors:
    """What the ERRORs that count come to under the policies: "", "inconclusive" or "block"."""

    effect: str = ""
    number: int = 0
    setup: bool = False
    first: str = ""  # the reason of the first
    contradicted: int = 0  # by the grader itself, or by another one, as the first was

    @property
    def said(self) -> str:
        """How many, and the first of them."""
        if self.contradicted == self.number:
            what, _, how = self.first.partition(": ")
            return f"{what} on {many(self.number, 'case')} ({'the first: ' * (self.number > 1)}{how})"
        return f"{many(self.number, 'error')}{'; the first' * (self.number > 1)}: {self.first}"


class _Error(NamedTuple):
    """An ERROR that decides. ``held``: something came that may be a failure, or the run itself left it: no policy ignores it."""

    reason: str
    held: bool


def errors_of(run: RunResult, policies: Sequence[Policy], rules: Sequence[RuleResult]) -> Errors:
    """The ERRORs of all suites, each under the policy of its own."""
    setup = any(grade.outcome is Outcome.ERROR and grade.setup for row in run.rows for grade in row.grades)
    errors = Errors(setup=setup)
    by_suite = {rule.suite: policy for policy in policies for rule in policy.rules}
    blocking = [result for result in rules if result.rule.blocking]
    for suite, policy in by_suite.items():
        rows = [*_as_decided([row for row in run.rows if row.suite == suite], blocking)]
        if found := list(_found(run, rows, blocking)):
            errors = _joined(errors, *_effect(policy, found, rows, blocking))
    return errors


def _as_decided(rows: Sequence[Row], blocking: Sequence[RuleResult]) -> Iterator[Row]:
    """The rows, and the runs of a case as a rule sees them: as one with an error, where there is one."""
    for case in runs_of(rows):
        views = [row for result in blocking if (row := whole(result.rule, case))] if case[0].needs else []
        yield from [min(views, key=lambda row: row.outcome is not Outcome.ERROR)] if views else case


def _joined(errors: Errors, effect: str, found: Sequence[_Error]) -> Errors:
    """Those of further suites with those of one more."""
    first = errors.first or found[0].reason
    alike = tuple(f"{what}: " for what in (CONTRADICTION, DISAGREEMENT, DOUBT, RETURN) if first.startswith(f"{what}: "))
    return replace(
        errors,
        effect="block" if "block" in (effect, errors.effect) else effect or errors.effect,
        number=errors.number + len(found),
        contradicted=errors.contradicted + sum(error.reason.startswith(alike) for error in found),
        first=first,
    )


def _found(run: RunResult, rows: Sequence[Row], blocking: Sequence[RuleResult]) -> Iterator[_Error]:
    """The ERRORs that decide: of what a blocking rule looks at, and of answers of which nothing was asserted."""
    for row in rows:
        errors = [place for place, it in enumerate(row.grades) if it.counts and it.outcome is Outcome.ERROR]
        # Where the error leaves the whole case undecided, what fails in it is in no count.
        hides = row.outcome is Outcome.ERROR and any(it.counts and it.outcome is Outcome.FAIL for it in row.grades)
        for place in errors:
            if _decides(run, row, row.grades[place], blocking):
                yield _Error(row.grades[place].reason, held=not row.grades[place].unheard or hides)
        whole = row.outcome is Outcome.ERROR and row.grades and not errors  # no mean can be taken, or no score was made
        if whole and any(result.rule.every_case and counted(result.rule, row) for result in blocking):
            yield _Error(row.reason, held=True)
    yield from (_Error(row.error, row.undone or row.withheld) for row in rows if row.error and not row.grades)


def _decides(run: RunResult, row: Row, grade: Grade, blocking: Sequence[RuleResult]) -> bool:
    looking = [result for result in blocking if takes(result.rule, row, grade)]
    if not looking:  # it is advice, unless no model that was asked is there at all
        usage = run.target_usage if row.error else run.grader_usage
        return (grade.unheard or grade.withheld) and not (usage.calls or usage.cached)
    return not (is_contradicted(grade) and all(result.bears for result in looking))


def _effect(policy: Policy, found: Sequence[_Error], rows: Sequence[Row], blocking: Sequence[RuleResult]) -> tuple[str, Sequence[_Error]]:
    """What errors do under a policy, and which of them."""
    if policy.errors != "ignore":
        return policy.errors, found
    counting = ((row, grade) for row in rows for grade in row.grades if grade.counts)
    looked_at = sum(any(takes(result.rule, *pair) for result in blocking) for pair in counting)
    silent = sum(bool(row.error) and not row.grades for row in rows)
    if len(found) > exact(policy.errors_up_to) * (looked_at + silent):
        return "inconclusive", found
    held = [error for error in found if error.held]
    return ("inconclusive", held) if held else ("", found)
