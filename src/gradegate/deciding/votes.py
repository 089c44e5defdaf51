"""What asks of one grade come to: Wald's sequential test, from their outcomes alone. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gradegate.values.conversation import NO_USAGE
from gradegate.values.limits import mean
from gradegate.values.result import Grade, Outcome, Vote

CONTRADICTION = "the grader contradicts itself"
MOST_ERRORS = 1  # asks without a verdict; with another one, the grade cannot be asked again


class Standing(enum.Enum):
    """Where a grade stands after some asks."""

    OPEN = "open"  # to be asked again
    PASS = "pass"
    FAIL = "fail"  # confirmed
    CONTRADICTORY = "contradictory"  # neither side leads after the most asks
    UNASKABLE = "unaskable"  # too many asks gave no verdict


def standing(outcomes: Iterable[Outcome], lead: int) -> Standing:
    """Failures have to lead by ``lead`` votes, passes by one, within 3 * ``lead`` asks. A first ERROR stays one.

    What else is asked until one side leads, is judged by the same rule: let FAIL stand for the side that has to lead by more.
    """
    ahead = asks = errors = 0
    for outcome in outcomes:
        asks += 1
        errors += outcome is Outcome.ERROR
        ahead += (outcome is Outcome.FAIL) - (outcome is Outcome.PASS)
    if ahead >= lead:
        return Standing.FAIL
    if ahead < 0:
        return Standing.PASS
    if errors > MOST_ERRORS or errors == asks:
        return Standing.UNASKABLE
    return Standing.CONTRADICTORY if asks >= 3 * lead else Standing.OPEN


def concluded(asks: Sequence[Grade], models: Sequence[str], lead: int) -> Grade:
    """One grade of all ``asks`` of it, the first one included; ``models`` are those that were asked.

    The score is the mean of the votes that won, so that a PASS never shows the score of a failure; the reason is the last
    winner's. As long as neither side won, it is the first grade with its votes.
    """
    where = standing((ask.outcome for ask in asks), lead)
    votes = tuple(Vote(ask.outcome, ask.score, ask.reason, model) for ask, model in zip(asks, models, strict=True))
    usage = sum((ask.usage for ask in asks), NO_USAGE)
    if where is Standing.OPEN:
        return replace(asks[0], votes=votes, usage=usage)
    if where in (Standing.PASS, Standing.FAIL):
        won = [ask for ask in asks if ask.outcome.value == where.value]
        scores = [ask.score for ask in won if ask.score is not None]
        score = float(mean(scores)) if scores else None
        unread = next((ask.unread for ask in won if ask.unread), "")
        return replace(won[-1], score=score, unread=unread, usage=usage, votes=votes, confirmed=where is Standing.FAIL)
    reason = _contradiction(votes) if where is Standing.CONTRADICTORY else _unaskable(asks)
    setup = any(ask.setup for ask in asks)
    return undecided(replace(asks[0], usage=usage, votes=votes, confirmed=False, setup=setup), reason)


def undecided(grade: Grade, why: str) -> Grade:
    """The grade as an ERROR: what it came to cannot be told."""
    return replace(grade, outcome=Outcome.ERROR, score=None, reason=why, unread="")


def undone(grade: Grade, why: str) -> Grade:
    """The same of a grade that a budget or a signal left before its end."""
    return replace(undecided(grade, why), undone=True, unheard=False)


def began_as_failure(grade: Grade) -> bool:
    """Whether an ERROR was a FAIL when it was asked first."""
    return grade.outcome is Outcome.ERROR and any(vote.outcome is Outcome.FAIL for vote in grade.votes)


def is_contradicted(grade: Grade) -> bool:
    """Whether the asks of a grade lead to neither side."""
    return grade.outcome is Outcome.ERROR and grade.reason.startswith(f"{CONTRADICTION}: ")


def fails(votes: Iterable[Vote]) -> int:
    """How many votes failed."""
    return sum(vote.outcome is Outcome.FAIL for vote in votes)


def _contradiction(votes: Sequence[Vote]) -> str:
    failing = fails(votes)
    return f"{CONTRADICTION}: {failing} of {len(votes)} asks {'fails' if failing == 1 else 'fail'}"


def _unaskable(asks: Sequence[Grade]) -> str:
    last = next(ask.reason for ask in reversed(asks) if ask.outcome is Outcome.ERROR)
    return f"failed, and could not be asked again: {last}"
