"""When the votes on a grade are enough. Pure.

Without a history, Wald's sequential test over outcomes decides. With one, a case that is as before and a broken case are
two Beta-distributed shares of failing asks. Their Bayes factor is a martingale if the case is as before, so that Ville's inequality
("Etude critique de la notion de collectif", 1939) bounds wrong failures whenever asking stops.
"""

import enum
from collections import Counter, defaultdict
from typing import ClassVar

from gradegate.results.grades import ERROR, FAIL, PASS, Outcome
from gradegate.structs import FrozenStruct

CONTRADICTION = "the grader contradicts itself"
DOUBT = "the re-asks cannot tell a broken case from a flaky one"
RETURN = "the failure comes and goes"

MOST_ERRORS = 1  # asks without a verdict; with another one, the grade cannot be re-asked
MOST_ASKS = 20  # of a grade with a history

_OVERTURNS = 0.5  # a factor from which on passes overturn the failure
_ODDS = 200  # by so many, times the grades that may be re-asked, a break must be likelier
_WEIGHT, _BROKEN = 5.0, 20.0  # votes that the two shares are worth before any vote is seen


class BallotState(enum.Enum):
    """Whether the asks of a grade are enough, and for what."""

    OPEN = "open"
    PASSED = "passed"
    FAILED = "failed"  # the failure is confirmed
    CONTRADICTORY = "contradictory"  # neither side won after the most asks
    RETURNING = "returning"  # the failure is confirmed, but it also came and went before
    UNANSWERABLE = "unanswerable"  # too many asks gave no verdict


WINS = {PASS: BallotState.PASSED, FAIL: BallotState.FAILED}


class LeadRule(FrozenStruct):
    """One side must lead by ``lead`` votes, the other side by one, within three times ``lead`` asks."""

    lead: int
    side: Outcome = FAIL  # PASS when the base's answer is graded again
    keeps_failure: bool = False  # a known failure stays one if neither side wins

    def state(self, votes: Counter[Outcome]) -> BallotState:
        """The state of a ballot with these votes."""
        other_side = PASS if self.side is FAIL else FAIL
        lead = votes[self.side] - votes[other_side]
        if lead >= self.lead:
            return WINS[self.side]
        if lead < 0:
            return WINS[other_side]
        if votes[ERROR] > MOST_ERRORS or votes[ERROR] == votes.total():
            return BallotState.UNANSWERABLE
        is_last = votes.total() >= 3 * self.lead
        return BallotState.CONTRADICTORY if is_last else BallotState.OPEN

    def reason_for_doubt(self, state: BallotState, counts: str) -> str:
        """Why neither side won. ``counts`` says how many asks failed."""
        return f"{CONTRADICTION}: {counts}"


class HistoryRule(FrozenStruct):
    """The votes of earlier runs decide together with those of this run, the first of which failed."""

    fails: int  # of earlier runs
    passes: int
    mean: float  # by ``mean_share``
    noise: float
    grades: int  # of the run that may be re-asked
    returned: str = (
        ""  # when it failed and passed again, in words; empty where that decides nothing
    )
    keeps_failure: ClassVar[bool] = False

    def state(self, votes: Counter[Outcome]) -> BallotState:
        """The state of a ballot with these votes."""
        fails, passes = votes[FAIL], votes[PASS]
        if not fails and passes:
            return BallotState.PASSED
        if not fails or votes[ERROR] > MOST_ERRORS:
            return BallotState.UNANSWERABLE
        factor = self.factor(fails, passes)
        if factor >= _ODDS * self.grades:
            return BallotState.RETURNING if self.returned else BallotState.FAILED
        is_last = votes.total() >= MOST_ASKS
        # A case that fails more and more is not as before: its history excuses no failure that most votes confirm.
        all_fails = self.fails + fails
        all_votes = all_fails + self.passes + passes
        fails_seldom = 3 * all_fails < all_votes or (is_last and 5 * all_fails < 3 * all_votes)
        if factor <= _OVERTURNS and passes and (passes > fails or fails_seldom):
            return BallotState.PASSED
        return BallotState.CONTRADICTORY if is_last else BallotState.OPEN

    def reason_for_doubt(self, state: BallotState, counts: str) -> str:
        """Why neither side won. ``counts`` says how many asks failed."""
        if state is BallotState.RETURNING:
            return f"{RETURN}: it failed here, and also on {self.returned}"
        return f"{DOUBT}: {counts}, and {self.fails} of {self.fails + self.passes} before"

    def factor(self, fails: int, passes: int) -> float:
        """How much likelier these votes are if the case is broken than if it is as before. Their order does not matter."""
        before = self._before
        broken = _BROKEN * (1 - self.noise / 2), _BROKEN * self.noise / 2
        factor = 1.0
        for number in range(fails):
            factor *= _chance(broken, number, 0, 0) / _chance(before, number, 0, 0)
        for number in range(passes):
            factor *= _chance(broken, fails, number, 1) / _chance(before, fails, number, 1)
        return factor

    def chance_to_fail(self, fails: int, passes: int) -> float:
        """The chance that the ask after these votes fails if the case is as before."""
        return _chance(self._before, fails, passes, 0)

    @property
    def _before(self) -> tuple[float, float]:
        return _WEIGHT * self.mean + self.fails, _WEIGHT * (1 - self.mean) + self.passes


def _chance(beta: tuple[float, float], fails: int, passes: int, side: int) -> float:
    """The chance of a FAIL (side 0) or a PASS (side 1) after these votes, by the parameters of a Beta distribution."""
    return (beta[side] + (fails, passes)[side]) / (sum(beta) + fails + passes)


def mean_share(fails: int, passes: int, noise: float) -> float:
    """The mean share of failing asks of a case that is as before, by the votes of all used histories together."""
    share = fails / (fails + passes) if fails + passes else 0.0
    return min(0.25, max(noise / 2, share))


def chance_of_failure(rule: HistoryRule) -> float:
    """The chance that a case which is as before fails in the end: the walk over votes, summed exactly."""
    failed = 0.0
    reached = {(1, 0): rule.chance_to_fail(0, 0)}  # chances of so many fails and passes
    for _ in range(MOST_ASKS):
        following = defaultdict[tuple[int, int], float](float)
        for (fails, passes), chance in reached.items():
            state = rule.state(Counter({FAIL: fails, PASS: passes}))
            if state is BallotState.OPEN:
                fail = chance * rule.chance_to_fail(fails, passes)
                following[fails + 1, passes] += fail
                following[fails, passes + 1] += chance - fail
            elif state in (BallotState.FAILED, BallotState.RETURNING):
                failed += chance
        reached = following
    return failed
