"""DeepEval: goldens with their ``actual_output``, as ``EvaluationDataset.save_as`` writes them, joined by the ``input``.

Format: https://deepeval.com/docs/evaluation-datasets; ``config/goldens.py`` reads the rows.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from gradegate.config import goldens
from gradegate.core.conversation import Turn
from gradegate.errors import ConfigError, Origin
from gradegate.files.documents import Map
from gradegate.providers.api.content import CALLS
from gradegate.recordings.parsing import fields
from gradegate.recordings.parsing.recorded_answer import (
    FORMATS,
    RecordedAnswer,
    RecordedQuestion,
    RecordingFile,
    RecordingFormat,
)
from gradegate.structs import JsonObject, replace

_GIVEN = ("input_parameters", "inputParameters", "args")
_CALLED = ("tools_called", "toolsCalled", "mcp_tools_called", "mcpToolsCalled")


def recognises(row: Map) -> bool:
    """A row with columns of a dataset."""
    return goldens.are_goldens([row])


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each golden. Raises ConfigError."""
    return fields.read_rows(files, _answer)


def _answer(row: Map, origin: Origin) -> RecordedAnswer:
    test = goldens.test_from_golden(row, origin.file, has_joined_lists=False)
    said = tuple(_turns(row, test.get("turns"), origin))
    asked = said[0].content if said else test["vars"].get("input")
    if not isinstance(asked, str):
        raise ConfigError.at("the golden has no `input`", origin, "write it as DeepEval saves it")
    output = test.get("providerOutput")
    documents = fields.as_list(test["vars"].get("retrieval_context") if not said else None)
    return RecordedAnswer(
        question=RecordedQuestion(asked),
        output=output,
        error="" if output is not None or said else "the golden has no `actual_output`",
        messages=said,
        tool_calls=_calls(row, origin),
        retrieval_context=tuple(str(item) for item in documents if str(item).strip()),
        metadata=fields.as_mapping(test.get("metadata")),
        origin=origin,
    )


def _turns(row: Map, turns: Any, origin: Origin) -> Iterator[Turn]:
    """The turns; which tools an answer called is known where its turn says so."""
    written = row.get("turns")
    written = json.loads(written) if isinstance(written, str) else written
    for raw, turn in zip(written or (), map(fields.as_mapping, turns or ()), strict=False):
        called = _calls(raw, origin)
        told = {} if called is None else {CALLS: list(called)}
        documents = fields.parse_texts(turn.get("retrieval_context"), "retrieval_context", origin)
        for said in fields.parse_messages(
            [{"role": turn.get("role"), "content": turn.get("content")}], origin
        ):
            own = told if said.role == "assistant" else {}
            yield replace(said, retrieval_context=documents, metadata=own)


def _calls(written: Any, origin: Origin) -> tuple[JsonObject, ...] | None:
    """DeepEval's ``ToolCall``, a name with ``input_parameters``, and its ``MCPToolCall``; None where neither is there."""
    about = fields.as_mapping(written)
    lists = [about[key] for key in _CALLED if about.get(key) is not None]
    calls = list[JsonObject]()
    for call in (
        fields.as_mapping(it)
        for value in lists
        for it in (value if isinstance(value, list) else [value])
    ):
        given = (call[key] for key in _GIVEN if call.get(key) is not None)
        calls.append({"name": call.get("name"), "arguments": next(given, {})})
    return fields.parse_tool_calls(calls, origin) if lists else None


FORMATS.register("deepeval")(RecordingFormat("deepeval", recognises, read))
