"""OpenAI's Batch API: the lines of an output or error file, whose ``custom_id`` is the id of a planned call.

Format: https://platform.openai.com/docs/api-reference/batch/request-output. The body is a chat completion, or a response of
the Responses API.
"""

from collections.abc import Sequence
from typing import Any

from gradegate.errors import ConfigError, Origin
from gradegate.files.documents import Map
from gradegate.providers.api.chat_api import NoOutput
from gradegate.providers.api.content import uniform_call
from gradegate.providers.api.openai_chat import Completions, Responses
from gradegate.recordings.parsing import fields, messages
from gradegate.recordings.parsing.recorded_answer import (
    FORMATS,
    RecordedAnswer,
    RecordingFile,
    RecordingFormat,
)
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

_OK = 200
# Items of a response that are no calls, and how the others end.
_NO_CALLS = ("message", "reasoning", "compaction", "mcp_list_tools")
_OF_CALLS = ("_call", "_call_output")


def recognises(row: Map) -> bool:
    """A ``custom_id`` with a response or an error."""
    return "custom_id" in row and ("response" in row or "error" in row)


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each line. Raises ConfigError."""
    return fields.read_rows(files, _answer)


def _answer(row: Map, origin: Origin) -> RecordedAnswer:
    identity = row.get("custom_id")
    if not isinstance(identity, str):
        raise ConfigError.at(
            "the line has no `custom_id`", origin, "give each request the id of its case"
        )
    response = fields.as_mapping(row.get("response"))
    body = fields.as_mapping(response.get("body"))
    error = _error(row.get("error")) or _error(body.get("error"))
    if not error and response.get("status_code", _OK) != _OK:
        error = f"status {response.get('status_code')}"
    if error:
        return RecordedAnswer(identity, error=error, origin=origin)
    shape = Responses("", {}) if body.get("object") == "response" else Completions("", {})
    try:
        said = shape.parse_response(body)
    except NoOutput as e:
        return RecordedAnswer(identity, error=f"the API answered {e}", origin=origin)
    return RecordedAnswer(
        id=identity,
        output=said.text,
        tool_calls=tuple(uniform_call(call) for call in said.tool_calls),
        calls_unknown=_describe_unknown_calls(body, origin),
        usage=fields.parse_usage(fields.as_mapping(body.get("usage"))),
        finish_reason=said.finish_reason,
        origin=origin,
    )


def _describe_unknown_calls(body: JsonObject, origin: Origin) -> str:
    """What of a body is not known and might be a call of a tool, as a sentence; empty for nothing."""
    if body.get("object") == "response":
        kinds = (
            str(fields.as_mapping(item).get("type")) for item in fields.as_list(body.get("output"))
        )
        for kind in kinds:
            if kind not in _NO_CALLS and not kind.endswith(_OF_CALLS):
                item = f"an item of the type `{excerpt(kind, 60)}`"
                return f"the response has {item}, which is not known"
        return ""
    choices = fields.as_list(body.get("choices"))[:1]
    try:
        messages.parse_messages(
            [fields.as_mapping(choice).get("message") for choice in choices], origin
        )
    except ConfigError as e:
        return e.mistakes[0].what
    return ""


def _error(value: Any) -> str:
    """What an error object says; empty where there is none."""
    about = fields.as_mapping(value)
    return str(about.get("message") or about.get("code") or value or "")


FORMATS.register("openai-batch")(RecordingFormat("openai-batch", recognises, read))
