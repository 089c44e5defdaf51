"""The votes of earlier runs of the default branch on each grade, and what they mean in this run."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from gradegate.structs import FrozenStruct, Sha256

MIN_VOTES = 10  # of a grade in earlier runs; with fewer, its history is not used


class PastRun(FrozenStruct, forbid_unknown_fields=True):
    """All asks of one grade in one earlier run.

    Each field is a text. Most runs of a file share their texts, so the reader stores equal texts once.
    """

    at: Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]  # the day of the run
    commit: Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}\Z")]  # its first digits
    model: Annotated[str, Meta(max_length=300)]  # as the grader's reply names it
    votes: Annotated[str, Meta(pattern=r"^[PFE]{1,200}\Z")]  # pass, fail or error, one for each ask
    # The outcome of the grade; "open" for a failure that no re-ask confirmed
    outcome: Annotated[str, Meta(pattern=r"^(pass|fail|error|open)\Z")]
    # A hash of the request to the target
    request: Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}\Z")]


class GradeRecord(FrozenStruct):
    """What earlier runs said about one grade, oldest first."""

    name: str  # for people
    runs: tuple[PastRun, ...]


class HistoryLine(FrozenStruct, forbid_unknown_fields=True):
    """A line of a history file: one grade. It contains no text of an answer, and no reason."""

    v: Literal[1]  # the version of the format
    grade: Sha256
    name: Annotated[str, Meta(max_length=1000)]
    runs: tuple[PastRun, ...]


Records = Mapping[str, GradeRecord]  # by the identity of the grade


class History(FrozenStruct):
    """A history file."""

    file: str  # as the user named it
    records: Records = {}


class PastVotes(FrozenStruct):
    """The votes of earlier runs on a grade, and how they decided in this run."""

    fails: Annotated[int, Meta(description="FAIL votes of earlier runs by the same model.")] = 0
    passes: Annotated[int, Meta(description="PASS votes of these runs.")] = 0
    model: Annotated[
        str, Meta(description="The model that gave this run's first vote, as its reply names it.")
    ] = ""
    flaky: Annotated[
        bool,
        Meta(description="Of at least 10 votes, 5 % or more fail, and the case is not broken."),
    ] = False
    broken: Annotated[
        bool,
        Meta(
            description="The case is broken on the default branch; the votes are those that show it."
        ),
    ] = False
    quarantined: Annotated[bool, Meta(description="Its test is in quarantine.")] = False

    # L is the lead rule of the docs: so many votes of one side more than of the other. It decides without a history.
    bayes_factor: Annotated[
        float | None,
        Meta(
            description="How much likelier this run's votes are if the case is broken; null where L decides."
        ),
    ] = None

    @property
    def earlier_votes(self) -> str:
        """Say how many earlier votes failed, ``14 of 60 before``. An empty string if the lead rule decides."""
        if self.bayes_factor is None:
            return ""
        return f"{self.fails} of {self.fails + self.passes} before"


class HistoryReport(FrozenStruct):
    """How much of its history a run could use."""

    file: str = ""
    commit: Annotated[str, Meta(description="Of the newest run in it.")] = ""

    # Numbers of grades of this run
    grades: int = 0  # with earlier votes in the file
    used: int = 0  # with a history that decides when re-asks end, in place of the lead rule
    flaky: int = 0  # as in PastVotes
    broken: int = 0  # as in PastVotes
    comes_and_goes: int = 0  # failed in several earlier runs, and passed again for the same request
