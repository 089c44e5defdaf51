"""The shape of an answer with its grades in results.json: also what the parts of a run in shards hold."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gradegate.errors import Origin
from gradegate.results.jsonable import encodable, finite, plain
from gradegate.results.mapping import At, keys_of
from gradegate.values.conversation import NO_READINGS, Image, Readings, Turn, Usage
from gradegate.values.result import Grade, Row


def _is_whole(version: Any) -> Any:
    """In JSON, neither true nor 1.0 is the version 1, although they are equal in Python."""
    if type(version) is not int:
        raise ValueError("is not a whole number")
    return version


Version = Annotated[Literal[1], BeforeValidator(_is_whole)]
VERSION = 1  # grows when a key changes its meaning or goes away; further keys may join without it

Status = Literal["", "ok", "fixed", "pre-existing", "new-failure", "unsteady", "undecided"]
Count = Annotated[int, Field(ge=0)]
Scale = Annotated[int, Field(ge=1)]
Share = Field(default=None, description="From 0 to 1; null when nothing was graded.")


class Part(BaseModel):
    """An object of results.json."""

    model_config = ConfigDict(defer_build=True, frozen=True, allow_inf_nan=False)


@keys_of(Origin)
class SourceLine(Part):
    """A line of the config; 0 means the file as a whole."""


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


@keys_of(Usage, later="cached", without="untimed")
class Spent(Part):
    """What calls of one kind took."""

    cost_usd: Annotated[float | None, At("known_cost")] = Field(description="null when the price of any call is unknown.")
    known_usd: Annotated[float, At("cost")] = Field(description="Of the calls whose price is known.")
    saved_usd: Annotated[float, At("saved")] = Field(default=0.0, description="What those would have cost, as far as it is known.")
    readings: Annotated[Readings | None, At("readings", lambda it: None if it == NO_READINGS else it, lambda said: said or NO_READINGS)] = (
        Field(default=None, description="null where no reply of a grader was read.")
    )


@keys_of(Grade, "assertion", later="votes confirmed unconfirmed key definition base undone unheard withheld turns")
class GradeLine(Part):
    """The word on one assertion of one answer. An error has no score."""

    assertion: Annotated[str, At("assertion.type")]
    expected: Annotated[Any, At("assertion.value", plain)] = None
    set: Annotated[bool, At("assertion.is_set")] = Field(description="Of an assert-set; the grades of its members follow.")
    weight: Annotated[float | None, At("assertion.weight", finite, lambda weight: weight or 0.0)]
    source: Annotated[SourceLine | None, At("assertion.origin", source_of)]
    scale: Scale = Field(description="People see the score times this.")
    status: Status = Field(default="", description="Beside the base; empty without one, and where it was not settled.")


class ImageLine(Part):
    """A document that is a picture, as data URI or URL."""

    image: str


def _written_documents(texts: tuple[str, ...]) -> list[Any]:
    return [{"image": encodable(text)} if isinstance(text, Image) else encodable(text) for text in texts]


def _read_documents(said: list[str | ImageLine]) -> tuple[str, ...]:
    return tuple(text if isinstance(text, str) else Image(text.image) for text in said)


@keys_of(Turn)
class TurnLine(Part):
    """One message of a conversation."""

    retrieval_context: Annotated[list[str | ImageLine], At("retrieval_context", _written_documents, _read_documents)]


@keys_of(Row, later="key definition base hidden undone withheld")
class CaseLine(Part):
    """One answer and its grades: a case, asked of one provider with one prompt, in one repetition."""

    case: Count
    repeat: Count
    seconds: Annotated[float, At("usage.seconds")]
    cost_usd: Annotated[float | None, At("usage.known_cost")]
    tokens: Annotated[int, At("usage.tokens")]
    source: Annotated[SourceLine | None, At("origin", source_of)]
    blocks: Annotated[bool, At(None)] = Field(default=False, description="Its failure is a reason why the run is blocked.")
