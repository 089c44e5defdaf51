"""What the votes of earlier runs say of a grade. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gradegate.results.history import LEAST, PastRun

MOST_VOTES = 60  # of the newest runs that count
MOST_RUNS = 200  # of one grade that a file keeps
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
    counted = own[_span(own)]
    passed: set[str] = set()  # requests of later runs
    failed = ""
    for run in reversed(counted):
        failed = (
            run.at if not failed and run.outcome == "fail" and run.request in passed else failed
        )
        passed |= {run.request} if run.outcome == "pass" else set()
    return Counted(
        sum(run.votes.count("F") for run in counted),
        sum(run.votes.count("P") for run in counted),
        failed,
    )


def cut(runs: Sequence[PastRun]) -> tuple[PastRun, ...]:
    """The newest runs that a later count may read, whichever of the models is asked then."""
    kept: list[int] = []
    for model in {run.model for run in runs}:
        own = [place for place, run in enumerate(runs) if run.model == model]
        kept += own[_span([runs[place] for place in own]).start :]
    return tuple(runs[place] for place in sorted(kept)[-MOST_RUNS:])


def _span(runs: Sequence[PastRun]) -> slice:
    """The newest whole runs that have no more votes than count, before the longest tail that is broken.

    That tail begins with a failure, and at least 3 of 4 of its runs fail.
    """
    failed, end = 0, len(runs)
    for place in range(len(runs) - 1, -1, -1):
        run = runs[place]
        if run.outcome == "fail" or (
            run.outcome == "error" and run.votes.count("F") > run.votes.count("P")
        ):
            failed += 1
            end = place if 4 * failed >= 3 * (len(runs) - place) else end
    votes, first = 0, end
    while (
        first
        and (votes := votes + sum(vote != "E" for vote in runs[first - 1].votes)) <= MOST_VOTES
    ):
        first -= 1
    return slice(first, end)
