"""What earlier runs said of each grade, and what this run read of them."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from gradegate.structs import FrozenStruct, Sha256

LEAST = 10  # votes from which a history is used, and anything is said of a case


class PastRun(FrozenStruct, forbid_unknown_fields=True):
    """One run's asks of a grade. All are texts that most runs have in common."""

    at: Annotated[str, Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]
    commit: Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}\Z")]
    model: Annotated[str, Meta(max_length=300)]  # as the grader's reply names it
    votes: Annotated[str, Meta(pattern=r"^[PFE]{1,200}\Z")]  # one for each ask
    outcome: Annotated[str, Meta(pattern=r"^(pass|fail|error|open)\Z")]
    # A hash of what the target was asked
    request: Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}\Z")]


class GradeRecord(FrozenStruct):
    """A grade with its runs, oldest first."""

    name: str  # for people
    runs: tuple[PastRun, ...]


class HistoryLine(FrozenStruct, forbid_unknown_fields=True):
    """A line of a file of earlier runs: a grade. Nothing in it is a text of an answer or a reason."""

    v: Literal[1]  # the version of the format
    grade: Sha256
    name: Annotated[str, Meta(max_length=1000)]
    runs: tuple[PastRun, ...]


Records = Mapping[str, GradeRecord]  # by the identity of the grade


class History(FrozenStruct):
    """A file of earlier runs, as the user named it."""

    file: str
    records: Records = {}


class PastVotes(FrozenStruct):
    """What earlier runs say of a grade, and what the asks of this run make of it."""

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
    bayes_factor: Annotated[
        float | None,
        Meta(
            description="How much likelier this run's votes are if the case is broken; null where L decides."
        ),
    ] = None

    @property
    def earlier_votes(self) -> str:
        """Say ``14 of 60 before`` where the history decides; else an empty string."""
        return (
            ""
            if self.bayes_factor is None
            else f"{self.fails} of {self.fails + self.passes} before"
        )


class HistoryReport(FrozenStruct):
    """The history that a run had: ``grades`` were in it, and ``used`` of them decided when asking again ends."""

    file: str = ""
    commit: Annotated[str, Meta(description="Of the newest run in it.")] = ""
    grades: int = 0
    used: int = 0
    flaky: int = 0
    broken: int = 0
    comes_and_goes: int = 0
