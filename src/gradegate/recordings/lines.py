"""gradegate's own lines: ``{"id", "output"}`` and what else is known of an answer; docs/answers.md describes them."""

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

_ANSWERED = frozenset({"output", "messages", "tool_calls"})
_MORE = 3  # mistakes of a line that are said beside its first
_CURE = "write the keys that docs/answers.md names"
_Amount = Annotated[float, Field(ge=0, lt=fields.MAX_AMOUNT, allow_inf_nan=False)]


class LineKeys(BaseModel):
    """One line as written; the keys of a line of ``gradegate cases`` may stay in it."""

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
    """An ``id`` with an answer; what others call an ``error`` counts beside keys of these lines alone."""
    if not isinstance(row.get("id"), str):
        return False
    return not _ANSWERED.isdisjoint(row) or (
        "error" in row and row.keys() <= LineKeys.model_fields.keys()
    )


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each line. Raises ConfigError."""
    return fields.read_rows(files, _answer)


def _answer(row: Map, origin: Origin) -> RecordedAnswer:
    try:  # one mistake, whatever is wrong with the line: a file of another kind has a line for each
        keys = LineKeys.model_validate(row)
    except ValidationError as e:
        first, *others = validation_mistakes(e, row, origin.file, (), LineKeys)
        more = "".join(f"; {it.what}" for it in others[:_MORE]) + "; ..." * (len(others) > _MORE)
        raise ConfigError(
            Mistake(first.what + more, first.origin, first.cure if not others else _CURE)
        ) from e
    said, calls = (
        messages.parse_messages(keys.messages, origin),
        fields.parse_tool_calls(keys.tool_calls, origin),
    )
    answered = calls or any(turn.role == "assistant" for turn in said)
    if keys.output is None and not keys.error and not answered:
        what = "the line has neither `output` nor `error`"
        raise ConfigError.at(
            what, origin, "give the answer as `output`, or say in `error` why there is none"
        )
    fields.check_tokens(keys.usage or {}, origin)
    seconds = None if keys.latency_ms is None else keys.latency_ms / 1000
    return RecordedAnswer(
        id=keys.id,
        output=fields.as_text(keys.output),
        error=keys.error or "",
        messages=said,
        tool_calls=calls,
        retrieval_context=fields.parse_texts(keys.retrieval_context, "retrieval_context", origin),
        usage=fields.parse_usage(keys.usage or {}, keys.cost, seconds),
        finish_reason=keys.finish_reason or "",
        metadata=keys.metadata or {},
        run=keys.run or 0,
        origin=origin,
    )


FORMATS.register("lines")(RecordingFormat("lines", recognises, read))
