"""Ragas: rows of an evaluation dataset with their responses, joined by the question's text.

Format: ``SingleTurnSample`` and ``MultiTurnSample`` of ragas, ``dataset_schema.py``: JSON lines, or a list of rows.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from gradegate.core.conversation import Turn
from gradegate.errors import ConfigError, Origin
from gradegate.files.documents import Map
from gradegate.recordings.parsing import fields, messages
from gradegate.recordings.parsing.recorded_answer import (
    FORMATS,
    RecordedAnswer,
    RecordedQuestion,
    RecordingFile,
    RecordingFormat,
)

_ROLES = {"human": "user", "ai": "assistant", "tool": "tool"}


def recognises(row: Map) -> bool:
    """A ``user_input``."""
    return "user_input" in row


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each row. Raises ConfigError."""
    return fields.read_rows(files, _answer)


def _answer(row: Map, origin: Origin) -> RecordedAnswer:
    asked, response = row.get("user_input"), row.get("response")
    said: tuple[Turn, ...] = ()
    if isinstance(asked, list):
        said = messages.parse_messages(list(_messages(asked, origin)), origin)
        asked = next((turn.content for turn in said if turn.role == "user"), None)
    if not isinstance(asked, str):
        raise ConfigError.at(
            "`user_input` is neither a text nor a list of messages", origin, "give the question"
        )
    answered = response is not None or (bool(said) and said[-1].role == "assistant")
    return RecordedAnswer(
        question=RecordedQuestion(asked),
        output=fields.as_text(response),
        error="" if answered else "the row has no `response`",
        messages=said,
        retrieval_context=fields.parse_texts(
            row.get("retrieved_contexts"), "retrieved_contexts", origin
        ),
        origin=origin,
    )


def _messages(said: list[Any], origin: Origin) -> Iterator[dict[str, Any]]:
    for item in said:
        role = _ROLES.get(str(fields.as_mapping(item).get("type")))
        if role is None:
            raise ConfigError.at(
                "a message is neither of `human`, `ai` nor `tool`", origin, "write it as Ragas does"
            )
        yield {**item, "role": role}


FORMATS.register("ragas")(RecordingFormat("ragas", recognises, read))
