"""The statistics behind decisions: intervals, exact tails, agreement, and how often to re-ask.

Pure functions of numbers. Shares and chances are from 0 to 1; what nothing was counted for is None.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache, reduce
from itertools import accumulate
from typing import NamedTuple

from gradegate.core.numbers import exact_fraction
from gradegate.results.run_result import Power

LEADS = range(2, 9)
WRONG_FAILS = Fraction(1, 100)  # how many wrong confirmed failures a whole run may have on average
_NOTHING = 1e-18  # a chance that changes no figure
_HALVINGS = 60  # of an interval from 0 to 1: finer than a float can tell


class Interval(NamedTuple):
    """Where a share, or kappa, may lie."""

    low: float
    high: float


def wilson(hits: int, count: int) -> Interval | None:
    """The two-sided 95 % score interval of ``hits`` of ``count``, None where nothing was counted.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927), 209-212.
    """
    if not count:
        return None
    square = _quantile(0.975) ** 2
    middle = (hits + square / 2) / (count + square)
    half = math.sqrt(square * (hits * (count - hits) / count + square / 4)) / (count + square)
    # The ends at 0 and 1 are exact; rounding must not move them inside.
    return Interval(
        max(0.0, middle - half) if hits else 0.0, min(1.0, middle + half) if hits < count else 1.0
    )


@cache
def _quantile(share: float) -> float:
    from statistics import NormalDist  # takes as long to import as a small config to plan

    return NormalDist().inv_cdf(share)


def student(freedom: int) -> float:
    """Student's t that differs from 0 by so much in 1 % of samples, either way; at most 1.5 % too large from 4 degrees of freedom on.

    D. B. Peizer, J. W. Pratt, "A normal approximation for binomial, F, beta, and other common, related tail probabilities",
    JASA 63 (1968), 1416-1456, turned round.
    """
    spread = _quantile(0.995) / (freedom - 2 / 3 + 0.1 / freedom)
    return math.sqrt(freedom * math.expm1(spread**2 * (freedom - 5 / 6)))


def tail(least: int, count: int, chance: float) -> float:
    """P(Bin(count, chance) >= least), the terms summed exactly; holds to 1e-9 of its value up to 100,000 trials."""
    if least <= 0:
        return 1.0
    if least > count or chance <= 0:
        return 0.0
    if chance >= 1:
        return 1.0
    if least <= count * chance:  # the shorter side loses no digits, and is never tiny on this one
        return 1.0 - math.fsum(terms(range(least), count, chance))
    return min(1.0, math.fsum(terms(range(least, count + 1), count, chance)))


def terms(hits: Iterable[int], count: int, chance: float) -> Iterable[float]:
    """The chance of each of these numbers of hits, of a share above 0 and below 1."""
    yes, no, all_ways = math.log(chance), math.log1p(-chance), math.lgamma(count + 1)
    for k in hits:
        ways = all_ways - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        yield math.exp(ways + k * yes + (count - k) * no)


def upper_bound(hits: int, count: int, level: float = 0.95) -> float:
    """The one-sided upper bound of a share: the chance at which so few hits are just ``1 - level`` likely.

    C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26 (1934), 404-413. 1 where every trial hit, or none was made.
    """
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS if hits < count else 0):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if 1 - tail(hits + 1, count, middle) > 1 - level else (low, middle)
        )
    return high


# --- a grader against people ----------------------------------------------------------------------------------


class Crossed(NamedTuple):
    """How often a person and the grader said pass and fail: the person first, so ``pf`` failed what a person passes."""

    pp: int = 0
    pf: int = 0
    fp: int = 0
    ff: int = 0


class Kappa(NamedTuple):
    """Cohen's kappa with its 95 % interval, which is not clipped."""

    value: float
    interval: Interval


def kappa(table: Crossed) -> Kappa | None:
    """Agreement beyond chance; None where chance alone agrees always, or nothing was counted.

    J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20 (1960),
    37-46; the standard error is that of J. L. Fleiss, J. Cohen, B. S. Everitt, "Large sample standard errors of kappa
    and weighted kappa", Psychological Bulletin 72 (1969), 323-327, formula 13.
    """
    count = sum(table)
    if not count:
        return None
    pp, pf, fp, ff = (Fraction(cell, count) for cell in table)
    person, grader = (pp + pf, fp + ff), (pp + fp, pf + ff)  # the shares of pass and of fail
    agreed = pp + ff
    chance = person[0] * grader[0] + person[1] * grader[1]
    if chance == 1:
        return None
    rest = 1 - agreed
    on = sum(
        cell * (1 - chance - (person[i] + grader[i]) * rest) ** 2 for i, cell in enumerate((pp, ff))
    )
    off = rest**2 * (pf * (grader[0] + person[1]) ** 2 + fp * (grader[1] + person[0]) ** 2)
    variance = (on + off - (agreed * chance - 2 * chance + agreed) ** 2) / (
        count * (1 - chance) ** 4
    )
    value, half = float((agreed - chance) / (1 - chance)), _quantile(0.975) * math.sqrt(variance)
    return Kappa(value, Interval(value - half, value + half))


def corrected(pass_rate: float, tpr: float, tnr: float) -> float | None:
    """The share that really passes, of a share that a grader passed; None for a grader no better than chance.

    ``tpr`` is the share of good answers that it passes, ``tnr`` of bad ones that it fails. W. J. Rogan, B. Gladen,
    "Estimating prevalence from the results of a screening test", American Journal of Epidemiology 107 (1978), 71-76.
    """
    better = tpr + tnr - 1
    return min(1.0, max(0.0, (pass_rate + tnr - 1) / better)) if better > 0 else None


class Flips(NamedTuple):
    """Minority votes among all votes on outputs that most of their asks pass."""

    minority: int
    votes: int


def flips(asked: Iterable[tuple[int, int]]) -> Flips:
    """Counts them over outputs, each with its votes to pass and to fail; ties are in neither number."""
    mostly = [(passes, fails) for passes, fails in asked if passes > fails]
    return Flips(sum(fails for _, fails in mostly), sum(map(sum, mostly)))


# --- asking again ---------------------------------------------------------------------------------------------


class Lead(NamedTuple):
    """By how many votes failures must lead to be confirmed."""

    votes: int
    held: bool = True  # wrong ones stay within 1 % of runs


def lead(grades: int, noise: float) -> Lead:
    """The smallest of 2 to 8 votes with which ``grades`` that flip as often as ``noise`` hold 1 %, in exact fractions.

    A. Wald, "Sequential tests of statistical hypotheses", Annals of Mathematical Statistics 16 (1945), 117-186.
    """
    enough = (votes for votes in LEADS if grades * wrong_fail(votes, noise) <= WRONG_FAILS)
    votes = next(enough, None)
    return Lead(votes or LEADS[-1], votes is not None)


def wrong_fail(votes: int, noise: float) -> Fraction:
    """The chance that a good answer is confirmed to fail: the gambler's ruin, from the first ask on."""
    share = exact_fraction(noise)
    if not share:
        return Fraction(0)
    odds = (1 - share) / share
    return (odds - 1) / (odds ** (votes + 1) - 1)


def expected_reasks(grades: int, noise: float) -> float:
    """How many asks follow the first ones on average, where every answer is good and flips as often as ``noise``."""
    share = exact_fraction(noise)
    return float(grades * 2 * share / (1 - 2 * share))


# --- what a rule cannot see: how often noise alone makes a run miss it, and how often it notices broken cases ---


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
    again = lead_reached(1 - noise, votes) if beside_base else 1.0
    return Chances(*(share * lead_reached(share, votes) * again for share in (noise, 1 - noise)))


def of_runs(share: float, of: int, passes: int) -> Chances:
    """Of a case that has to pass ``passes`` of its runs, of which that share fails."""
    return Chances(*(tail(of - passes + 1, of, each) for each in (share, 1 - share)))


def of_case(grades: Iterable[Chances]) -> Chances:
    """Of a case that fails where one of its grades does; broken is the one whose failure is seen least."""
    parts = list(grades)
    good = 1 - math.prod(1 - it.good for it in parts)
    return Chances(good, max(good, min((it.broken for it in parts), default=0.0)))


@cache
def lead_reached(share: float, votes: int) -> float:
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
    return cases - math.ceil(exact_fraction(min_pass_rate) * cases)


def power(
    cases: Counter[Chances],
    may_fail: int,
    failing: int = 0,
    new_only: bool = False,
    unchanged: Iterable[Group] = (),
) -> Power:
    """The figures of a rule over ``cases``, of which ``failing`` fail on the base and ``may_fail`` may fail, or ``new_only`` new ones.

    ``unchanged`` are the cases with chances of their own where nothing changed.
    """
    number, known = cases.total(), list(unchanged)

    def missed(broken: int) -> float:
        """As many of the most common cases are broken or ``failing``, which do not count where only new ones do."""
        groups: list[Group] = []
        old_left, new_left = failing, min(broken, number - failing)
        for chances, count in cases.most_common():
            old = min(old_left, count)
            new = min(new_left, count - old)
            old_left, new_left = old_left - old, new_left - new
            groups += (
                (count - old - new, chances.good),
                (new if new_only else old + new, chances.broken),
            )
        return more_than(may_fail, groups)

    return Power(
        cases=number,
        failing_before=failing,
        slack=may_fail - (0 if new_only else failing),
        unchanged=more_than(may_fail, known) if known else missed(0),
        one_broken=missed(1),
        three_broken=missed(3),
        five_points=missed(Power(cases=number).drop),
    )


def more_than(most: int, groups: Iterable[Group]) -> float:
    """The chance that more than ``most`` of independent cases fail, exactly: linear in the cases but for the smaller groups."""
    *few, last = sorted((_table(*group) for group in groups if group[0]), key=len) or [[1.0]]
    above = [*accumulate(reversed(last))][::-1]  # the chance of so many or more
    first: Sequence[float] = reduce(_together, few, [1.0])
    return min(
        1.0,
        math.fsum(
            chance * above[max(0, most + 1 - n)]
            for n, chance in enumerate(first)
            if most + 1 - n < len(above)
        ),
    )


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
