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
# Types of items in the output of a response: those that are no calls, and the endings of all others
_OTHER_ITEMS = ("message", "reasoning", "compaction", "mcp_list_tools")
_CALL_ENDINGS = ("_call", "_call_output")


def recognises(row: Map) -> bool:
    """Whether a row has a ``custom_id`` with a response or an error."""
    return "custom_id" in row and ("response" in row or "error" in row)


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each line. Raises ConfigError."""
    return fields.read_rows(files, _parse_line)


def _parse_line(row: Map, origin: Origin) -> RecordedAnswer:
    call_id = row.get("custom_id")
    if not isinstance(call_id, str):
        cure = "give each request the id of its case"
        raise ConfigError.at("the line has no `custom_id`", origin, cure)

    response = fields.as_mapping(row.get("response"))
    body = fields.as_mapping(response.get("body"))
    status = response.get("status_code", _OK)
    error = _describe_error(row.get("error")) or _describe_error(body.get("error"))
    if not error and status != _OK:
        error = f"status {status}"
    if error:
        return RecordedAnswer(call_id, error=error, origin=origin)

    api = Responses("", {}) if _is_response(body) else Completions("", {})
    try:
        reply = api.parse_response(body)
    except NoOutput as e:
        return RecordedAnswer(call_id, error=f"the API answered {e}", origin=origin)
    return RecordedAnswer(
        id=call_id,
        output=reply.text,
        tool_calls=tuple(uniform_call(call) for call in reply.tool_calls),
        calls_unknown=_describe_unknown_calls(body, origin),
        usage=fields.parse_usage(fields.as_mapping(body.get("usage"))),
        finish_reason=reply.finish_reason,
        origin=origin,
    )


def _is_response(body: JsonObject) -> bool:
    """Whether a body is of the Responses API, and not a chat completion."""
    return body.get("object") == "response"


def _describe_unknown_calls(body: JsonObject, origin: Origin) -> str:
    """Say what in a body is unknown and might be a tool call. Empty if nothing is."""
    if _is_response(body):
        for item in fields.as_list(body.get("output")):
            item_type = str(fields.as_mapping(item).get("type"))
            if item_type not in _OTHER_ITEMS and not item_type.endswith(_CALL_ENDINGS):
                shown = f"an item of the type `{excerpt(item_type, 60)}`"
                return f"the response has {shown}, which is not known"
        return ""
    choices = fields.as_list(body.get("choices"))[:1]
    first_messages = [fields.as_mapping(choice).get("message") for choice in choices]
    try:
        messages.parse_messages(first_messages, origin)
    except ConfigError as e:
        return e.mistakes[0].what
    return ""


def _describe_error(value: Any) -> str:
    """The message of an error object, or its code; empty for no error."""
    error = fields.as_mapping(value)
    return str(error.get("message") or error.get("code") or value or "")


FORMATS.register("openai-batch")(RecordingFormat("openai-batch", recognises, read))
