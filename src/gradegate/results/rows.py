"""The shape of an answer with its grades in results.json: also what the parts of a run in shards hold."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gradegate.errors import Origin
from gradegate.results.jsonable import encodable, finite, plain
from gradegate.results.mapping import At
from gradegate.values.conversation import NO_READINGS, Image, Readings
from gradegate.values.result import Counterpart, Vote


def _is_whole(version: Any) -> Any:
    """In JSON, neither true nor 1.0 is the version 1, although they are equal in Python."""
    if type(version) is not int:
        raise ValueError("is not a whole number")
    return version


Version = Annotated[Literal[1], BeforeValidator(_is_whole)]
VERSION = 1  # grows when a key changes its meaning or goes away; further keys may join without it

Word = Literal["pass", "fail", "error"]
Status = Literal["", "ok", "fixed", "pre-existing", "new-failure", "unsteady", "undecided"]
Digest = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]
Count = Annotated[int, Field(ge=0)]
Scale = Annotated[int, Field(ge=1)]
Share = Field(default=None, description="From 0 to 1; null when nothing was graded.")


class Part(BaseModel):
    """An object of results.json."""

    model_config = ConfigDict(defer_build=True, frozen=True, allow_inf_nan=False)


class SourceLine(Part):
    """A line of the config; 0 means the file as a whole."""

    file: str
    line: int


def source_of(origin: Origin | None) -> dict[str, Any] | None:
    """A place in a config as ``source`` has it; None where there is none."""
    return {"file": encodable(origin.file), "line": origin.line} if origin and origin.file else None


class Counted(Part):
    """planned = passed + failed + errored; an error is neither a pass nor a failure."""

    planned: Count
    passed: Count
    failed: Count
    errored: Count
    pass_rate: float | None = Share


class Spent(Part):
    """What calls of one kind took."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: Annotated[float | None, At("known_cost")] = Field(description="null when the price of any call is unknown.")
    known_usd: Annotated[float, At("cost")] = Field(description="Of the calls whose price is known.")
    unpriced: int = Field(description="Calls whose price is unknown.")
    seconds: float
    reasks: int = Field(description="Graders asked again because their reply held no verdict.")
    cached: int = Field(default=0, description="Replies that came from the cache; they are not among the calls.")
    saved_usd: Annotated[float, At("saved")] = Field(default=0.0, description="What those would have cost, as far as it is known.")
    readings: Annotated[Readings | None, At("readings", lambda it: None if it == NO_READINGS else it, lambda said: said or NO_READINGS)] = (
        Field(default=None, description="null where no reply of a grader was read.")
    )


class GradeLine(Part):
    """The word on one assertion of one answer. An error has no score."""

    assertion: Annotated[str, At("assertion.type")]
    metric: Annotated[str, At("assertion.metric")]
    outcome: Word
    score: float | None
    threshold: float | None
    reason: str
    expected: Annotated[Any, At("assertion.value", plain)] = None
    blocking: Annotated[bool, At("assertion.blocking")]
    inner: bool = Field(description="Of a member of an assert-set, whose own grade decides.")
    set: Annotated[bool, At("assertion.is_set")] = Field(description="Of an assert-set; the grades of its members follow.")
    weight: Annotated[float | None, At("assertion.weight", finite, lambda weight: weight or 0.0)]
    config: Annotated[dict[str, Any], At("assertion.config")]
    model_slug: Annotated[str, At("assertion.model_slug")]
    scale: Scale = Field(description="People see the score times this.")
    unread: str = Field(description="The score as the grader wrote it, where that is not a number.")
    most: bool = Field(description="The threshold is a limit from above on what was measured, not on the score.")
    setup: bool = Field(description="An error that only the user can fix, such as a wrong key.")
    evidence: dict[str, Any]
    usage: Spent
    source: Annotated[SourceLine | None, At("assertion.origin", source_of)]
    votes: list[Vote] = Field(default=[], description="Every ask in order, where it was asked more than once.")
    confirmed: bool | None = Field(
        default=None, description="Whether asking again confirmed its failure; null where it was not asked again."
    )
    unconfirmed: bool = Field(default=False, description="It failed once, could have been asked again, and was not asked to its end.")
    key: Annotated[Digest, At("assertion.key")] = Field(
        default="", description="What the grade is called among those of its answer, in every run."
    )
    definition: Annotated[Digest, At("assertion.definition")] = Field(
        default="", description="SHA-256 of what is asked for: equal where two runs ask the same."
    )
    status: Status = Field(default="", description="Beside the base; empty without one, and where it was not settled.")
    base: Counterpart | None = Field(default=None, description="null where the base has nothing to compare with.")
    undone: bool = Field(default=False, description="An error because a budget or a signal ended the run before.")
    unheard: bool = Field(default=False, description="An error because no answer came: no connection, an error status, or nothing in time.")
    withheld: bool = Field(default=False, description="An error because a model was not asked, or gave what cannot be used.")
    turns: list[int] = Field(default=[], description="Of a conversation, from 1: those that the failure is about.")


class ImageLine(Part):
    """A document that is a picture, as data URI or URL."""

    image: str


def _written_documents(texts: tuple[str, ...]) -> list[Any]:
    return [{"image": encodable(text)} if isinstance(text, Image) else encodable(text) for text in texts]


def _read_documents(said: list[str | ImageLine]) -> tuple[str, ...]:
    return tuple(text if isinstance(text, str) else Image(text.image) for text in said)


class TurnLine(Part):
    """One message of a conversation."""

    role: str
    content: str
    retrieval_context: Annotated[list[str | ImageLine], At("retrieval_context", _written_documents, _read_documents)]
    images: list[str]
    metadata: dict[str, Any]


class CaseLine(Part):
    """One answer and its grades: a case, asked of one provider with one prompt, in one repetition."""

    description: str
    suite: str
    case: Count
    repeat: Count
    provider: str
    prompt: str = Field(description="As it was sent, with the variables filled in.")
    prompt_label: str
    vars: dict[str, Any]
    output: str | None = Field(description="null when the provider gave no answer; error says why.")
    error: str
    outcome: Word
    score: float | None = Field(description="The weighted mean of the grades that count.")
    threshold: float | None = Field(description="The case's own.")
    reason: str = Field(description="Where the case's own threshold decided.")
    seconds: Annotated[float, At("usage.seconds")]
    cost_usd: Annotated[float | None, At("usage.known_cost")]
    tokens: Annotated[int, At("usage.tokens")]
    usage: Spent
    metadata: dict[str, Any] = Field(description="What the provider returned beside the answer: tool calls, finish reason.")
    grades: list[GradeLine]
    turns: list[TurnLine] = Field(description="The conversation where there is more than a prompt and an answer.")
    source: Annotated[SourceLine | None, At("origin", source_of)]
    key: Digest = Field(default="", description="What the answer is called in every run.")
    definition: Digest = Field(default="", description="SHA-256 of what the case gives and asks for.")
    base: Word | None = Field(default=None, description="What the base says of the case; null where it has none.")
    hidden: bool = Field(default=False, description="A secret is hidden in what was graded.")
    undone: bool = Field(default=False, description="There is no output because a budget or a signal ended the run before.")
    withheld: bool = Field(default=False, description="There is no output because the target was not asked, or gave what cannot be used.")
    blocks: Annotated[bool, At(None)] = Field(default=False, description="Its failure is a reason why the run is blocked.")
