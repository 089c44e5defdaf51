"""Counts the votes of earlier runs on a grade, and says what they mean for its case. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gradegate.results.history import MIN_VOTES, PastRun
from gradegate.structs import FrozenStruct

MOST_VOTES = 60  # that count, from the newest runs
MOST_RUNS = 200  # that a file keeps of one grade
_FLAKY = 20  # a grade is flaky if at least one in so many of its votes fails
_BROKEN_RUNS = 3  # with fewer failing runs at the end, a case may fail by accident
_MIN_TEMPORARY_FAILURES = 2  # with so many, a case comes and goes


class Votes(NamedTuple):
    """FAIL and PASS votes of some runs."""

    fails: int = 0
    passes: int = 0


class VoteCount(FrozenStruct):
    """The votes of a history that count, and what the history says about the case."""

    votes: Votes = Votes()
    # The votes that show that the case is broken on the default branch. None: it is not.
    broken: Votes | None = None
    # The days of its temporary failures, if the case comes and goes
    returned: tuple[str, ...] = ()

    @property
    def is_used(self) -> bool:
        """Whether there are enough to decide by, and the case was not broken before."""
        return self.broken is None and sum(self.votes) >= MIN_VOTES

    @property
    def is_flaky(self) -> bool:
        """Whether at least 5 % of them fail."""
        return self.is_used and _FLAKY * self.votes.fails >= sum(self.votes)


def count_votes(runs: Iterable[PastRun], model: str) -> VoteCount:
    """Count the votes of earlier runs on a grade, for a run in which ``model`` gave the first vote.

    Only runs of that model count: the newest ones from before the case broke.
    """
    of_model = [run for run in runs if run.model == model]
    span = _counted_span(of_model)
    counted = [run for run in of_model[span] if _has_votes(run)]
    tail = of_model[span.stop :]  # the runs since the case broke
    votes = _votes(counted)
    failing = sum(map(_fails, counted))

    # Is the case broken? Either the tail has enough votes and failing runs, or most votes before it fail. Then half of the
    # runs must fail, too, because all asks of one bad answer fail together.
    broken = None
    tail_votes = _votes(tail)
    is_tail_broken = sum(tail_votes) >= MIN_VOTES and sum(map(_fails, tail)) >= _BROKEN_RUNS
    has_most_fails = sum(votes) >= MIN_VOTES and 5 * votes.fails >= 3 * sum(votes)
    if is_tail_broken:
        broken = tail_votes
    elif has_most_fails and 2 * failing >= len(counted):
        broken = votes

    # Does the case come and go? Enough failures went away, and at least 10 % of the runs fail.
    returned = _temporary_failure_days(counted)
    if len(returned) < _MIN_TEMPORARY_FAILURES or 10 * failing < len(counted):
        returned = ()
    return VoteCount(votes, broken, returned)


def trim_runs(runs: Sequence[PastRun]) -> tuple[PastRun, ...]:
    """The newest runs that a later ``count_votes`` may read, whichever of the models it counts."""
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
    """The positions of the newest runs that count: whole runs with at most 60 votes, from before the case broke.

    A case is broken since the longest tail of runs that begins with a failing run, and in which at least 3 of 4 runs with
    votes fail.
    """
    # 1. From the newest run back: where does that tail begin?
    failing = 0
    voting = 0
    end = len(runs)
    for position, run in reversed([*enumerate(runs)]):
        voting += _has_votes(run)
        if _fails(run):
            failing += 1
            if 4 * failing >= 3 * voting:
                end = position

    # 2. From there back: how many whole runs have at most 60 votes?
    votes = 0
    first = end
    while first:
        votes += sum(_votes([runs[first - 1]]))
        if votes > MOST_VOTES:
            break
        first -= 1
    return slice(first, end)


def _votes(runs: Sequence[PastRun]) -> Votes:
    """All votes of these runs."""
    text = "".join(run.votes for run in runs)
    return Votes(text.count("F"), text.count("P"))


def _has_votes(run: PastRun) -> bool:
    return sum(_votes([run])) > 0


def _fails(run: PastRun) -> bool:
    """Whether more of its votes fail than pass."""
    return run.votes.count("F") > run.votes.count("P")
