"""What a rule cannot see: how often noise alone makes a run miss it, and how often it notices broken cases. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, reduce
from itertools import accumulate
from math import ceil, fsum
from typing import NamedTuple

from gradegate.deciding.chances import tail, terms
from gradegate.values.limits import exact
from gradegate.values.result import Power

_NOTHING = 1e-18  # a chance that changes no figure

Group = tuple[int, float]  # so many cases, and the chance of each to fail


class Chances(NamedTuple):
    """The chance that a good case is failed in the end, and that a broken one is."""

    good: float
    broken: float


def of_grade(noise: float, votes: int, beside_base: bool = False) -> Chances:
    """Of a grade that is asked again until its failures lead by ``votes``; 0 where it is asked once.

    ``beside_base``: it fails only if the base's answer stands when it is graded again.
    """
    if not votes:
        return Chances(noise, 1 - noise)
    again = stands(noise, votes) if beside_base else 1.0
    return Chances(*(share * _lead_reached(share, votes) * again for share in (noise, 1 - noise)))


def stands(noise: float, votes: int) -> float:
    """The chance that a PASS of the base stands when its answer is graded again."""
    return _lead_reached(1 - noise, votes)


def of_runs(share: float, of: int, passes: int) -> Chances:
    """Of a case that has to pass ``passes`` of its runs, of which that share fails."""
    return Chances(*(tail(of - passes + 1, of, each) for each in (share, 1 - share)))


def of_case(grades: Iterable[Chances]) -> Chances:
    """Of a case that fails where one of its grades does; broken is the one whose failure is seen least."""
    parts = list(grades)
    good = 1 - reduce(lambda passes, it: passes * (1 - it.good), parts, 1.0)
    return Chances(good, max(good, min((it.broken for it in parts), default=0.0)))


@cache
def _lead_reached(share: float, votes: int) -> float:
    """The chance that the side which won the first ask, and wins others with that share, leads by ``votes`` before it falls behind."""
    leads, reached = {1: 1.0}, 0.0
    for _ in range(3 * votes - 1):
        moved: dict[int, float] = defaultdict(float)
        for lead, chance in leads.items():
            moved[lead + 1] += chance * share
            moved[lead - 1] += chance * (1 - share)
        reached += moved.pop(votes, 0.0)
        leads = {lead: chance for lead, chance in moved.items() if lead >= 0}
    return reached


def room(cases: int, min_pass_rate: float) -> int:
    """How many cases may fail."""
    return cases - ceil(exact(min_pass_rate) * cases)


def power(cases: Counter[Chances], may_fail: int, failing: int = 0, new_only: bool = False, unchanged: Iterable[Group] = ()) -> Power:
    """The figures of a rule over ``cases``, of which ``failing`` fail on the base and ``may_fail`` may fail.

    ``new_only``: it counts new failures. ``unchanged`` are the cases with chances of their own where nothing changed.
    """
    number, known = cases.total(), list(unchanged)

    def missed(broken: int) -> float:
        return more_than(may_fail, _groups(cases, min(broken, number - failing), failing, new_only))

    return Power(
        cases=number,
        failing_before=failing,
        slack=may_fail - (0 if new_only else failing),
        unchanged=more_than(may_fail, known) if known else missed(0),
        one_broken=missed(1),
        three_broken=missed(3),
        five_points=missed(Power(cases=number).drop),
    )


def _groups(cases: Counter[Chances], broken: int, failing: int, new_only: bool) -> Iterator[Group]:
    """The cases, of which as many of the most common ones are broken or ``failing``, which do not count where only new ones do."""
    for chances, count in cases.most_common():
        old = min(failing, count)
        new = min(broken, count - old)
        failing, broken = failing - old, broken - new
        yield from ((count - old - new, chances.good), (new if new_only else old + new, chances.broken))


def more_than(most: int, groups: Iterable[Group]) -> float:
    """The chance that more than ``most`` of independent cases fail, exactly: linear in the cases but for the smaller groups."""
    *few, last = sorted((_table(*group) for group in groups if group[0]), key=len) or [[1.0]]
    above = [*accumulate(reversed(last))][::-1]  # the chance of so many or more
    first: Sequence[float] = reduce(_together, few, [1.0])
    return min(1.0, fsum(chance * above[max(0, most + 1 - n)] for n, chance in enumerate(first) if most + 1 - n < len(above)))


def _table(count: int, chance: float) -> list[float]:
    """The chance of each number of failures of so many cases, as far as it is worth a figure."""
    if not 0 < chance < 1:
        return [0.0] * (count if chance else 0) + [1.0]
    return _trimmed(list(terms(range(count + 1), count, chance)))


def _together(one: Sequence[float], other: Sequence[float]) -> Sequence[float]:
    """The same of two tables at once."""
    sums = [0.0] * (len(one) + len(other) - 1)
    for n, chance in enumerate(one):
        for m, further in enumerate(other):
            sums[n + m] += chance * further
    return _trimmed(sums)


def _trimmed(table: list[float]) -> list[float]:
    while table[-1] < _NOTHING and len(table) > 1:
        table.pop()
    return table
