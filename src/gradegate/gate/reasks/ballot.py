"""The asks of one grade, and the final grade that they make. Pure."""

from collections import Counter
from collections.abc import Sequence

from gradegate.core.numbers import exact_mean, format_count, format_percent
from gradegate.core.usage import NO_USAGE
from gradegate.gate.reasks.stopping import (
    MOST_ERRORS,
    WINS,
    BallotState,
    HistoryRule,
    LeadRule,
)
from gradegate.gate.statistics import binomial_tail
from gradegate.results.accounts import ReaskReport
from gradegate.results.grades import ERROR, Grade, Vote
from gradegate.structs import FrozenStruct, replace

_UNLIKELY = 0.01  # so rarely does a run overturn so many grades, if `noise` is right
_MIN_REASKED = 3  # re-asked grades: the replies to fewer may be alike by chance


class Ballot(FrozenStruct):
    """All asks of one grade, the first included, and the rule that says when they are enough."""

    asks: tuple[Grade, ...]
    rule: LeadRule | HistoryRule
    answers: tuple[
        str, ...
    ] = ()  # new answers of the target, one for each re-ask, if it is asked again


def ballot_state(ballot: Ballot) -> BallotState:
    """Whether the asks of a ballot are enough, and for what."""
    return ballot.rule.state(Counter(ask.outcome for ask in ballot.asks))


def final_grade(ballot: Ballot) -> Grade:
    """One grade of all asks, with their votes.

    If one side won, it is a grade of that side. While the ballot is open, it is the first grade. If asking is over and neither
    side won, it is an error. A known failure that is contradicted keeps its first grade, not confirmed.
    """
    state = ballot_state(ballot)
    first = replace(
        ballot.asks[0],
        votes=tuple(Vote(ask.outcome, ask.score, ask.reason) for ask in ballot.asks),
        usage=sum((ask.usage for ask in ballot.asks), NO_USAGE),
    )
    if state is BallotState.CONTRADICTORY and ballot.rule.keeps_failure:
        return replace(first, confirmed=False)

    winners = [ask for ask in ballot.asks if WINS.get(ask.outcome) is state]
    if winners:
        grade = _grade_of_winners(first, winners)
    elif state is BallotState.OPEN:
        grade = first
    else:
        grade = _grade_without_winner(first, ballot, state)
    if ballot.answers:
        grade = replace(grade, evidence={**grade.evidence, "answers": list(ballot.answers)})
    return grade


def _grade_of_winners(first: Grade, winners: Sequence[Grade]) -> Grade:
    """The last winner, with the mean score of all, so that a PASS never shows the score of a failure."""
    scores = [ask.score for ask in winners if ask.score is not None]
    last = winners[-1]
    return replace(
        last,
        score=float(exact_mean(scores)) if scores else None,
        unread=next((ask.unread for ask in winners if ask.unread), ""),
        usage=first.usage,
        votes=first.votes,
        confirmed=last.has_failed,
        model=first.model,
        inner=first.inner,
    )


def _grade_without_winner(first: Grade, ballot: Ballot, state: BallotState) -> Grade:
    """An ERROR, with what the user can do about it."""
    if state is BallotState.UNANSWERABLE:
        last_error = [ask.reason for ask in ballot.asks if ask.has_error][-1]
        reason = f"failed, and re-asking gave errors: {last_error}"
    else:
        counts = f"{first.failing_votes} of {len(first.votes)} asks failed"
        reason = ballot.rule.reason_for_doubt(state, counts)
    refused = next((ask for ask in ballot.asks if ask.setup), first)
    grade = replace(first, confirmed=False, setup=refused.setup, refused_by=refused.refused_by)
    return undecided_grade(grade, reason)


def undecided_grade(grade: Grade, why: str, undone: bool = False) -> Grade:
    """The grade as an ERROR without a verdict; ``undone``: a budget or a signal left it before its end."""
    return replace(
        grade,
        outcome=ERROR,
        score=None,
        reason=why,
        unread="",
        unheard=False,
        undone=undone or grade.undone,
    )


def is_contradicted(grade: Grade) -> bool:
    """Whether the asks of a grade favor neither side."""
    errors = sum(vote.has_error for vote in grade.votes)
    return grade.has_error and bool(grade.votes) and errors <= MOST_ERRORS and not grade.undone


def reask_remarks(report: ReaskReport, reasked: Sequence[Grade], is_bounded: bool) -> list[str]:
    """What a user should know about the re-asks: sentences. ``is_bounded``: wrong blocks stay below 1 %."""
    sentences = []
    if report.grades and not is_bounded:
        sentences.append(
            f"re-asking {format_count(report.grades, 'grade')} up to a lead of {report.lead} does not keep wrong blocks below 1 %. "
            f"Lower `noise` (now {report.noise:g}), or grade fewer cases."
        )
    if is_noisier(report.overturned, report.grades, report.noise):
        sentences.append(
            f"the grader changed its mind on {report.overturned:,} of {format_count(report.grades, 'grade')}, more than `noise` allows "
            f"({format_percent(report.noise)}). Measure the noise with `gradegate calibrate`."
        )
    if len(reasked) >= _MIN_REASKED and all(len(set(grade.votes)) == 1 for grade in reasked):
        sentences.append(
            "every re-ask returned the same reply, so re-asking confirms nothing. Use a temperature above 0."
        )
    return sentences


def is_noisier(overturned: int, grades: int, noise: float) -> bool:
    """Whether so many overturned grades are too many for a grader with that noise."""
    return overturned > 0 and binomial_tail(overturned, grades, noise) < _UNLIKELY
