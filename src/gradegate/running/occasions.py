"""Where in a run its questions are asked: for the cache, which keeps the reply to each of them apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradegate.grading.conclude import Bound
from gradegate.planning.identity import Ordinals, request
from gradegate.planning.job import Job
from gradegate.replies.book import GRADER, TARGET, Replies
from gradegate.replies.question import Occasion, occasion

Name = tuple[str, int]  # what something is, and how many of its like come before it


class Occasions:
    """The places of a plan's answers, named by the request and not by their number.

    A case that is added, removed or renamed so leaves the places of all others as they are. None without a cache.
    """

    def __init__(self, jobs: Sequence[Job], replies: Replies | None) -> None:
        self._jobs = jobs
        self._replies = replies
        self._names = _numbered(request(job).hex() for job in jobs) if replies else []

    def of_answer(self, index: int, repeat: int) -> Occasion | None:
        """Where a job's target is asked; the base's answers, which a run asks for beside its own, are always fresh."""
        if self._replies is None or self._jobs[index].of_base:
            return None
        bounds = [bound for binding in self._jobs[index].assertions for bound in binding.bounds]
        numbered = _numbered(repr((bound.asserted.type, bound.asserted.value)) for bound in bounds)
        names = {id(bound): name for bound, name in zip(bounds, numbered, strict=True)}
        return Occasion(self._replies, TARGET, (*self._names[index], repeat), names)

    def of_comparison(self, index: int, repeat: int) -> Occasion | None:
        """Where the answers are compared of which a job's is the first."""
        if self._replies is None:
            return None
        return Occasion(self._replies, GRADER, (*self._names[index], repeat, "compared"))


def of_grade(bound: Bound) -> Occasion | None:
    """Where the graders of an assertion are asked, below this thread's answer."""
    here = occasion()
    return here.below(*here.names[id(bound)], role=GRADER) if here and id(bound) in here.names else None


def _numbered(things: Iterable[str]) -> list[Name]:
    ordinals = Ordinals()
    return [(thing, ordinals.next(thing)) for thing in things]
