"""The result of several asks of one grade, and what was noticed while asking. Pure."""

from collections.abc import Sequence

from gradegate.core.numbers import many, mean, percent
from gradegate.core.usage import NO_USAGE
from gradegate.gate.reasks.stopping import (
    CONTRADICTION,
    DOUBT,
    MOST_ERRORS,
    RETURN,
    Prior,
    Standing,
    standing,
)
from gradegate.gate.statistics import Lead, tail
from gradegate.results.accounts import ReaskReport
from gradegate.results.grades import Grade, Outcome, Vote
from gradegate.structs import replace

_LIKELY = 0.01  # with a noise that is true, more are overturned in one run of a hundred
_FEW = 3  # grades asked again, that may be alike by chance


def concluded(asks: Sequence[Grade], lead: Lead, prior: Prior | None = None) -> Grade:
    """One grade of all ``asks`` of it, the first one included.

    The score is the mean of the votes that won, so that a PASS never shows the score of a failure; the reason is the last
    winner's. As long as neither side won, it is the first grade with its votes.
    """
    outcomes = [ask.outcome for ask in asks]
    where = standing(outcomes, lead, prior)
    votes = tuple(Vote(ask.outcome, ask.score, ask.reason) for ask in asks)
    usage = sum((ask.usage for ask in asks), NO_USAGE)
    if where is Standing.OPEN:
        return replace(asks[0], votes=votes, usage=usage)
    if where in (Standing.PASS, Standing.FAIL):
        won = [ask for ask in asks if ask.outcome.value == where.value]
        scores = [ask.score for ask in won if ask.score is not None]
        return replace(
            won[-1],
            score=float(mean(scores)) if scores else None,
            unread=next((ask.unread for ask in won if ask.unread), ""),
            usage=usage,
            votes=votes,
            confirmed=where is Standing.FAIL,
            model=asks[0].model,
        )
    if where is Standing.RETURNING and prior:
        reason = f"{RETURN}: it failed here, and also on {prior.failed}"
    elif where is Standing.CONTRADICTORY:
        before = f", and {prior.fails} of {prior.fails + prior.passes} before" if prior else ""
        reason = f"{DOUBT if prior else CONTRADICTION}: {outcomes.count(Outcome.FAIL)} of {len(votes)} asks failed{before}"
    else:
        last = next(ask.reason for ask in reversed(asks) if ask.has_error)
        reason = f"failed, and re-asking gave errors: {last}"
    refusal = next((ask for ask in asks if ask.setup), asks[0])
    return undecided(
        replace(
            asks[0],
            usage=usage,
            votes=votes,
            confirmed=False,
            setup=refusal.setup,
            refused_by=refusal.refused_by,
        ),
        reason,
    )


def undecided(grade: Grade, why: str, undone: bool = False) -> Grade:
    """The grade as an ERROR without a verdict; ``undone``: a budget or a signal left it before its end."""
    return replace(
        grade,
        outcome=Outcome.ERROR,
        score=None,
        reason=why,
        unread="",
        unheard=False,
        undone=undone or grade.undone,
    )


def is_contradicted(grade: Grade) -> bool:
    """Whether the asks of a grade lead to neither side."""
    errors = sum(vote.has_error for vote in grade.votes)
    return grade.has_error and bool(grade.votes) and errors <= MOST_ERRORS and not grade.undone


def doubts(report: ReaskReport, asked: Sequence[Grade], held: bool) -> list[str]:
    """What a user should know: sentences. ``asked`` are the grades that were asked again; ``held``: 1 % is."""
    doubts = []
    if report.grades and not held:
        doubts.append(
            f"re-asking {many(report.grades, 'grade')} up to a lead of {report.lead} does not keep wrong blocks below 1 %. "
            f"Lower `noise` (now {report.noise:g}), or grade fewer cases."
        )
    if noisier(report.overturned, report.grades, report.noise):
        doubts.append(
            f"the grader changed its mind on {report.overturned:,} of {many(report.grades, 'grade')}, more than `noise` allows "
            f"({percent(report.noise)}). Measure the noise with `gradegate calibrate`."
        )
    if len(asked) >= _FEW and all(
        len({(vote.outcome, vote.score, vote.reason) for vote in grade.votes}) == 1
        for grade in asked
    ):
        doubts.append(
            "every re-ask returned the same reply, so re-asking confirms nothing. Use a temperature above 0."
        )
    return doubts


def noisier(overturned: int, grades: int, noise: float) -> bool:
    """Whether so many overturned grades are too many for a grader with that noise."""
    return overturned > 0 and tail(overturned, grades, noise) < _LIKELY
