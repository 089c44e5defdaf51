"""Which answers a run is blocked for: those that a missed rule counts against it for good. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gradegate.deciding.regressions import Case
from gradegate.deciding.rules import apply
from gradegate.deciding.runs import outcome_of
from gradegate.deciding.waves import Opened, parts_of, units
from gradegate.results.earlier_run import NEW_FAILURE
from gradegate.values.open_grades import left_open
from gradegate.values.result import Outcome, Row, RuleResult, runs_of, takes
from gradegate.values.suite import Rule


def blamed(rows: Sequence[Row], rules: Iterable[RuleResult]) -> frozenset[int]:
    """The places of the rows with a failure that a blocking rule is missed for; all else that fails only advises.

    A rule that only looks at the base is missed for new failures, and any other for whatever it selects. What failed once
    and was not asked to its end is no reason: the rule is missed without it.
    """
    places: set[int] = set()
    for result in rules:
        if result.rule.blocking and result.outcome is Outcome.FAIL:
            own = [(place, row) for place, row in enumerate(rows) if row.suite == result.rule.suite]
            for part in parts_of(result.rule):
                # A rule of several keys may be missed by what it asks of the run itself, or not by that.
                if part.beside_base or apply(part, [row for _, row in own]).outcome is Outcome.FAIL:
                    places |= {*_counted_against(part, own)}
    return frozenset(places)


def _counted_against(rule: Rule, rows: Iterable[tuple[int, Row]]) -> Iterator[int]:
    places = {id(row): place for place, row in rows}
    for case in runs_of(row for _, row in rows):
        row, place, open_ = case[0], places[id(case[0])], left_open(case[0])
        if row.needs:
            opened = Opened.of_case([(places[id(run)], run, left_open(run)) for run in case])
            if any(outcome is Outcome.FAIL and not unit for outcome, unit, _ in units(rule, opened)):
                yield from (places[id(run)] for run in case if outcome_of(rule, run) is Outcome.FAIL)
            continue
        if rule.beside_base:
            grades = tuple(grade for position, grade in enumerate(row.grades) if position not in open_ and takes(rule, row, grade))
            blames = any(grade.outcome is Outcome.FAIL for grade in grades) and Case(row, grades).standing == NEW_FAILURE
        else:
            blames = any(outcome is Outcome.FAIL and not positions for outcome, positions, _ in units(rule, Opened(row, open_)))
        if blames:
            yield place
