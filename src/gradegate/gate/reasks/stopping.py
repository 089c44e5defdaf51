"""The rules that say when the votes on a grade are enough. Pure.

Without a history, Wald's sequential test over outcomes decides. With one, a case that is as before and a broken case are
two Beta-distributed shares of failing asks. Their Bayes factor is a martingale if the case is as before, so that Ville's inequality
("Etude critique de la notion de collectif", 1939) bounds wrong failures whenever asking stops.
"""

import enum
from collections import Counter, defaultdict
from typing import ClassVar, NamedTuple

from gradegate.results.grades import ERROR, FAIL, PASS, Outcome
from gradegate.structs import FrozenStruct

CONTRADICTION = "the grader contradicts itself"
DOUBT = "the re-asks cannot tell a broken case from a flaky one"
RETURN = "the failure comes and goes"

MOST_ERRORS = 1  # asks without a verdict; with another one, the grade cannot be re-asked
MOST_ASKS = 20  # of a grade with a history

_OVERTURNS = 0.5  # up to this factor, passes overturn the failure
_ODDS = 200  # times the grades that may be re-asked: from this factor on, the case is broken
# How many votes the two shares are worth before any vote is seen.
_WEIGHT_AS_BEFORE = 5.0
_WEIGHT_BROKEN = 20.0


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
    mean: float  # the mean share of failing asks, by ``mean_share``
    noise: float
    grades: int  # how many grades of the run may be re-asked
    # The days on which it failed and passed again, in words. Empty if that decides nothing.
    returned: str = ""
    keeps_failure: ClassVar[bool] = False

    def state(self, votes: Counter[Outcome]) -> BallotState:
        """The state of a ballot with these votes."""
        fails = votes[FAIL]
        passes = votes[PASS]
        if not fails and passes:
            return BallotState.PASSED
        if not fails or votes[ERROR] > MOST_ERRORS:
            return BallotState.UNANSWERABLE

        # Do the votes show that the case is broken?
        factor = self.factor(fails, passes)
        if factor >= _ODDS * self.grades:
            return BallotState.RETURNING if self.returned else BallotState.FAILED

        # Do they show that it is as before?
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
        broken = Beta(_WEIGHT_BROKEN * (1 - self.noise / 2), _WEIGHT_BROKEN * self.noise / 2)
        as_before = self._as_before
        factor = 1.0
        for earlier in range(fails):
            factor *= broken.chance_of(FAIL, earlier, 0) / as_before.chance_of(FAIL, earlier, 0)
        for earlier in range(passes):
            chance = as_before.chance_of(PASS, fails, earlier)
            factor *= broken.chance_of(PASS, fails, earlier) / chance
        return factor

    def chance_to_fail(self, fails: int, passes: int) -> float:
        """The chance that the ask after these votes fails if the case is as before."""
        return self._as_before.chance_of(FAIL, fails, passes)

    @property
    def _as_before(self) -> "Beta":
        """The share of failing asks if the case is as before: what all histories have in common, and the votes on this grade."""
        return Beta(
            _WEIGHT_AS_BEFORE * self.mean + self.fails,
            _WEIGHT_AS_BEFORE * (1 - self.mean) + self.passes,
        )


class Beta(NamedTuple):
    """A Beta distribution over the share of failing asks, by its two parameters."""

    fails: float
    passes: float

    def chance_of(self, outcome: Outcome, fails: int, passes: int) -> float:
        """The chance of a FAIL or a PASS after these votes."""
        votes = self.fails + fails if outcome is FAIL else self.passes + passes
        return votes / (sum(self) + fails + passes)


def mean_share(fails: int, passes: int, noise: float) -> float:
    """The mean share of failing asks of a case that is as before, by the votes of all used histories together."""
    share = fails / (fails + passes) if fails + passes else 0.0
    return min(0.25, max(noise / 2, share))


def chance_of_failure(rule: HistoryRule) -> float:
    """The chance that a case which is as before fails in the end: a walk over all sequences of votes."""
    failed = 0.0
    chances = {(1, 0): rule.chance_to_fail(0, 0)}  # by the number of fails and passes
    for _ in range(MOST_ASKS):
        following = defaultdict[tuple[int, int], float](float)
        for (fails, passes), chance in chances.items():
            state = rule.state(Counter({FAIL: fails, PASS: passes}))
            if state is BallotState.OPEN:
                fail = chance * rule.chance_to_fail(fails, passes)
                following[fails + 1, passes] += fail
                following[fails, passes + 1] += chance - fail
            elif state in (BallotState.FAILED, BallotState.RETURNING):
                failed += chance
        chances = following
    return failed
