"""The result of several asks of one grade: Wald's sequential test over their outcomes and their models. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gradegate.deciding.chances import Lead, tail
from gradegate.deciding.history import MOST_ASKS, Prior, ended
from gradegate.values.account import ConfirmReport
from gradegate.values.conversation import NO_USAGE
from gradegate.values.figures import many, percent
from gradegate.values.limits import mean
from gradegate.values.result import Grade, Outcome, Vote

CONTRADICTION = "the grader contradicts itself"
DISAGREEMENT = "the graders disagree"
DOUBT = "the re-asks cannot tell a broken case from a flaky one"
RETURN = "the failure comes and goes"
_LIKELY = 0.01  # with a noise that is true, more are overturned in one run of a hundred
_FEW = 3  # grades asked again, that may be alike by chance
MOST_ERRORS = 1  # asks without a verdict; with another one, the grade cannot be asked again


class Standing(enum.Enum):
    """Where a grade stands after some asks."""

    OPEN = "open"  # to be asked again
    PASS = "pass"
    FAIL = "fail"  # confirmed
    CONTRADICTORY = "contradictory"  # neither side leads after the most asks
    DISPUTED = "disputed"  # one grader always fails it, another one always passes it
    UNASKABLE = "unaskable"  # too many asks gave no verdict
    RETURNING = "returning"  # confirmed, and it was there before and went without a change


def turn(number: int, opinions: int) -> int:
    """Who grades the ``number``-th ask, from 0: 0 is the first grader, and the others are second opinions, by their number."""
    return (1, 0, *range(2, opinions + 1))[(number - 1) % (opinions + 1)] if number and opinions else 0


def standing(outcomes: Sequence[Outcome], lead: Lead, opinions: int = 0, prior: Prior | None = None) -> Standing:
    """Failures have to lead by ``lead`` votes, passes by one, within 3 * ``lead`` asks. A first ERROR stays one.

    With a ``prior`` the votes of earlier runs decide which votes are enough.

    With second ``opinions`` passes overturn nothing as long as the first grader gave none of them, and of two graders that
    are each sure of another outcome neither counts for more. What else is asked until one side leads, is judged by the same
    rule: let FAIL stand for the side that has to lead by more.
    """
    fails, passes, errors = (outcomes.count(it) for it in (Outcome.FAIL, Outcome.PASS, Outcome.ERROR))
    if prior is not None:
        return _posterior(prior, fails, passes, errors)
    if len(_sure(outcomes, lead, opinions)) > 1:
        return Standing.DISPUTED
    if fails - passes >= lead.votes:
        return Standing.FAIL
    if passes > fails and any(it is Outcome.PASS and not turn(n, opinions) for n, it in enumerate(outcomes)):
        return Standing.PASS
    if errors > MOST_ERRORS or errors == len(outcomes):
        return Standing.UNASKABLE
    return Standing.CONTRADICTORY if len(outcomes) >= 3 * lead.votes else Standing.OPEN


def _posterior(prior: Prior, fails: int, passes: int, errors: int) -> Standing:
    end = ended(prior, fails, passes) if fails else "pass" * bool(passes)
    if end == "fail":
        return Standing.RETURNING if prior.failed else Standing.FAIL
    if end:
        return Standing.PASS
    asks = fails + passes + errors
    if errors > MOST_ERRORS or errors == asks:
        return Standing.UNASKABLE
    return Standing.CONTRADICTORY if asks >= MOST_ASKS else Standing.OPEN


def _sure(outcomes: Sequence[Outcome], lead: Lead, opinions: int) -> dict[Outcome, list[int]]:
    """The numbers of the asks of a grader that always says PASS, and of one that always says FAIL, often enough."""
    sure: dict[Outcome, list[int]] = {}
    for grader in range(opinions + 1):
        asks = [n for n, it in enumerate(outcomes) if turn(n, opinions) == grader and it is not Outcome.ERROR]
        if len(asks) >= lead.sure and len({outcomes[n] for n in asks}) == 1:
            sure.setdefault(outcomes[asks[0]], asks)
    return sure


def concluded(asks: Sequence[Grade], models: Sequence[str], lead: Lead, opinions: int = 0, prior: Prior | None = None) -> Grade:
    """One grade of all ``asks`` of it, the first one included; ``models`` are those that were asked, ``opinions`` of them others.

    The score is the mean of the votes that won, so that a PASS never shows the score of a failure; the reason is the last
    winner's. As long as neither side won, it is the first grade with its votes.
    """
    outcomes = [ask.outcome for ask in asks]
    where = standing(outcomes, lead, opinions, prior)
    votes = tuple(Vote(ask.outcome, ask.score, ask.reason, model) for ask, model in zip(asks, models, strict=True))
    usage = sum((ask.usage for ask in asks), NO_USAGE)
    if where is Standing.OPEN:
        return replace(asks[0], votes=votes, usage=usage)
    if where in (Standing.PASS, Standing.FAIL):
        won = [ask for ask in asks if ask.outcome.value == where.value]
        scores = [ask.score for ask in won if ask.score is not None]
        score = float(mean(scores)) if scores else None
        unread = next((ask.unread for ask in won if ask.unread), "")
        told = replace(won[-1], score=score, unread=unread, usage=usage, votes=votes, confirmed=where is Standing.FAIL)
        return replace(told, model=asks[0].model)
    if where is Standing.DISPUTED:
        sure = _sure(outcomes, lead, opinions)
        no, yes = sure[Outcome.FAIL], sure[Outcome.PASS]
        reason = f"{DISAGREEMENT}: {models[no[0]]} failed {len(no)} of {len(no)} asks, {models[yes[0]]} passed {len(yes)} of {len(yes)}"
    elif where is Standing.RETURNING and prior:
        reason = f"{RETURN}: it failed here, and also on {prior.failed} without a change"
    elif where is Standing.CONTRADICTORY:
        failing = fails(votes)
        before = f", and {prior.fails} of {prior.fails + prior.passes} before" if prior else ""
        what = DOUBT if prior else CONTRADICTION
        reason = f"{what}: {failing} of {len(votes)} asks failed{before}"
    else:
        last = next(ask.reason for ask in reversed(asks) if ask.outcome is Outcome.ERROR)
        reason = f"failed, and re-asking gave errors: {last}"
    setup = any(ask.setup for ask in asks)
    return undecided(replace(asks[0], usage=usage, votes=votes, confirmed=False, setup=setup), reason)


def undecided(grade: Grade, why: str) -> Grade:
    """The grade as an ERROR without a verdict."""
    return replace(grade, outcome=Outcome.ERROR, score=None, reason=why, unread="", unheard=False)


def undone(grade: Grade, why: str) -> Grade:
    """The same of a grade that a budget or a signal left before its end."""
    return replace(undecided(grade, why), undone=True)


def is_contradicted(grade: Grade) -> bool:
    """Whether the asks of a grade lead to neither side, or graders are sure of both."""
    errors = sum(vote.outcome is Outcome.ERROR for vote in grade.votes)
    return grade.outcome is Outcome.ERROR and bool(grade.votes) and errors <= MOST_ERRORS and not grade.undone


def fails(votes: Iterable[Vote]) -> int:
    """How many votes failed."""
    return sum(vote.outcome is Outcome.FAIL for vote in votes)


# --- what the re-asks found, checked against their assumptions ----------------------------------------------------


def doubts(report: ConfirmReport, asked: Sequence[Grade], held: bool) -> list[str]:
    """What a user should know: sentences. ``asked`` are the grades that were asked again; ``held``: 1 % is."""
    said = []
    if report.grades and not held:
        said.append(
            f"re-asking {many(report.grades, 'grade')} up to a lead of {report.lead} does not keep wrong blocks below 1 %. "
            f"Lower `noise` (now {report.noise:g}), or grade fewer cases."
        )
    if noisier(report.overturned, report.grades, report.noise):
        said.append(
            f"the grader changed its mind on {report.overturned:,} of {many(report.grades, 'grade')}, more than `noise` allows "
            f"({percent(report.noise)}). Measure the noise with `gradegate calibrate`."
        )
    if len(asked) >= _FEW and all(len({(vote.outcome, vote.score, vote.reason) for vote in grade.votes}) == 1 for grade in asked):
        said.append(
            "every re-ask returned the same reply, so re-asking confirms nothing. Use a temperature above 0, or set `second-opinions`."
        )
    return said


def noisier(overturned: int, grades: int, noise: float) -> bool:
    """Whether so many overturned grades are too many for a grader with that noise."""
    return overturned > 0 and tail(overturned, grades, noise) < _LIKELY
