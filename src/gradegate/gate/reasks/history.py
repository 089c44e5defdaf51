"""Counts the votes of earlier runs on a grade, and says what they mean for its case. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gradegate.results.history import MIN_VOTES, PastRun
from gradegate.structs import FrozenStruct

MOST_VOTES = 60  # of the newest runs that count
MOST_RUNS = 200  # of one grade that a file keeps
_FLAKY = 20  # a grade is flaky unless fewer than one in so many of its votes fail
_BROKEN_RUNS = 3  # failing runs, from which a broken tail is no accident
_MIN_TEMPORARY_FAILURES = 2  # from which a case comes and goes


class Votes(NamedTuple):
    """FAIL and PASS votes of some runs."""

    fails: int = 0
    passes: int = 0


class VoteCount(FrozenStruct):
    """The votes of a history that count, and what the history says of the case."""

    votes: Votes = Votes()
    broken: Votes | None = None  # the votes that show that it is broken on the default branch
    returned: tuple[str, ...] = ()  # if the case comes and goes: the days of its temporary failures

    @property
    def is_used(self) -> bool:
        """Whether there are enough to decide by, and the case was not broken before."""
        return self.broken is None and sum(self.votes) >= MIN_VOTES

    @property
    def is_flaky(self) -> bool:
        """Whether at least 5 % of them fail."""
        return self.is_used and _FLAKY * self.votes.fails >= sum(self.votes)


def count_votes(runs: Iterable[PastRun], model: str) -> VoteCount:
    """The votes that count when this model gave the first vote: of its newest runs from before the case broke."""
    of_model = [run for run in runs if run.model == model]
    span = _counted_span(of_model)
    counted = [run for run in of_model[span] if _has_votes(run)]
    votes = _votes(counted)
    failing = sum(map(_fails, counted))

    broken = None
    tail = of_model[span.stop :]
    tail_votes = _votes(tail)
    if sum(tail_votes) >= MIN_VOTES and sum(map(_fails, tail)) >= _BROKEN_RUNS:
        broken = tail_votes
    # By runs as well as by votes, because all asks of one bad answer fail together.
    elif (
        sum(votes) >= MIN_VOTES
        and 5 * votes.fails >= 3 * sum(votes)
        and 2 * failing >= len(counted)
    ):
        broken = votes

    returned = _temporary_failure_days(counted)
    if len(returned) < _MIN_TEMPORARY_FAILURES or 10 * failing < len(counted):
        returned = ()
    return VoteCount(votes, broken, returned)


def trim_runs(runs: Sequence[PastRun]) -> tuple[PastRun, ...]:
    """The newest runs that a later count may read, whichever of the models is asked then."""
    kept: list[int] = []
    for model in {run.model for run in runs}:
        positions = [position for position, run in enumerate(runs) if run.model == model]
        span = _counted_span([runs[position] for position in positions])
        kept += positions[span.start :]
    return tuple(runs[position] for position in sorted(kept)[-MOST_RUNS:])


def _temporary_failure_days(runs: Iterable[PastRun]) -> tuple[str, ...]:
    """The days of failures that went away: a later run with the same request did not fail. ``runs`` are oldest first.

    Failing runs in a row are one failure, with the day of the last one.
    """
    last_failing_day: dict[str, str] = {}  # of a failure that has not gone away, by the request
    days = []
    for run in runs:
        if _fails(run):
            last_failing_day[run.request] = run.at
        elif run.request in last_failing_day:
            days.append(last_failing_day.pop(run.request))
    return tuple(days)


def _counted_span(runs: Sequence[PastRun]) -> slice:
    """The newest whole runs that count: at most 60 votes, from before the longest tail that is broken.

    That tail begins with a failing run, and at least 3 of 4 of its runs with votes fail.
    """
    failing = 0
    voting = 0
    end = len(runs)
    for position, run in reversed([*enumerate(runs)]):
        voting += _has_votes(run)
        if _fails(run):
            failing += 1
            if 4 * failing >= 3 * voting:
                end = position

    votes = 0
    first = end
    while first:
        votes += sum(_votes([runs[first - 1]]))
        if votes > MOST_VOTES:
            break
        first -= 1
    return slice(first, end)


def _votes(runs: Sequence[PastRun]) -> Votes:
    text = "".join(run.votes for run in runs)
    return Votes(text.count("F"), text.count("P"))


def _has_votes(run: PastRun) -> bool:
    return sum(_votes([run])) > 0


def _fails(run: PastRun) -> bool:
    """Whether more of its votes fail than pass."""
    return run.votes.count("F") > run.votes.count("P")
