"""Rows of DeepEval datasets as tests: what ``EvaluationDataset.save_as`` writes as JSON, JSON lines or CSV.

Format: https://deepeval.com/docs/evaluation-datasets, and deepeval ``dataset/utils.py``. A row with a ``scenario`` is a
conversation. Each of its keys may be in snake_case or camelCase.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from gradegate.core.provider_spec import Verbatim
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.files.json_text import describe_syntax_error
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

_LISTS = ("context", "retrieval_context")
_VARIABLES = (
    "input",
    "expected_output",
    "scenario",
    "expected_outcome",
    "user_description",
    *_LISTS,
)
# The columns that DeepEval always writes for a single question, and for a conversation
_SINGLE = frozenset({"input", "actual_output", "expected_output", *_LISTS})
_CONVERSATION = frozenset({"scenario", "turns"})
_TURN_KEYS = ("role", "content", "retrieval_context", "images")
# Fields that a CSV file contains as JSON text
_JSON_FIELDS = ("turns", "additional_metadata", "custom_column_key_values")
# Keys of promptfoo's tests, and of a list of turns
_FOREIGN_KEYS = frozenset({"vars", "assert", "role", "options"})
_MAX_DESCRIPTION = 80  # characters
# DeepEval joins a document with its source.
_TAGGED_DOCUMENT = re.compile(r"deepeval_source=.*?,deepeval_context=(.*)", re.DOTALL)
_CAMEL_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def are_goldens(rows: Any) -> bool:
    """Whether these are rows of a DeepEval dataset, and not tests of promptfoo."""
    if not isinstance(rows, list) or not rows:
        return False
    return all(isinstance(row, Mapping) and _is_golden(row) for row in rows)


def _is_golden(row: JsonObject) -> bool:
    keys = {_snake_case(key) for key in row}
    if keys & _FOREIGN_KEYS or any(key.startswith("__") for key in keys):
        return False
    is_single = "input" in keys and len(keys & _SINGLE) > 1
    return is_single or keys >= _CONVERSATION


def are_complete_goldens(rows: Any) -> bool:
    """Whether these are rows with every column that DeepEval writes. A CSV file may have some of them by chance."""
    if not are_goldens(rows):
        return False
    return all(row.keys() >= _CONVERSATION or row.keys() >= _SINGLE for row in rows)


def tests_from_goldens(
    rows: Iterable[JsonObject], file: str, has_joined_lists: bool
) -> list[document.Map]:
    """Each row as a test in promptfoo's form. Raises ConfigError with every mistake."""
    tests = []
    mistakes: list[Mistake] = []
    for row in rows:
        with gather_mistakes(mistakes):
            tests.append(test_from_golden(row, file, has_joined_lists))
    if mistakes:
        raise ConfigError(*mistakes)
    return tests


def test_from_golden(row: JsonObject, file: str, has_joined_lists: bool) -> document.Map:
    """A row as a test in promptfoo's form, with the line of the row. Raises ConfigError.

    JSON lines and CSV have joined lists: the documents of a list as one text, separated by ``|``.
    """
    line = getattr(row, "line", 0)
    origin = Origin(file, line)
    fields = {_snake_case(key): value for key, value in row.items() if value not in (None, "")}
    for name in _JSON_FIELDS:
        fields[name] = _parse_json(fields.get(name), name, origin)

    variables = {}
    for name, value in (fields["custom_column_key_values"] or {}).items():
        variables[str(name)] = _verbatim(value)
    for name in _VARIABLES:
        if name in _LISTS and name in fields:
            variables[name] = _read_documents(fields[name], has_joined_lists)
        elif name in fields:
            variables[name] = _verbatim(fields[name])

    description = fields.get("name") or fields.get("input") or fields.get("scenario") or ""
    test: dict[str, Any] = {
        "description": excerpt(str(description), _MAX_DESCRIPTION),
        "vars": variables,
        "options": {"disableVarExpansion": True},
        "metadata": fields["additional_metadata"] or {},
    }
    if fields.get("scenario"):
        test["turns"] = _read_turns(fields["turns"], origin)
    elif "actual_output" in fields:
        test["providerOutput"] = str(fields["actual_output"])
    test_at_line: document.Map = document.at_line(test, line)
    return test_at_line


def _read_turns(written: Any, origin: Origin) -> list[Any]:
    """The turns of a conversation. Raises ConfigError if there are none."""
    if not isinstance(written, list) or not written:
        cure = "record the conversation: gradegate does not simulate a user"
        raise ConfigError.at("the conversation has a scenario and no turns", origin, cure)
    return [_read_turn(turn) if isinstance(turn, Mapping) else turn for turn in written]


def _read_turn(written: JsonObject) -> dict[str, Any]:
    fields = {_snake_case(key): value for key, value in written.items()}
    turn = {name: fields[name] for name in _TURN_KEYS if fields.get(name) is not None}
    documents = turn.get("retrieval_context")
    if isinstance(documents, list):
        turn["retrieval_context"] = [_without_source(item) for item in documents]
    return turn


def _read_documents(value: Any, has_joined_lists: bool) -> Any:
    """A list of documents, also from a text. Another value stays as it is."""
    if isinstance(value, str):
        value = value.split("|") if has_joined_lists else [value]
    if not isinstance(value, list):
        return value
    return [_verbatim(_without_source(item)) for item in value]


def _without_source(item: Any) -> Any:
    """The text of a document, without the source that DeepEval joins with it."""
    if not isinstance(item, str):
        return item
    match = _TAGGED_DOCUMENT.fullmatch(item)
    return match[1] if match else item


def _verbatim(value: Any) -> Any:
    return Verbatim(value) if isinstance(value, str) else value


def _parse_json(value: Any, name: str, origin: Origin) -> Any:
    """The value in a JSON text; another value stays as it is. Raises ConfigError."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as e:
        what = f"`{name}` is not valid JSON: {describe_syntax_error(e, value)}"
        raise ConfigError.at(what, origin, "write it as DeepEval saves it") from e


def _snake_case(key: Any) -> str:
    return _CAMEL_WORD.sub("_", str(key)).lower()
