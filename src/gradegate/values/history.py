"""Earlier runs of the default branch: the votes of each grade, and what a run makes of them. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

LEAST = 10  # votes from which a history is used, and anything is said of a case


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run's asks of a grade. ``votes`` has a P, F or E for each, ``outcome`` is pass, fail, error or open.

    ``model`` is the name that the grader's reply gives, ``request`` a hash of what the target was asked.
    """

    at: str  # a date: 2026-11-22
    commit: str
    model: str
    votes: str
    outcome: str
    request: str


@dataclass(frozen=True, slots=True)
class GradeRecord:
    """A grade with its runs, oldest first."""

    name: str  # for people
    runs: tuple[PastRun, ...]


Records = Mapping[str, GradeRecord]  # by the identity of the grade


@dataclass(frozen=True, slots=True)
class History:
    """A file of earlier runs, as the user named it."""

    file: str
    records: Records = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PastVotes:
    """What earlier runs say of a grade, and what the asks of this run make of it."""

    fails: Annotated[int, "FAIL votes of earlier runs by the same model."] = 0
    passes: Annotated[int, "PASS votes of these runs."] = 0
    model: Annotated[str, "The model that gave this run's first vote, as its reply names it."] = ""
    flaky: Annotated[bool, "Of at least 10 votes, 5 to 95 % fail."] = False
    bayes_factor: Annotated[float | None, "How much likelier this run's votes are if the case is broken; null where L decides."] = None

    @property
    def broken(self) -> bool:
        """Whether, of at least 10 votes, more than 95 % fail."""
        return not self.flaky and self.fails > self.passes and self.fails + self.passes >= LEAST

    @property
    def before(self) -> str:
        """Say ``14 of 60 before`` where the history decides; else an empty string."""
        return "" if self.bayes_factor is None else f"{self.fails} of {self.fails + self.passes} before"


@dataclass(frozen=True, slots=True)
class HistoryReport:
    """The history that a run had: ``grades`` were in it, and ``used`` of them decided when asking again ends."""

    file: str = ""
    commit: Annotated[str, "Of the newest run in it."] = ""
    grades: int = 0
    used: int = 0
    flaky: int = 0
    comes_and_goes: int = 0
