"""What earlier runs of a grade say: which of their votes count, and when asks of this run are a break. Pure.

The case that is as before and the broken case are two Beta-distributed shares of failing asks; the Bayes factor of the two is a
martingale under the first, so that J. Ville's inequality ("Etude critique de la notion de collectif", 1939) bounds wrong
failures whenever asking stops.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gradegate.values.history import LEAST, PastRun

MOST_VOTES = 60  # of the newest runs that count
MOST_ASKS = 20  # of a grade with a history
MOST_RUNS = 200  # of one grade that a file keeps
DOUBT = 0.5  # the factor at which a PASS overturns
_ODDS = 200  # by so many, times the grades that may be asked again, a break must be likelier
_WEIGHT, _BROKEN = 5.0, 20.0  # votes that the two shares are worth before any vote is seen
_FLAKY = 20  # a grade is flaky unless fewer than one in so many of its votes fail, or pass


class Counted(NamedTuple):
    """The votes of a history that count. ``failed``: the date of a counted failure after which an equal request passed."""

    fails: int = 0
    passes: int = 0
    failed: str = ""

    @property
    def used(self) -> bool:
        """Whether there are enough to decide by."""
        return self.fails + self.passes >= LEAST

    @property
    def flaky(self) -> bool:
        """Whether a share of 5 to 95 % of them fails."""
        return self.used and _FLAKY * min(self.fails, self.passes) >= self.fails + self.passes


def count(runs: Iterable[PastRun], model: str) -> Counted:
    """The votes that count beside a first vote of that model: of the newest runs by it, from before the case broke."""
    own = [run for run in runs if run.model == model]
    end = _tail(own)
    counted = own[_first(own[:end]) : end]
    passed: set[str] = set()  # requests of later runs
    failed = ""
    for run in reversed(counted):
        failed = run.at if not failed and run.outcome == "fail" and run.request in passed else failed
        passed |= {run.request} if run.outcome == "pass" else set()
    return Counted(sum(run.votes.count("F") for run in counted), sum(run.votes.count("P") for run in counted), failed)


def cut(runs: Sequence[PastRun]) -> tuple[PastRun, ...]:
    """The newest runs that a later count may read, whichever of the models is asked then."""
    kept: list[int] = []
    for model in {run.model for run in runs}:
        own = [place for place, run in enumerate(runs) if run.model == model]
        of_model = [runs[place] for place in own]
        kept += own[_first(of_model[: _tail(of_model)]) :]
    return tuple(runs[place] for place in sorted(kept)[-MOST_RUNS:])


def _first(runs: Sequence[PastRun]) -> int:
    """Where the newest whole runs begin that have no more votes than count."""
    votes, first = 0, len(runs)
    while first and (votes := votes + sum(vote != "E" for vote in runs[first - 1].votes)) <= MOST_VOTES:
        first -= 1
    return first


def _tail(runs: Sequence[PastRun]) -> int:
    """Where the longest tail begins that begins with a failure, and in which at least 3 of 4 runs fail."""
    failed, begins = 0, len(runs)
    for place in range(len(runs) - 1, -1, -1):
        run = runs[place]
        if run.outcome == "fail" or (run.outcome == "error" and run.votes.count("F") > run.votes.count("P")):
            failed += 1
            begins = place if 4 * failed >= 3 * (len(runs) - place) else begins
    return begins


# --- the test -------------------------------------------------------------------------------------------------


def mean_share(fails: int, passes: int, noise: float) -> float:
    """The mean share of failing asks of a case that is as before, by the votes of all used histories together."""
    return min(0.25, max(noise / 2, fails / (fails + passes) if fails + passes else 0.0))


@dataclass(frozen=True, slots=True)
class Prior:
    """A used history as the test takes it: ``mean`` by ``mean_share``; ``grades`` of the run may be asked again.

    ``failed`` is as ``Counted`` has it, empty where it decides nothing.
    """

    fails: int
    passes: int
    mean: float
    noise: float
    grades: int
    failed: str = ""
    flaky: bool = False

    @property
    def least(self) -> int:
        """The Bayes factor from which the case is broken."""
        return _ODDS * self.grades

    def factor(self, fails: int, passes: int) -> float:
        """How much likelier so many votes are if the case is broken than if it is as before; their order is all one."""
        before, broken = self._as_before(), self._as_broken()
        votes = [*((number, 0, 0) for number in range(fails)), *((fails, number, 1) for number in range(passes))]
        return math.prod(_chance(broken, *vote) / _chance(before, *vote) for vote in votes)

    def failing(self, fails: int, passes: int, *, broken: bool) -> float:
        """The chance that the ask after so many votes fails."""
        return _chance(self._as_broken() if broken else self._as_before(), fails, passes, 0)

    def _as_before(self) -> tuple[float, float]:
        return _WEIGHT * self.mean + self.fails, _WEIGHT * (1 - self.mean) + self.passes

    def _as_broken(self) -> tuple[float, float]:
        return _BROKEN * (1 - self.noise / 2), _BROKEN * self.noise / 2


def _chance(beta: tuple[float, float], fails: int, passes: int, side: int) -> float:
    """Of a FAIL (side 0) or a PASS (1) after so many of both."""
    return (beta[side] + (fails, passes)[side]) / (sum(beta) + fails + passes)


class Chances(NamedTuple):
    """How a grade with a history ends, and after how many asks on average."""

    passes: float = 0.0
    fails: float = 0.0
    errors: float = 0.0
    asks: float = 0.0


def factor_chances(prior: Prior, *, broken: bool) -> Chances:
    """Those of a case that is as before, or broken: the walk over votes, summed exactly."""
    first = prior.failing(0, 0, broken=broken)
    ends = {"pass": 1 - first, "fail": 0.0, "error": 0.0}
    asks, at = 1 - first, {(1, 0): first}
    for number in range(1, MOST_ASKS + 1):
        following: dict[tuple[int, int], float] = {}
        for (fails, passes), chance in at.items():
            if (end := ended(prior, fails, passes)) or number == MOST_ASKS:
                ends[end or "error"] += chance
                asks += number * chance
                continue
            fail = chance * prior.failing(fails, passes, broken=broken)
            following[fails + 1, passes] = following.get((fails + 1, passes), 0.0) + fail
            following[fails, passes + 1] = following.get((fails, passes + 1), 0.0) + chance - fail
        at = following
    return Chances(ends["pass"], ends["fail"], ends["error"], asks)


def ended(prior: Prior, fails: int, passes: int) -> str:
    """How so many votes end asking, "pass" or "fail"; empty where they do not."""
    factor = prior.factor(fails, passes)
    return "fail" if factor >= prior.least else "pass" if factor <= DOUBT and passes else ""
