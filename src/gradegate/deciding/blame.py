"""Which answers a run is blocked for: those that a missed rule counts against it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gradegate.deciding.rules import apply
from gradegate.results.earlier_run import NEW_FAILURE, standing
from gradegate.values.result import Outcome, Row, RuleResult, counted, takes
from gradegate.values.suite import Rule


def blamed(rows: Sequence[Row], rules: Iterable[RuleResult]) -> frozenset[int]:
    """The places of the rows with a failure that a blocking rule is missed for; all else that fails only advises.

    A rule that only looks at the base is missed for new failures, and any other for whatever it selects.
    """
    places: set[int] = set()
    for result in rules:
        if result.rule.blocking and result.outcome is Outcome.FAIL:
            places |= {*_of_rule(result.rule, rows)}
    return frozenset(places)


def _of_rule(rule: Rule, rows: Sequence[Row]) -> Iterator[int]:
    alone = rule.own and not rule.beside_base
    # A rule that also looks at the base may be missed by what it asks of the run itself.
    own = [row for row in rows if row.suite == rule.suite]
    any_failure = alone or (rule.own and apply(rule, own).outcome is Outcome.FAIL)
    for place, row in enumerate(rows):
        if row.suite != rule.suite:
            continue
        if rule.every_case and any_failure:
            blames = row.outcome is Outcome.FAIL and counted(rule, row)
        else:
            grades = [grade for grade in row.grades if takes(rule, row, grade)]
            failing = any(grade.outcome is Outcome.FAIL for grade in grades)
            blames = failing and (any_failure or standing(row, grades) == NEW_FAILURE)
        if blames:
            yield place
