"""gradegate's own lines: ``{"id", "output"}`` and more about an answer; docs/answers.md describes them."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gradegate.config.key_mistakes import validation_mistakes
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.documents import Map
from gradegate.recordings.parsing import fields, messages
from gradegate.recordings.parsing.recorded_answer import (
    FORMATS,
    RecordedAnswer,
    RecordingFile,
    RecordingFormat,
)

_ANSWER_KEYS = frozenset({"output", "messages", "tool_calls"})
_MOST_MORE = 3  # mistakes of a line that are shown after the first one
_CURE = "write the keys that docs/answers.md names"
_Amount = Annotated[float, Field(ge=0, lt=fields.MAX_AMOUNT, allow_inf_nan=False)]


class LineKeys(BaseModel):
    """One line as written. It may keep the keys of a line of ``gradegate cases``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    output: Any = None
    error: str | None = None
    messages: list[Any] | None = None
    tool_calls: list[Any] | None = None
    retrieval_context: list[str] | str | None = None
    usage: dict[str, Any] | None = None
    cost: _Amount | None = None
    latency_ms: _Amount | None = None
    finish_reason: str | None = None
    metadata: dict[str, Any] | None = None
    run: Annotated[int, Field(ge=1)] | None = None
    # What `gradegate cases` says of the case.
    prompt: Any = None
    vars: Any = None
    provider: Any = None
    repeat: Any = None
    runs: Any = None
    turns: Any = None
    description: Any = None
    conversation: Any = None
    stores: Any = None
    uses: Any = None


def recognises(row: Map) -> bool:
    """Whether a row has an ``id`` with an answer. An ``error`` counts only if the row has no keys of other formats."""
    if not isinstance(row.get("id"), str):
        return False
    if not _ANSWER_KEYS.isdisjoint(row):
        return True
    return "error" in row and row.keys() <= LineKeys.model_fields.keys()


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each line. Raises ConfigError."""
    return fields.read_rows(files, _parse_line)


def _parse_line(row: Map, origin: Origin) -> RecordedAnswer:
    try:
        keys = LineKeys.model_validate(row)
    except ValidationError as e:
        mistakes = validation_mistakes(e, row, origin.file, (), LineKeys)
        raise ConfigError(_join_mistakes(list(mistakes))) from e

    turns = messages.parse_messages(keys.messages, origin)
    tool_calls = fields.parse_tool_calls(keys.tool_calls, origin)
    has_answer = bool(tool_calls) or any(turn.role == "assistant" for turn in turns)
    if keys.output is None and not keys.error and not has_answer:
        what = "the line has neither `output` nor `error`"
        cure = "give the answer as `output`, or say in `error` why there is none"
        raise ConfigError.at(what, origin, cure)
    tokens = keys.usage or {}
    fields.check_tokens(tokens, origin)
    seconds = None if keys.latency_ms is None else keys.latency_ms / 1000
    return RecordedAnswer(
        id=keys.id,
        output=fields.as_text(keys.output),
        error=keys.error or "",
        messages=turns,
        tool_calls=tool_calls,
        retrieval_context=fields.parse_texts(keys.retrieval_context, "retrieval_context", origin),
        usage=fields.parse_usage(tokens, keys.cost, seconds),
        finish_reason=keys.finish_reason or "",
        metadata=keys.metadata or {},
        run=keys.run or 0,
        origin=origin,
    )


def _join_mistakes(mistakes: Sequence[Mistake]) -> Mistake:
    """One mistake for a line with several: a file of another kind would have many for each line."""
    first, *others = mistakes
    if not others:
        return Mistake(first.what, first.origin, first.cure)
    what = "; ".join([first.what, *(mistake.what for mistake in others[:_MOST_MORE])])
    if len(others) > _MOST_MORE:
        what += "; ..."
    return Mistake(what, first.origin, _CURE)


FORMATS.register("lines")(RecordingFormat("lines", recognises, read))
