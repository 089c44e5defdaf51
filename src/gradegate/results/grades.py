"""What graders say about an answer: verdicts, votes and grades, and the three outcomes."""

import enum
from datetime import date
from typing import Annotated, Any, Literal, Self

from msgspec import Meta

from gradegate.core.assertion import Assertion, PublishedAssertion
from gradegate.core.policy import Scale
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.results.history import PastVotes
from gradegate.structs import FrozenStruct, JsonObject, field_names

Status = Literal["", "ok", "fixed", "pre-existing", "new-failure", "unsteady", "undecided"]


class Outcome(enum.Enum):
    """The outcome of a grade, a case or a rule."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"  # no verdict: never a pass, never a quality failure


PASS, FAIL, ERROR = Outcome


class WithOutcome:
    """What has an outcome: a grade, a case or a rule."""

    __slots__ = ()
    outcome: Outcome | None

    @property
    def has_passed(self) -> bool:
        """Whether it is a PASS."""
        return self.outcome is PASS

    @property
    def has_failed(self) -> bool:
        """Whether it is a FAIL. An ERROR is not a failure."""
        return self.outcome is FAIL

    @property
    def has_error(self) -> bool:
        """Whether it is an ERROR."""
        return self.outcome is ERROR


class Verdict(FrozenStruct):
    """What a grader found, before thresholds, ``not-`` and weights."""

    score: float  # usually 0 to 1
    passed: bool | None = None  # what the grader decided; None: only the score decides
    reason: str = ""
    evidence: JsonObject = {}
    unread: str = (
        ""  # the score in the reply if it is not a number; no mean is taken over what replaces it
    )
    reverse: "Verdict | None" = None  # the verdict that ``not-`` negates, if it is not this one
    turns: tuple[int, ...] = ()  # the turns that lowered the score, by their numbers from 1
    # Code raised an exception on the answer, or gave no verdict. That is a failure, also under ``not-``.
    broken: bool = False


class GradedAssertion(PublishedAssertion):
    """An assertion with its templates filled in."""

    is_set: bool = False
    key: Annotated[
        bytes, Meta(description="What the grade is called among those of its answer, in every run.")
    ] = b""
    definition: Annotated[
        bytes, Meta(description="SHA-256 of what is asked for: equal where two runs ask the same.")
    ] = b""

    @classmethod
    def from_assertion(cls, assertion: Assertion, **filled: Any) -> Self:
        """The assertion as reports show it. ``filled`` are the fields that its templates or its members decide."""
        fields = {name: getattr(assertion, name) for name in field_names(PublishedAssertion)}
        return cls(**(fields | filled))


class Vote(WithOutcome, FrozenStruct):
    """The outcome of one ask of a grade. An ERROR counts for neither side."""

    outcome: Outcome
    score: float | None = None
    reason: str = ""


class Counterpart(WithOutcome, FrozenStruct):
    """What the base says about the same grade."""

    outcome: Outcome  # in the end
    first: Outcome  # of the first ask


class Grade(WithOutcome, FrozenStruct):
    """The final word on one assertion of one answer. An ERROR has no score."""

    assertion: GradedAssertion
    outcome: Outcome
    score: float | None = None
    threshold: float | None = None  # the one that was applied; None if there was none
    reason: str = ""
    evidence: JsonObject = {}
    usage: Usage = NO_USAGE
    setup: Annotated[
        bool, Meta(description="An error that only the user can fix, such as a wrong key.")
    ] = False
    inner: Annotated[
        bool, Meta(description="Of a member of an assert-set, whose own grade decides.")
    ] = False
    scale: Scale = 1
    unread: Annotated[
        str, Meta(description="The score as the grader wrote it, where that is not a number.")
    ] = ""
    most: Annotated[
        bool,
        Meta(
            description="The threshold is a limit from above on what was measured, not on the score."
        ),
    ] = False
    votes: Annotated[
        tuple[Vote, ...], Meta(description="Every ask in order, if there was more than one.")
    ] = ()
    confirmed: Annotated[
        bool | None,
        Meta(description="Whether re-asks confirmed its failure; null if it was not re-asked."),
    ] = None
    unconfirmed: Annotated[
        bool,
        Meta(
            description="It failed once and could have been re-asked, but was not re-asked to the end."
        ),
    ] = False
    status: Annotated[
        Status,
        Meta(
            description="Its status against the base; empty without a base, and where it was not settled."
        ),
    ] = ""
    base: Annotated[
        Counterpart | None, Meta(description="null where the base has nothing to compare with.")
    ] = None
    undone: Annotated[
        bool, Meta(description="An error because a budget or a signal ended the run before.")
    ] = False
    unheard: Annotated[
        bool,
        Meta(
            description="An error because no answer came: no connection, busy or down after all retries, or nothing in time."
        ),
    ] = False
    withheld: Annotated[
        bool,
        Meta(description="An error because a model was not called, or its reply cannot be used."),
    ] = False
    turns: Annotated[
        tuple[int, ...],
        Meta(description="Of a conversation, from 1: those that the failure is about."),
    ] = ()
    model: Annotated[
        str,
        Meta(
            description="The model that graded it first, as its reply names it; empty where it names none."
        ),
    ] = ""
    history: Annotated[
        PastVotes | None,
        Meta(description="Earlier runs of the default branch; null where none of them counts."),
    ] = None
    refused_by: Annotated[
        str,
        Meta(
            description="The model, with its host, that answered the call with an error; empty where none did."
        ),
    ] = ""
    quarantine: Annotated[
        date | None,
        Meta(description="The day until which it only advises, as its test is flaky."),
    ] = None

    @property
    def first_outcome(self) -> Outcome:
        """The outcome of the first ask."""
        return self.votes[0].outcome if self.votes else self.outcome

    @property
    def failing_votes(self) -> int:
        """How many asks failed."""
        return sum(vote.has_failed for vote in self.votes)

    @property
    def counts(self) -> bool:
        """Whether the grade takes part in deciding: its assertion does, and no set decides in its place."""
        return self.assertion.counts and not self.inner and not self.quarantine

    @property
    def metric(self) -> str:
        """The name under which rules and reports count the grade. Empty if it has none."""
        return self.assertion.metric
