"""DeepEval: goldens with an ``actual_output``, as ``EvaluationDataset.save_as`` writes them. The ``input`` is the question.

Format: https://deepeval.com/docs/evaluation-datasets; ``config/goldens.py`` parses the rows.
"""

import json
from collections.abc import Sequence
from typing import Any

from gradegate.config import goldens
from gradegate.core.conversation import Turn
from gradegate.errors import ConfigError, Origin
from gradegate.files.documents import Map
from gradegate.providers.api.content import CALLS, flatten_calls
from gradegate.recordings.parsing import fields, messages
from gradegate.recordings.parsing.recorded_answer import (
    FORMATS,
    RecordedAnswer,
    RecordedQuestion,
    RecordingFile,
    RecordingFormat,
)
from gradegate.structs import JsonObject, replace

_ARGUMENTS = ("input_parameters", "inputParameters", "args")
_CALLS = ("tools_called", "toolsCalled", "mcp_tools_called", "mcpToolsCalled")


def recognises(row: Map) -> bool:
    """Whether a row has the columns of a dataset."""
    return goldens.are_goldens([row])


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each golden. Raises ConfigError."""
    return fields.read_rows(files, _parse_golden)


def _parse_golden(row: Map, origin: Origin) -> RecordedAnswer:
    test = goldens.test_from_golden(row, origin.file, has_joined_lists=False)
    variables = test["vars"]
    turns = _parse_turns(row, test.get("turns"), origin)
    question = turns[0].content if turns else variables.get("input")
    if not isinstance(question, str):
        raise ConfigError.at("the golden has no `input`", origin, "write it as DeepEval saves it")
    output = test.get("providerOutput")
    error = ""
    if output is None and not turns:
        error = "the golden has no `actual_output`"

    # Tools may be traced, or noted by the application, and not be listed.
    tool_calls = _parse_calls(row, origin)
    metadata = fields.as_mapping(test.get("metadata"))
    has_unread_calls = row.get("trace") or any(metadata.get(key) for key in _CALLS)
    calls_unknown = ""
    if has_unread_calls and not tool_calls and not turns:
        calls_unknown = "the golden lists no tool calls, and has calls in its `trace` or metadata"

    documents: Sequence[Any] = ()
    if not turns:  # the turns of a conversation have documents of their own
        documents = fields.as_list(variables.get("retrieval_context"))
    return RecordedAnswer(
        question=RecordedQuestion(question),
        output=output,
        error=error,
        messages=tuple(turns),
        tool_calls=tool_calls,
        calls_unknown=calls_unknown,
        retrieval_context=tuple(str(item) for item in documents if str(item).strip()),
        metadata=metadata,
        origin=origin,
    )


def _parse_turns(row: Map, test_turns: Any, origin: Origin) -> list[Turn]:
    """The turns of a conversation. A turn of the assistant has its tool calls if the row says which."""
    row_turns = row.get("turns")
    if isinstance(row_turns, str):
        row_turns = json.loads(row_turns)
    turns = []
    for row_turn, item in zip(row_turns or (), test_turns or (), strict=False):
        calls = _parse_calls(row_turn, origin)
        test_turn = fields.as_mapping(item)
        key = "retrieval_context"
        documents = fields.parse_texts(test_turn.get(key), key, origin)
        message = {"role": test_turn.get("role"), "content": test_turn.get("content")}
        for turn in messages.parse_messages([message], origin):  # none for a system message
            metadata = {}
            if turn.role == "assistant" and calls is not None:
                metadata = {CALLS: list(calls)}
            turns.append(replace(turn, retrieval_context=documents, metadata=metadata))
    return turns


def _parse_calls(owner: Any, origin: Origin) -> tuple[JsonObject, ...] | None:
    """The tool calls of a row or a turn: DeepEval's ``ToolCall`` and ``MCPToolCall``. None if it does not list calls."""
    values = fields.as_mapping(owner)
    lists = [values[key] for key in _CALLS if values.get(key) is not None]
    if not lists:
        return None
    calls = []
    for item in flatten_calls(lists):
        call = fields.as_mapping(item)
        arguments = [call[key] for key in _ARGUMENTS if call.get(key) is not None]
        calls.append({"name": call.get("name"), "arguments": arguments[0] if arguments else {}})
    return fields.parse_tool_calls(calls, origin)


FORMATS.register("deepeval")(RecordingFormat("deepeval", recognises, read))
