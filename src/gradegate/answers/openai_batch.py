"""OpenAI's Batch API: the lines of an output or error file, whose ``custom_id`` is the id of a planned call.

Format: https://platform.openai.com/docs/api-reference/batch/request-output. The body is a chat completion, or a response of
the Responses API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradegate.asking.completions import Completions
from gradegate.asking.shape import NoOutput
from gradegate.errors import ConfigError, Origin
from gradegate.files.lines import Map
from gradegate.recording import fields
from gradegate.recording.answer import SHAPES, Answer, Rows, Shape

_OK = 200


def recognises(rows: Rows) -> bool:
    """A ``custom_id`` with a response or an error."""
    return "custom_id" in rows[0] and ("response" in rows[0] or "error" in rows[0])


def read(rows: Rows, file: str) -> list[Answer]:
    """An answer for each line. Raises ConfigError."""
    return fields.each(rows, file, _answer)


def _answer(row: Map, origin: Origin) -> Answer:
    identity = row.get("custom_id")
    if not isinstance(identity, str):
        raise ConfigError.at("the line has no `custom_id`", origin, "give each request the id of its case")
    response = fields.mapping(row.get("response"))
    body = fields.mapping(response.get("body"))
    error = _error(row.get("error")) or _error(body.get("error"))
    if not error and response.get("status_code", _OK) != _OK:
        error = f"status {response.get('status_code')}"
    if error:
        return Answer(identity, error=error, origin=origin)
    if body.get("object") == "response":
        return _of_response(identity, body, origin)
    try:
        said = Completions("", {}).read(body)
    except NoOutput as e:
        return Answer(identity, error=f"the API answered {e}", origin=origin)
    return Answer(
        id=identity,
        output=said.text,
        tool_calls=fields.tool_calls([dict(call) for call in said.tool_calls], origin),
        usage=fields.usage(fields.mapping(body.get("usage"))),
        finish_reason=said.finish_reason,
        origin=origin,
    )


def _error(value: Any) -> str:
    """What an error object says; empty where there is none."""
    if not value:
        return ""
    about = fields.mapping(value)
    return str(about.get("message") or about.get("code") or value)


def _of_response(identity: str, body: Mapping[str, Any], origin: Origin) -> Answer:
    items = [fields.mapping(item) for item in fields.listed(body.get("output"))]
    parts = [fields.mapping(part) for item in items for part in fields.listed(item.get("content"))]
    texts = [str(part.get("text") or part.get("refusal") or "") for part in parts]
    calls = [
        fields.call(item.get("call_id"), str(item.get("name")), item.get("arguments", ""))
        for item in items
        if item.get("type") == "function_call"
    ]
    why = fields.mapping(body.get("incomplete_details")).get("reason") or body.get("status")
    return Answer(
        id=identity,
        output="".join(texts) if texts or not calls else None,
        tool_calls=tuple(calls),
        usage=fields.usage(fields.mapping(body.get("usage"))),
        finish_reason=str(why or ""),
        origin=origin,
    )


SHAPES.register("openai-batch")(
    Shape("openai-batch", "output lines of OpenAI's Batch API, by `custom_id`", recognises, read)
)
