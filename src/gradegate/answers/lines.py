"""gradegate's own lines: ``{"id", "output"}`` and what else is known of an answer; docs/answers.md describes them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gradegate.configs.keys import mistakes
from gradegate.errors import ConfigError, Origin
from gradegate.files.lines import Map
from gradegate.recording import fields
from gradegate.recording.answer import SHAPES, Answer, Rows, Shape

_ANSWERED = frozenset({"output", "error", "messages", "tool_calls"})
_Amount = Annotated[float, Field(ge=0, lt=1e15, allow_inf_nan=False)]


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
    # What `gradegate cases` says of the case.
    prompt: Any = None
    vars: Any = None
    provider: Any = None
    repeat: Any = None
    turns: Any = None
    description: Any = None
    conversation: Any = None
    stores: Any = None
    uses: Any = None


def recognises(rows: Rows) -> bool:
    """An ``id`` and an answer, and nothing that is of another shape. What no shape recognises is read as these lines, too."""
    keys = rows[0].keys()
    return "id" in keys and not _ANSWERED.isdisjoint(keys) and keys <= LineKeys.model_fields.keys()


def read(rows: Rows, file: str) -> list[Answer]:
    """An answer for each line. Raises ConfigError."""
    return fields.each(rows, file, _answer)


def _answer(row: Map, origin: Origin) -> Answer:
    try:
        keys = LineKeys.model_validate(row)
    except ValidationError as e:
        raise ConfigError(*mistakes(e, row, origin.file, (), LineKeys)) from e
    said, calls = fields.turns(keys.messages, origin), fields.tool_calls(keys.tool_calls, origin)
    answered = calls or any(turn.role == "assistant" for turn in said)
    if keys.output is None and not keys.error and not answered:
        what = "the line has neither `output` nor `error`"
        raise ConfigError.at(what, origin, "give the answer as `output`, or say in `error` why there is none")
    seconds = None if keys.latency_ms is None else keys.latency_ms / 1000
    return Answer(
        id=keys.id,
        output=fields.as_text(keys.output),
        error=keys.error or "",
        messages=said,
        tool_calls=calls,
        retrieval_context=fields.texts(keys.retrieval_context, "retrieval_context", origin),
        usage=fields.usage(keys.usage or {}, keys.cost, seconds),
        finish_reason=keys.finish_reason or "",
        metadata=keys.metadata or {},
        origin=origin,
    )


SHAPES.register("lines")(
    Shape("lines", "gradegate's own lines, one for each line of `gradegate cases`", recognises, read)
)
