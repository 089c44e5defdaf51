"""The statistics behind decisions: intervals, exact tails, agreement, and how often to re-ask.

Pure functions of numbers. Shares and chances are from 0 to 1; what nothing was counted for is None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from gradegate.values.limits import exact

LEADS = range(2, 9)
WRONG_FAILS = Fraction(1, 100)  # how many wrong confirmed failures a whole run may have on average
_HALVINGS = 60  # of an interval from 0 to 1: finer than a float can tell


class Interval(NamedTuple):
    """Where a share, or kappa, may lie."""

    low: float
    high: float


# --- shares ---------------------------------------------------------------------------------------------------


def wilson(hits: int, count: int, confidence: float = 0.95) -> Interval | None:
    """The two-sided score interval of ``hits`` of ``count``, None where nothing was counted.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927), 209-212.
    """
    if not count:
        return None
    square = _quantile((1 + confidence) / 2) ** 2
    middle = (hits + square / 2) / (count + square)
    half = math.sqrt(square * (hits * (count - hits) / count + square / 4)) / (count + square)
    # The ends at 0 and 1 are exact; rounding must not move them inside.
    return Interval(max(0.0, middle - half) if hits else 0.0, min(1.0, middle + half) if hits < count else 1.0)


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
        low, high = (middle, high) if 1 - tail(hits + 1, count, middle) > 1 - level else (low, middle)
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
    on = sum(cell * (1 - chance - (person[i] + grader[i]) * rest) ** 2 for i, cell in enumerate((pp, ff)))
    off = rest**2 * (pf * (grader[0] + person[1]) ** 2 + fp * (grader[1] + person[0]) ** 2)
    variance = (on + off - (agreed * chance - 2 * chance + agreed) ** 2) / (count * (1 - chance) ** 4)
    value, half = float((agreed - chance) / (1 - chance)), _quantile(0.975) * math.sqrt(variance)
    return Kappa(value, Interval(value - half, value + half))


def corrected(pass_rate: float, tpr: float, tnr: float) -> float | None:
    """The share that really passes, of a share that a grader passed; None for a grader no better than chance.

    ``tpr`` is the share of good answers that it passes, ``tnr`` of bad ones that it fails. W. J. Rogan, B. Gladen,
    "Estimating prevalence from the results of a screening test", American Journal of Epidemiology 107 (1978), 71-76.
    """
    better = tpr + tnr - 1
    return min(1.0, max(0.0, (pass_rate + tnr - 1) / better)) if better > 0 else None


# --- asking again ---------------------------------------------------------------------------------------------


class Lead(NamedTuple):
    """By how many votes failures must lead to be confirmed; ``held``: wrong ones stay within 1 % of runs.

    ``sure``: so many votes of one of several graders, all alike, are no flips.
    """

    votes: int
    held: bool = True
    sure: int = LEADS[-1]


def lead(grades: int, noise: float) -> Lead:
    """The smallest of 2 to 8 votes with which ``grades`` that flip as often as ``noise`` hold 1 %, in exact fractions.

    A. Wald, "Sequential tests of statistical hypotheses", Annals of Mathematical Statistics 16 (1945), 117-186.
    """
    enough = (votes for votes in LEADS if grades * wrong_fail(votes, noise) <= WRONG_FAILS)
    votes = next(enough, None)
    sure = next((votes for votes in LEADS if grades * exact(noise) ** votes <= WRONG_FAILS), LEADS[-1])
    return Lead(votes or LEADS[-1], votes is not None, sure)


def wrong_fail(votes: int, noise: float) -> Fraction:
    """The chance that a good answer is confirmed to fail: the gambler's ruin, from the first ask on."""
    share = exact(noise)
    if not share:
        return Fraction(0)
    odds = (1 - share) / share
    return (odds - 1) / (odds ** (votes + 1) - 1)


def expected_reasks(grades: int, noise: float) -> float:
    """How many asks follow the first ones on average, where every answer is good and flips as often as ``noise``."""
    share = exact(noise)
    return float(grades * 2 * share / (1 - 2 * share))


def most_reasks(grades: int, votes: int) -> int:
    """How many asks may follow the first ones at most: a grade is asked three times the lead, the first included."""
    return grades * (3 * votes - 1)


# --- how often a grader flips ---------------------------------------------------------------------------------


class Flips(NamedTuple):
    """Minority votes among all votes on outputs that most of their asks pass."""

    minority: int
    votes: int


def flips(asked: Iterable[tuple[int, int]]) -> Flips:
    """Counts them over outputs, each with its votes to pass and to fail; ties are in neither number."""
    mostly = [(passes, fails) for passes, fails in asked if passes > fails]
    return Flips(sum(fails for _, fails in mostly), sum(map(sum, mostly)))
