"""The statistics behind decisions: intervals, exact tails, agreement, and how often to re-ask.

Pure functions of numbers. Shares and chances are from 0 to 1. None means that nothing was counted.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from gradegate.core.numbers import exact_fraction
from gradegate.results.run_result import Power

LEADS = range(2, 9)
WRONG_FAILS = Fraction(1, 100)  # how many wrong confirmed failures a whole run may have on average
_NEGLIGIBLE = 1e-18  # a chance that changes no figure
_HALVINGS = 60  # of an interval from 0 to 1: finer than a float can tell


class Interval(NamedTuple):
    """Where a share, or kappa, may lie."""

    low: float
    high: float


def wilson_interval(hits: int, count: int) -> Interval | None:
    """The two-sided 95 % score interval of ``hits`` of ``count``, None where nothing was counted.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927), 209-212.
    """
    if not count:
        return None
    square = _quantile(0.975) ** 2
    middle = (hits + square / 2) / (count + square)
    spread = hits * (count - hits) / count
    half = math.sqrt(square * (spread + square / 4)) / (count + square)
    # The ends at 0 and 1 are exact; rounding must not move them inside.
    low = max(0.0, middle - half) if hits else 0.0
    high = min(1.0, middle + half) if hits < count else 1.0
    return Interval(low, high)


@cache
def _quantile(share: float) -> float:
    from statistics import NormalDist  # takes as long to import as a small config to plan

    return NormalDist().inv_cdf(share)


def student_t(freedom: int) -> float:
    """Student's t that differs from 0 by so much in 1 % of samples, either way; at most 1.5 % too large from 4 degrees of freedom on.

    D. B. Peizer, J. W. Pratt, "A normal approximation for binomial, F, beta, and other common, related tail probabilities",
    JASA 63 (1968), 1416-1456, inverted.
    """
    spread = _quantile(0.995) / (freedom - 2 / 3 + 0.1 / freedom)
    return math.sqrt(freedom * math.expm1(spread**2 * (freedom - 5 / 6)))


def binomial_tail(least: int, count: int, chance: float) -> float:
    """P(Bin(count, chance) >= least), the terms summed exactly; holds to 1e-9 of its value up to 100,000 trials."""
    if least <= 0:
        return 1.0
    if least > count or chance <= 0:
        return 0.0
    if chance >= 1:
        return 1.0
    if least <= count * chance:  # the shorter side, which loses no digits
        return 1.0 - math.fsum(binomial_terms(range(least), count, chance))
    return min(1.0, math.fsum(binomial_terms(range(least, count + 1), count, chance)))


def binomial_terms(hits: Iterable[int], count: int, chance: float) -> Iterable[float]:
    """The chance of each of these numbers of hits, of a share above 0 and below 1."""
    log_hit = math.log(chance)
    log_miss = math.log1p(-chance)
    log_count = math.lgamma(count + 1)
    for k in hits:
        log_ways = log_count - math.lgamma(k + 1) - math.lgamma(count - k + 1)
        yield math.exp(log_ways + k * log_hit + (count - k) * log_miss)


def upper_bound(hits: int, count: int, level: float = 0.95) -> float:
    """The one-sided upper bound of a share: the chance at which so few hits are just ``1 - level`` likely.

    C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26 (1934), 404-413. 1 where every trial hit, or none was made.
    """
    if hits == count:
        return 1.0
    low = 0.0
    high = 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if 1 - binomial_tail(hits + 1, count, middle) > 1 - level:
            low = middle
        else:
            high = middle
    return high


# --- a grader against people ----------------------------------------------------------------------------------


class CrossTable(NamedTuple):
    """How often a person and the grader said pass and fail: the person first, so ``pf`` failed what a person passes."""

    pp: int = 0
    pf: int = 0
    fp: int = 0
    ff: int = 0


class Kappa(NamedTuple):
    """Cohen's kappa with its 95 % interval, which is not clipped."""

    value: float
    interval: Interval


def cohen_kappa(table: CrossTable) -> Kappa | None:
    """Agreement beyond chance; None where chance alone agrees always, or nothing was counted.

    J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20 (1960),
    37-46; the standard error is that of J. L. Fleiss, J. Cohen, B. S. Everitt, "Large sample standard errors of kappa
    and weighted kappa", Psychological Bulletin 72 (1969), 323-327, formula 13.
    """
    count = sum(table)
    if not count:
        return None
    pp, pf, fp, ff = (Fraction(cell, count) for cell in table)
    person_pass = pp + pf
    person_fail = fp + ff
    grader_pass = pp + fp
    grader_fail = pf + ff
    agreed = pp + ff
    disagreed = 1 - agreed
    chance = person_pass * grader_pass + person_fail * grader_fail
    if chance == 1:
        return None

    # Formula 13: the cells on the diagonal, the cells beside it, and the correction.
    both_pass = pp * (1 - chance - (person_pass + grader_pass) * disagreed) ** 2
    both_fail = ff * (1 - chance - (person_fail + grader_fail) * disagreed) ** 2
    only_person = pf * (grader_pass + person_fail) ** 2
    only_grader = fp * (grader_fail + person_pass) ** 2
    correction = (agreed * chance - 2 * chance + agreed) ** 2
    terms = both_pass + both_fail + disagreed**2 * (only_person + only_grader) - correction
    variance = terms / (count * (1 - chance) ** 4)

    value = float((agreed - chance) / (1 - chance))
    half = _quantile(0.975) * math.sqrt(variance)
    return Kappa(value, Interval(value - half, value + half))


def corrected_pass_rate(pass_rate: float, tpr: float, tnr: float) -> float | None:
    """The share that really passes, of a share that a grader passed; None for a grader no better than chance.

    ``tpr`` is the share of good answers that it passes, ``tnr`` of bad ones that it fails. W. J. Rogan, B. Gladen,
    "Estimating prevalence from the results of a screening test", American Journal of Epidemiology 107 (1978), 71-76.
    """
    better_than_chance = tpr + tnr - 1
    if better_than_chance <= 0:
        return None
    return min(1.0, max(0.0, (pass_rate + tnr - 1) / better_than_chance))


class Flips(NamedTuple):
    """Minority votes among all votes on outputs that most of their asks pass."""

    minority: int
    votes: int


def count_flips(outputs: Iterable[tuple[int, int]]) -> Flips:
    """Count the flips over outputs, each with its votes to pass and to fail. Ties are in neither number."""
    minority = 0
    votes = 0
    for passes, fails in outputs:
        if passes > fails:
            minority += fails
            votes += passes + fails
    return Flips(minority, votes)


# --- re-asks --------------------------------------------------------------------------------------------------


class Lead(NamedTuple):
    """By how many votes failures must lead to be confirmed."""

    votes: int
    is_bounded: bool = True  # wrong ones stay within 1 % of runs


def required_lead(grades: int, noise: float) -> Lead:
    """The smallest of 2 to 8 votes with which wrong failures stay within 1 % of runs, in exact fractions.

    ``grades`` is how many may be re-asked, ``noise`` how often each flips.

    A. Wald, "Sequential tests of statistical hypotheses", Annals of Mathematical Statistics 16 (1945), 117-186.
    """
    for votes in LEADS:
        if grades * chance_of_wrong_failure(votes, noise) <= WRONG_FAILS:
            return Lead(votes)
    return Lead(LEADS[-1], is_bounded=False)


def chance_of_wrong_failure(votes: int, noise: float) -> Fraction:
    """The chance that a good answer is confirmed to fail: the gambler's ruin, from the first ask on."""
    share = exact_fraction(noise)
    if not share:
        return Fraction(0)
    odds = (1 - share) / share
    return (odds - 1) / (odds ** (votes + 1) - 1)


def expected_reasks(grades: int, noise: float) -> float:
    """How many re-asks there are on average, if every answer is good and flips as often as ``noise``."""
    share = exact_fraction(noise)
    return float(grades * 2 * share / (1 - 2 * share))


# --- what a rule cannot see: how often noise alone makes a run miss it, and how often it notices broken cases ---


Group = tuple[int, float]  # so many cases, and the chance of each to fail


class Chances(NamedTuple):
    """The chance that a good case fails in the end, and that a broken one does."""

    good: float
    broken: float


def grade_chances(noise: float, votes: int, beside_base: bool = False) -> Chances:
    """The chance that a grade fails in the end, for a good answer and for a broken one.

    ``noise`` is how often one ask gives the wrong verdict. A failure is re-asked until the failing votes lead by ``votes``;
    if ``votes`` is 0, the grade is asked once.
    ``beside_base``: the failure counts only if the base's answer still passes when it is graded again.
    """
    fails_good = noise  # the chance that one ask fails a good answer
    fails_broken = 1 - noise
    if not votes:
        return Chances(good=fails_good, broken=fails_broken)

    # The first ask must fail, and the re-asks must confirm that.
    good = fails_good * chance_of_lead(fails_good, votes)
    broken = fails_broken * chance_of_lead(fails_broken, votes)
    if beside_base:
        # The base's answer is good in both cases: each ask passes it with the chance 1 - noise.
        base_passes = chance_of_lead(1 - noise, votes)
        good *= base_passes
        broken *= base_passes
    return Chances(good, broken)


def runs_chances(share: float, of: int, passes: int) -> Chances:
    """The chances of a case that must pass ``passes`` of its runs, if that share of good runs fails."""
    enough = of - passes + 1
    return Chances(binomial_tail(enough, of, share), binomial_tail(enough, of, 1 - share))


def case_chances(grades: Iterable[Chances]) -> Chances:
    """The chances of a case that fails if one of its grades does. Broken is the grade with the failure that is seen least."""
    chances = list(grades)
    good = 1 - math.prod(1 - grade.good for grade in chances)
    broken = min((grade.broken for grade in chances), default=0.0)
    return Chances(good, max(good, broken))


@cache
def chance_of_lead(share: float, votes: int) -> float:
    """The chance that the side which won the first ask leads by ``votes`` before it falls behind.

    It wins each further ask with the chance ``share``.
    """
    chance_of = {1: 1.0}  # by its lead
    reached = 0.0
    for _ in range(3 * votes - 1):
        following = defaultdict[int, float](float)
        for lead, chance in chance_of.items():
            following[lead + 1] += chance * share
            following[lead - 1] += chance * (1 - share)
        reached += following.pop(votes, 0.0)
        following.pop(-1, None)
        chance_of = following
    return reached


def failures_allowed(cases: int, min_pass_rate: float) -> int:
    """How many cases may fail."""
    return cases - math.ceil(exact_fraction(min_pass_rate) * cases)


def rule_power(
    cases: Counter[Chances],
    may_fail: int,
    failing: int = 0,
    new_only: bool = False,
    unchanged: Iterable[Group] = (),
) -> Power:
    """What a rule cannot see: the chances that it blocks.

    Of its ``cases``, ``failing`` fail on the base. ``may_fail`` may fail; with ``new_only``, so many new ones.
    ``unchanged`` are the cases that have chances of their own if nothing changed.
    """
    number = cases.total()
    groups = list(unchanged)

    def chance_to_block(broken: int) -> float:
        """As if so many of the most common cases were broken, besides those that fail on the base."""
        by_chance = _groups(cases, failing, min(broken, number - failing), new_only)
        return chance_of_more_than(may_fail, by_chance)

    return Power(
        cases=number,
        failing_before=failing,
        slack=may_fail - (0 if new_only else failing),
        unchanged=chance_of_more_than(may_fail, groups) if groups else chance_to_block(0),
        one_broken=chance_to_block(1),
        three_broken=chance_to_block(3),
        five_points=chance_to_block(Power(cases=number).five_percent),
    )


def _groups(cases: Counter[Chances], failing: int, broken: int, new_only: bool) -> list[Group]:
    """The cases by the chance to fail. Failing and broken ones are taken from the most common cases first.

    With ``new_only``, cases that fail on the base don't count.
    """
    groups: list[Group] = []
    for chances, count in cases.most_common():
        old = min(failing, count)
        new = min(broken, count - old)
        failing -= old
        broken -= new
        groups.append((count - old - new, chances.good))
        groups.append((new if new_only else old + new, chances.broken))
    return groups


def chance_of_more_than(most: int, groups: Iterable[Group]) -> float:
    """The exact chance that more than ``most`` of independent cases fail. Linear in the size of the largest group."""
    tables = [_table(count, chance) for count, chance in groups if count]
    if not tables:
        tables = [[1.0]]
    tables.sort(key=len)
    largest = tables.pop()
    others: Sequence[float] = [1.0]
    for table in tables:
        others = _convolve(others, table)

    # For each number of failures in the other groups, the largest group must have the missing ones, or more.
    at_least = list(accumulate(reversed(largest)))
    at_least.reverse()  # the chance of each number of failures or more
    chances = []
    for failures, chance in enumerate(others):
        missing = max(0, most + 1 - failures)
        if missing < len(at_least):
            chances.append(chance * at_least[missing])
    return min(1.0, math.fsum(chances))


def _table(count: int, chance: float) -> list[float]:
    """The chance of each number of failures among so many cases, without a tail of no weight."""
    if not 0 < chance < 1:
        return [0.0] * (count if chance else 0) + [1.0]
    return _trim(list(binomial_terms(range(count + 1), count, chance)))


def _convolve(one: Sequence[float], two: Sequence[float]) -> Sequence[float]:
    """The table of two groups together."""
    sums = [0.0] * (len(one) + len(two) - 1)
    for first, chance in enumerate(one):
        for second, further in enumerate(two):
            sums[first + second] += chance * further
    return _trim(sums)


def _trim(table: list[float]) -> list[float]:
    while table[-1] < _NEGLIGIBLE and len(table) > 1:
        table.pop()
    return table
