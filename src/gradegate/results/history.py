"""What earlier runs said of each grade, and what this run read of them."""

from collections.abc import Mapping
from typing import Annotated

from gradegate.structs import FrozenStruct, Readable

LEAST = 10  # votes from which a history is used, and anything is said of a case


class PastRun(FrozenStruct):
    """One run's asks of a grade."""

    at: str  # a date: 2026-11-22
    commit: str
    model: str  # as the grader's reply names it
    votes: str  # a P, F or E for each
    outcome: str  # pass, fail, error or open
    request: str  # a hash of what the target was asked


class GradeRecord(FrozenStruct):
    """A grade with its runs, oldest first."""

    name: str  # for people
    runs: tuple[PastRun, ...]


Records = Mapping[str, GradeRecord]  # by the identity of the grade


class History(FrozenStruct):
    """A file of earlier runs, as the user named it."""

    file: str
    records: Records = {}


class PastVotes(Readable):
    """What earlier runs say of a grade, and what the asks of this run make of it."""

    fails: Annotated[int, "FAIL votes of earlier runs by the same model."] = 0
    passes: Annotated[int, "PASS votes of these runs."] = 0
    model: Annotated[str, "The model that gave this run's first vote, as its reply names it."] = ""
    flaky: Annotated[
        bool, "Of at least 10 votes, 5 % or more fail, and the case is not broken."
    ] = False
    broken: Annotated[
        bool, "The case is broken on the default branch; the votes are those that show it."
    ] = False
    quarantined: Annotated[bool, "Its test is in quarantine."] = False
    bayes_factor: Annotated[
        float | None,
        "How much likelier this run's votes are if the case is broken; null where L decides.",
    ] = None

    @property
    def before(self) -> str:
        """Say ``14 of 60 before`` where the history decides; else an empty string."""
        return (
            ""
            if self.bayes_factor is None
            else f"{self.fails} of {self.fails + self.passes} before"
        )


class HistoryReport(Readable):
    """The history that a run had: ``grades`` were in it, and ``used`` of them decided when asking again ends."""

    file: str = ""
    commit: Annotated[str, "Of the newest run in it."] = ""
    grades: int = 0
    used: int = 0
    flaky: int = 0
    broken: int = 0
    comes_and_goes: int = 0
