"""Ragas: rows of an evaluation dataset with their responses. The text of the question names the planned call.

Format: ``SingleTurnSample`` and ``MultiTurnSample`` of ragas, ``dataset_schema.py``: JSON lines, or a list of rows.
"""

from collections.abc import Sequence
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

# Roles by the types of Ragas
_ROLES = {"human": "user", "ai": "assistant", "tool": "tool"}


def recognises(row: Map) -> bool:
    """Whether a row has a ``user_input``."""
    return "user_input" in row


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each row. Raises ConfigError."""
    return fields.read_rows(files, _parse_sample)


def _parse_sample(row: Map, origin: Origin) -> RecordedAnswer:
    question = row.get("user_input")
    turns: tuple[Turn, ...] = ()
    if isinstance(question, list):
        turns = _parse_messages(question, origin)
        user_texts = [turn.content for turn in turns if turn.role == "user"]
        question = user_texts[0] if user_texts else None
    if not isinstance(question, str):
        what = "`user_input` is neither a text nor a list of messages"
        raise ConfigError.at(what, origin, "give the question")

    response = row.get("response")
    ends_with_answer = bool(turns) and turns[-1].role == "assistant"
    error = ""
    if response is None and not ends_with_answer:
        error = "the row has no `response`"
    key = "retrieved_contexts"
    return RecordedAnswer(
        question=RecordedQuestion(question),
        output=fields.as_text(response),
        error=error,
        messages=turns,
        retrieval_context=fields.parse_texts(row.get(key), key, origin),
        origin=origin,
    )


def _parse_messages(ragas_messages: list[Any], origin: Origin) -> tuple[Turn, ...]:
    """Parse the messages of a conversation. Ragas writes their ``role`` as ``type``. Raises ConfigError."""
    vendor_messages = []
    for message in ragas_messages:
        role = _ROLES.get(str(fields.as_mapping(message).get("type")))
        if role is None:
            what = "a message is neither of `human`, `ai` nor `tool`"
            raise ConfigError.at(what, origin, "write it as Ragas does")
        vendor_messages.append({**message, "role": role})
    return messages.parse_messages(vendor_messages, origin)


FORMATS.register("ragas")(RecordingFormat("ragas", recognises, read))
