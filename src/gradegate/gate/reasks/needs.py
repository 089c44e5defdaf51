"""Which failing grades are re-asked next, so that few asks settle the rules. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from gradegate.core.numbers import exact
from gradegate.core.policy import Rule
from gradegate.gate.case_runs import (
    Run,
    is_unfinished,
    open_places,
    open_selected,
    outcome_of,
    whole,
)
from gradegate.gate.reasks.ballot import is_contradicted
from gradegate.gate.regressions import Case, is_old
from gradegate.gate.rules import by_counts
from gradegate.results.baseline import NEW_FAILURE
from gradegate.results.grades import ERROR, FAIL, PASS, Outcome
from gradegate.results.rows import Row, open_in_grade, takes
from gradegate.results.run_result import Counts
from gradegate.structs import FrozenStruct, Struct, replace

_LEAST = 8  # cases of a wave, as far as so many are open
_MOST_TO_END = 50  # cases of missed rules that are asked to their end although no rule needs it

GradePlace = tuple[int, int]  # of a grade: the number of its row, and its position there
Unit = tuple[GradePlace, ...]  # the open grades of a case
# The outcome of what a rule counts, its open grades (none where the outcome is for good), and whether it is undone.
_Counted = tuple[Outcome, Unit, bool]


class Opened(FrozenStruct):
    """A row, and the positions of its grades that failed and may be asked again, as far as they were not."""

    row: Row
    open: frozenset[int] = frozenset()
    runs: tuple[Run, ...] = ()  # of a case whose runs are counted together, this one's among them

    @classmethod
    def of_case(cls, runs: Sequence[Run]) -> Opened:
        """The runs of a case, or a row alone."""
        return cls(
            runs[0][1],
            frozenset(place for run in runs for place in run[2]),
            tuple(runs) if runs[0][1].needs else (),
        )


class Tally(NamedTuple):
    """What a rule counts: what passed and what failed for good, and what is open, in plan order. ERRORs are in none."""

    passed: int = 0
    failed: int = 0
    open: tuple[Unit, ...] = ()
    unsure: int = 0  # those of them that may be new failures, because the grader contradicts itself
    undone: int = 0  # those that a budget or a signal left before their end, which might pass
    untold: tuple[
        Unit, ...
    ] = ()  # those of the open that are an ERROR as long as they are, whatever the rule says


def _total(tallies: Iterable[Tally]) -> Tally:
    passed, failed, open_, unsure, undone, untold = zip(Tally(), *tallies, strict=True)
    return Tally(
        sum(passed),
        sum(failed),
        tuple(chain(*open_)),
        sum(unsure),
        sum(undone),
        tuple(chain(*untold)),
    )


class _Part(Struct):
    """A rule, or what it asks of the base or of the run alone, with what it counted for good: rows of which nothing is open."""

    rule: Rule
    counted: list[Tally] = []

    def tally(self, active: Mapping[int, Opened]) -> Tally:
        """What it counts together with rows of which something is open, by their numbers."""
        self.counted = [_total(self.counted)]
        return _total(
            [
                *self.counted,
                *(tallied(self.rule, number, opened) for number, opened in active.items()),
            ]
        )


class Waves:
    """What the blocking rules still need. What is no longer open is counted once, and not looked at again."""

    def __init__(
        self,
        rules: Iterable[Rule],
        rows: Mapping[int, Opened],
        compared: bool,
    ) -> None:
        self._rules = [tuple(map(_Part, parts_of(rule))) for rule in rules if rule.blocking]
        self._compared = compared  # there is a base to compare with
        self._active: dict[int, Opened] = {}
        for number, opened in rows.items():
            self.update(number, opened)

    def update(self, number: int, opened: Opened) -> None:
        """Take a row as it is now."""
        if opened.open:
            self._active[number] = opened
            return
        self._active.pop(number, None)
        for part in chain(*self._rules):
            part.counted.append(tallied(part.rule, number, opened))

    def next(self) -> list[GradePlace]:
        """The grades that are asked again now, in plan order; none where every rule is settled."""
        return self._of_unsettled(width)

    def last(self) -> list[GradePlace]:
        """What missed rules count and is still open, of the first 50 cases: whoever reads the report must not mend good answers."""
        cases: dict[int, set[GradePlace]] = {}
        for part in chain(*self._rules):
            tally = part.tally(self._active)
            for unit in tally.open if missed(part.rule, tally) else ():
                cases.setdefault(unit[0][0], set()).update(unit)
        return sorted(place for number in sorted(cases)[:_MOST_TO_END] for place in cases[number])

    def needed(self) -> list[GradePlace]:
        """All open grades of rules that are not settled."""
        return self._of_unsettled(lambda _, tally: len(tally.open))

    def _of_unsettled(self, width: Callable[[Rule, Tally], int]) -> list[GradePlace]:
        places: set[GradePlace] = set()
        for parts in self._rules:
            tallies = [(part.rule, part.tally(self._active)) for part in parts]
            # What drops is never known early, nor what a later run compares with.
            early = self._compared and all(part.rule.max_drop is None for part in parts)
            if len(parts) > 1 and early and any(missed(*pair) for pair in tallies):
                continue  # a rule is missed when one of its keys is
            for rule, tally in tallies:
                wanted = (
                    tally.untold
                    if settled(rule, tally, self._compared)
                    else tally.open[: width(rule, tally)]
                )
                if wanted and not missed(rule, tally):
                    places.update(place for unit in wanted for place in unit)
        return sorted(places)


def missed(rule: Rule, tally: Tally) -> bool:
    """Whether the rule is missed with every open one passing, and with every one that is undone passing, too."""
    if rule.beside_base:
        most = rule.max_new_failures
        return most is not None and rule.max_drop is None and tally.failed > most
    passed = tally.passed + len(tally.open)
    ends = (Counts(passed, tally.failed), Counts(passed + tally.undone, tally.failed))
    return all(by_counts(rule, end) is FAIL for end in ends)


def settled(rule: Rule, tally: Tally, compared: bool = False) -> bool:
    """Whether the rule is missed with every open one passing, or met with every open one failing.

    Without a base that is ``compared`` with, this run may become one, and what is new has to be known whatever the rule says.
    """
    open_ = len(tally.open)
    if rule.beside_base:
        most = rule.max_new_failures
        if most is None or rule.max_drop is not None or not compared:
            return False
        return missed(rule, tally) or tally.failed + tally.unsure + open_ <= most
    if missed(rule, tally):
        return True
    worst = Counts(tally.passed, tally.failed + open_)
    return rule.min_score is None and by_counts(rule, worst) is PASS


def width(rule: Rule, tally: Tally) -> int:
    """How many open ones are asked at once: as many as miss the rule if they all stand, and no fewer than 8."""
    if rule.max_new_failures is not None and rule.max_drop is None:
        return max(_LEAST, rule.max_new_failures + 1 - tally.failed)
    least = 1.0 if rule.every_case else rule.min_pass_rate
    if least is None or rule.min_score is not None:
        return len(tally.open)
    may_fail = int((1 - exact(least)) * (tally.passed + tally.failed + len(tally.open)))
    return max(_LEAST, may_fail + 1 - tally.failed)


def tallied(rule: Rule, number: int, opened: Opened) -> Tally:
    """What the rule counts of one row, which has that number."""
    outcomes, open_, untold, undone = [], [], [], 0
    for outcome, unit, is_undone in units(rule, opened, number):
        if not unit:
            outcomes.append(outcome)
            undone += is_undone
            continue
        open_.append(unit)
        if outcome is ERROR:
            untold.append(unit)
    passed, failed, unsure = map(outcomes.count, Outcome)
    return Tally(passed, failed, tuple(open_), unsure, undone, tuple(untold))


def units(rule: Rule, opened: Opened, number: int = 0) -> Iterator[_Counted]:
    """What the rule counts of a row, which has that number, or of a case by its runs: one case, or nothing."""
    row = opened.row

    def numbered(positions: Iterable[int]) -> Unit:
        return tuple((number, position) for position in positions)

    if opened.runs:
        yield from _of_case(rule, opened.runs)
    elif rule.beside_base:
        yield from (
            (outcome, numbered(positions), False)
            for outcome, positions in _beside_base(rule, opened)
        )
    elif outcome := outcome_of(rule, row):
        places = numbered(open_selected(rule, row, opened.open))
        yield outcome, places, is_unfinished(rule, row)


def _of_case(rule: Rule, runs: Sequence[Run]) -> Iterator[_Counted]:
    case = whole(rule, [row for _, row, _ in runs])
    if case is None or not case.grades:
        return
    (grade,) = case.grades
    places = () if case.has_passed else tuple(open_places(rule, runs))
    if not rule.beside_base:
        yield case.outcome, places, grade.undone
    elif places and (rule.max_drop is not None or not is_old(case, grade)):
        yield case.outcome, places, False
    else:
        yield FAIL if grade.status == NEW_FAILURE else PASS, (), False


def parts_of(rule: Rule) -> Iterator[Rule]:
    """The rule; of one that looks at the base and at the run itself, a rule for each."""
    if rule.beside_base and rule.own:
        yield replace(rule, max_new_failures=None, max_drop=None)
        yield replace(rule, min_pass_rate=None, min_score=None, min_cases=None)
    else:
        yield rule


def _beside_base(rule: Rule, opened: Opened) -> Iterator[tuple[Outcome, Sequence[int]]]:
    """A case that is a new failure as FAIL; what may become one with its open grades, and for drops what was old, too."""
    row = opened.row
    taken = [place for place, grade in enumerate(row.grades) if takes(rule, row, grade)]
    if not taken:
        return
    found = {place: open_in_grade(row.grades, place, opened.open) for place in taken}
    for_good = Case(row, tuple(row.grades[place] for place in taken if not found[place]))
    if rule.max_drop is None and for_good.grades and for_good.standing == NEW_FAILURE:
        yield FAIL, []
        return
    asked = [
        inner
        for place in taken
        for inner in found[place]
        if row.has_failed and (rule.max_drop is not None or not is_old(row, row.grades[place]))
    ]
    is_new = Case(row, tuple(row.grades[place] for place in taken)).standing == NEW_FAILURE
    certain = ERROR if any(is_contradicted(row.grades[place]) for place in taken) else PASS
    yield (FAIL if is_new or asked else certain), sorted(set(asked))
