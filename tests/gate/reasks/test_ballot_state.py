"""The state of a ballot, against a copy of the rule that ballots replaced: each sequence of up to 7 votes, and random histories."""

import itertools
import math
import random

from gradegate.gate.reasks.ballot import Ballot, ballot_state
from gradegate.gate.reasks.stopping import HistoryRule, LeadRule
from gradegate.results.grades import Grade, GradedAssertion, Outcome
from gradegate.structs import replace

PASS, FAIL, ERROR = Outcome
ASKS = {sign: Grade(GradedAssertion("llm-rubric"), outcome) for sign, outcome in zip("PFE", Outcome, strict=True)}
TURNED = str.maketrans("PF", "FP")
HISTORIES = 3_000


def old_state(votes, lead, prior=None):
    """Where the votes stood, by the old rule: failures lead by so many votes, passes by one, or the history decides."""
    passes, fails, errors = (votes.count(sign) for sign in "PFE")
    if prior is not None and fails:
        if errors > 1:
            return "unanswerable"
        state = old_history_state(prior, fails, passes, errors)
        return "returning" if state == "failed" and prior.returned else state
    if fails - passes >= lead:
        return "failed"
    if passes > fails:
        return "passed"
    if errors > 1 or errors == len(votes):
        return "unanswerable"
    return "contradictory" if len(votes) >= 3 * lead else "open"


def old_history_state(prior, fails, passes, errors):
    factor = old_factor(prior, fails, passes)
    if factor >= 200 * prior.grades:
        return "failed"
    all_fails = prior.fails + fails
    every = prior.passes + passes + all_fails
    last = fails + passes + errors >= 20
    if factor <= 0.5 and passes and (passes > fails or 3 * all_fails < every or (last and 5 * all_fails < 3 * every)):
        return "passed"
    return "contradictory" if last else "open"


def old_factor(prior, fails, passes):
    broken = (20 * (1 - prior.noise / 2), 20 * prior.noise / 2)
    before = (5 * prior.mean + prior.fails, 5 * (1 - prior.mean) + prior.passes)
    chances = [1.0, 1.0]
    for place, (failing, passing) in enumerate((broken, before)):
        for number in range(fails):
            chances[place] *= (failing + number) / (failing + passing + number)
        for number in range(passes):
            chances[place] *= (passing + number) / (failing + passing + fails + number)
    return chances[0] / chances[1] if chances[1] else math.inf


def new_state(votes, rule):
    return ballot_state(Ballot(tuple(ASKS[sign] for sign in votes), rule)).value


def sequences(most):
    for length in range(1, most + 1):
        yield from map("".join, itertools.product("PFE", repeat=length))


def test_the_state_of_each_sequence_of_seven_votes_is_the_old_one():
    turned = {"passed": "failed", "failed": "passed"}
    for votes in sequences(7):
        for lead in range(2, 9):
            state = old_state(votes, lead)
            for keeps_failure in (False, True):
                assert new_state(votes, LeadRule(lead, keeps_failure=keeps_failure)) == state, (votes, lead)
            assert new_state(votes.translate(TURNED), LeadRule(lead, side=PASS)) == turned.get(state, state), (votes, lead)


def test_the_state_with_each_of_many_random_histories_is_the_old_one():
    draw = random.Random(1)
    states = set()
    for _ in range(HISTORIES):
        noise = draw.choice([0.01, 0.02, 0.05, 0.1, 0.25])
        fails = min(draw.randrange(61), draw.randrange(61))
        prior = HistoryRule(fails, draw.randrange(10, 61), draw.uniform(noise / 2, 0.25), noise, draw.choice([1, 3, 20, 100, 1000]))
        prior = replace(prior, returned=draw.choice(["", "2026-11-03"]))
        rate = draw.random()
        votes = "F"
        while (state := old_state(votes, 5, prior)) == "open":
            assert new_state(votes, prior) == "open", (votes, prior)
            votes += "E" if draw.random() < 0.03 else "F" if draw.random() < rate else "P"
        assert new_state(votes, prior) == state, (votes, prior)
        states.add(state)
    assert states == {"passed", "failed", "contradictory", "returning", "unanswerable"}


def test_the_state_of_each_sequence_with_a_history_is_the_old_one():
    priors = [HistoryRule(2, 58, 0.05, 0.1, 1), HistoryRule(20, 20, 0.25, 0.1, 3), HistoryRule(2, 58, 0.05, 0.1, 1, "2026-11-03")]
    for votes in sequences(7):
        for prior in priors:
            assert new_state(votes, prior) == old_state(votes, 5, prior), (votes, prior)
