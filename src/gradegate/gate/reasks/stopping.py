"""When the votes on a grade are enough. Pure.

Without a history, Wald's sequential test over outcomes decides. With one, a case that is as before and a broken case are
two Beta-distributed shares of failing asks. Their Bayes factor is a martingale if the case is as before, so that Ville's inequality
("Etude critique de la notion de collectif", 1939) bounds wrong failures whenever asking stops.
"""

import enum
import math
from collections.abc import Sequence
from typing import NamedTuple

from gradegate.gate.statistics import Lead
from gradegate.results.grades import Outcome
from gradegate.structs import FrozenStruct

CONTRADICTION = "the grader contradicts itself"
DOUBT = "the re-asks cannot tell a broken case from a flaky one"
RETURN = "the failure comes and goes"
MOST_ERRORS = 1  # asks without a verdict; with another one, the grade cannot be asked again

MOST_ASKS = 20  # of a grade with a history

OVERTURNS = 0.5  # the factor at which a PASS overturns
_ODDS = 200  # by so many, times the grades that may be asked again, a break must be likelier
_WEIGHT, _BROKEN = 5.0, 20.0  # votes that the two shares are worth before any vote is seen


def mean_share(fails: int, passes: int, noise: float) -> float:
    """The mean share of failing asks of a case that is as before, by the votes of all used histories together."""
    return min(0.25, max(noise / 2, fails / (fails + passes) if fails + passes else 0.0))


class Prior(FrozenStruct):
    """A used history as the test takes it."""

    fails: int
    passes: int
    mean: float  # by ``mean_share``
    noise: float
    grades: int  # of the run that may be asked again
    failed: str = ""  # when it failed and went away, in words; empty where that decides nothing
    flaky: bool = False

    def factor(self, fails: int, passes: int) -> float:
        """How much likelier so many votes are if the case is broken than if it is as before; their order is all one."""
        before, broken = self._beta(broken=False), self._beta(broken=True)
        votes = [
            *((number, 0, 0) for number in range(fails)),
            *((fails, number, 1) for number in range(passes)),
        ]
        return math.prod(_chance(broken, *vote) / _chance(before, *vote) for vote in votes)

    def failing(self, fails: int, passes: int, *, broken: bool) -> float:
        """The chance that the ask after so many votes fails."""
        return _chance(self._beta(broken=broken), fails, passes, 0)

    def _beta(self, *, broken: bool) -> tuple[float, float]:
        if broken:
            return _BROKEN * (1 - self.noise / 2), _BROKEN * self.noise / 2
        return _WEIGHT * self.mean + self.fails, _WEIGHT * (1 - self.mean) + self.passes


def _chance(beta: tuple[float, float], fails: int, passes: int, side: int) -> float:
    """Of a FAIL (side 0) or a PASS (1) after so many of both."""
    return (beta[side] + (fails, passes)[side]) / (sum(beta) + fails + passes)


class Standing(enum.Enum):
    """Where a grade stands after some asks."""

    OPEN = "open"  # to be asked again
    PASS = "pass"
    FAIL = "fail"  # confirmed
    CONTRADICTORY = "contradictory"  # neither side leads after the most asks
    UNASKABLE = "unaskable"  # too many asks gave no verdict
    RETURNING = "returning"  # confirmed, and it was there before and went away


class Chances(NamedTuple):
    """How a grade with a history ends, and after how many asks on average."""

    passes: float = 0.0
    fails: float = 0.0
    errors: float = 0.0
    asks: float = 0.0


def factor_chances(prior: Prior, *, broken: bool) -> Chances:
    """Those of a case that is as before, or broken: the walk over votes, summed exactly."""
    first = prior.failing(0, 0, broken=broken)
    ends = dict.fromkeys(Standing, 0.0) | {Standing.PASS: 1 - first}
    asks, at, number = 1 - first, {(1, 0): first}, 1
    while at:
        following: dict[tuple[int, int], float] = {}
        for (fails, passes), chance in at.items():
            end = ended(prior, fails, passes)
            if end is not Standing.OPEN:
                ends[end] += chance
                asks += number * chance
                continue
            fail = chance * prior.failing(fails, passes, broken=broken)
            following[fails + 1, passes] = following.get((fails + 1, passes), 0.0) + fail
            following[fails, passes + 1] = following.get((fails, passes + 1), 0.0) + chance - fail
        at, number = following, number + 1
    return Chances(ends[Standing.PASS], ends[Standing.FAIL], ends[Standing.CONTRADICTORY], asks)


def ended(prior: Prior, fails: int, passes: int, errors: int = 0) -> Standing:
    """Where a grade with a history stands after so many asks, the first of which failed."""
    factor = prior.factor(fails, passes)
    if factor >= _ODDS * prior.grades:
        return Standing.FAIL
    all_fails = prior.fails + fails
    every = prior.passes + passes + all_fails
    is_last = fails + passes + errors >= MOST_ASKS
    # A case that fails more and more is not as before: its history excuses no failure that most votes confirm.
    excused = passes > fails or 3 * all_fails < every or (is_last and 5 * all_fails < 3 * every)
    if factor <= OVERTURNS and passes and excused:
        return Standing.PASS
    return Standing.CONTRADICTORY if is_last else Standing.OPEN


def standing(outcomes: Sequence[Outcome], lead: Lead, prior: Prior | None = None) -> Standing:
    """Failures have to lead by ``lead`` votes, passes by one, within 3 * ``lead`` asks; with a ``prior`` by those of earlier runs.

    A first ERROR stays one. What else is asked until one side leads, is judged by the same rule: let FAIL stand for the side that
    has to lead by more.
    """
    passes, fails, errors = map(outcomes.count, Outcome)
    if prior is not None and fails:
        if errors > MOST_ERRORS:
            return Standing.UNASKABLE
        end = ended(prior, fails, passes, errors)
        return Standing.RETURNING if end is Standing.FAIL and prior.failed else end
    if fails - passes >= lead.votes:
        return Standing.FAIL
    if passes > fails:
        return Standing.PASS
    if errors > MOST_ERRORS or errors == len(outcomes):
        return Standing.UNASKABLE
    return Standing.CONTRADICTORY if len(outcomes) >= 3 * lead.votes else Standing.OPEN
