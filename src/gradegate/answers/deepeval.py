"""DeepEval: goldens with their ``actual_output``, as ``EvaluationDataset.save_as`` writes them, joined by the ``input``.

Format: https://deepeval.com/docs/evaluation-datasets; ``configs/goldens.py`` reads the rows.
"""

from __future__ import annotations

from typing import Any

from gradegate.configs import goldens
from gradegate.conversation import Turn
from gradegate.errors import ConfigError, Origin
from gradegate.files.lines import Map
from gradegate.recording import fields
from gradegate.recording.answer import SHAPES, Answer, Question, Rows, Shape


def recognises(rows: Rows) -> bool:
    """Rows with columns of a dataset."""
    return goldens.are_goldens(rows[:1])


def read(rows: Rows, file: str) -> list[Answer]:
    """An answer for each golden. Raises ConfigError."""
    return fields.each(rows, file, lambda row, origin: _answer(row, file, origin))


def _answer(row: Map, file: str, origin: Origin) -> Answer:
    (test,) = goldens.tests([row], file, joined=False)
    messages = fields.turns(test.get("turns"), origin)
    asked = messages[0].content if messages else test["vars"].get("input")
    if not isinstance(asked, str):
        raise ConfigError.at("the golden has no `input`", origin, "write it as DeepEval saves it")
    output = test.get("providerOutput")
    called: Any = row.get("tools_called") or row.get("toolsCalled")
    return Answer(
        question=Question(asked),
        output=output,
        error="" if output is not None or messages else "the golden has no `actual_output`",
        messages=messages,
        tool_calls=fields.tool_calls(_calls(called), origin),
        retrieval_context=_documents(test, messages),
        metadata=fields.mapping(test.get("metadata")),
        origin=origin,
    )


def _calls(called: Any) -> Any:
    """DeepEval's ``ToolCall``: a name with ``input_parameters``."""
    if not isinstance(called, list):
        return called
    return [
        {"name": fields.mapping(it).get("name"), "arguments": fields.mapping(it).get("input_parameters") or {}}
        for it in called
    ]


def _documents(test: Map, messages: tuple[Turn, ...]) -> tuple[str, ...]:
    """What was retrieved for the answer."""
    found = test["vars"].get("retrieval_context") if not messages else None
    return tuple(str(item) for item in fields.listed(found) if str(item).strip())


SHAPES.register("deepeval")(
    Shape("deepeval", "goldens of DeepEval with `actual_output`, by their `input`", recognises, read)
)
