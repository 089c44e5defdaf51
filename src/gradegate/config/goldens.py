"""Rows of DeepEval datasets as tests: what ``EvaluationDataset.save_as`` writes as JSON, JSON lines or CSV.

Format: https://deepeval.com/docs/evaluation-datasets, and deepeval ``dataset/utils.py``. A row with a ``scenario`` is a
conversation. JSON lines and CSV join the documents of a list with ``|``, and so does this take them apart.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from gradegate.core.provider_spec import Verbatim
from gradegate.errors import ConfigError, Mistake, Origin, gather_mistakes
from gradegate.files import documents as document
from gradegate.files.documents import fault
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

LISTS = ("context", "retrieval_context")
VARIABLES = ("input", "expected_output", "scenario", "expected_outcome", "user_description", *LISTS)
_WRITTEN = frozenset({"input", "actual_output", "expected_output", *LISTS})
_TURN = ("role", "content", "retrieval_context", "images")
_OTHERS = frozenset(
    {"vars", "assert", "role", "options"}
)  # of promptfoo's tests, and of a list of turns
_TAGGED = re.compile(r"deepeval_source=.*?,deepeval_context=(.*)", re.DOTALL)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def are_goldens(rows: Any) -> bool:
    """Whether these are rows of a DeepEval dataset, and no tests of promptfoo."""
    if not isinstance(rows, list) or not rows:
        return False
    for row in rows:
        keys = {_snake(key) for key in row} if isinstance(row, Mapping) else set()
        single = "input" in keys and keys & _WRITTEN - {"input"}
        strange = keys & _OTHERS or any(key.startswith("__") for key in keys)
        if strange or not (single or {"scenario", "turns"} <= keys):
            return False
    return True


def are_complete(rows: Any) -> bool:
    """Whether these are rows with every column that DeepEval writes: a CSV file may have some of them by chance."""
    return are_goldens(rows) and all(
        {"scenario", "turns"} <= set(row) or set(row) >= _WRITTEN for row in rows
    )


def tests_from_goldens(rows: Iterable[JsonObject], file: str, joined: bool) -> list[document.Map]:
    """Each row as a test in promptfoo's form; ``joined``: lists are texts with ``|``. Raises ConfigError."""
    read = []
    mistakes: list[Mistake] = []
    for row in rows:
        line = getattr(row, "line", 0)
        with gather_mistakes(mistakes):
            read.append(document.at_line(_test(row, joined, Origin(file, line)), line))
    if mistakes:
        raise ConfigError(*mistakes)
    return read


def _test(row: JsonObject, joined: bool, origin: Origin) -> dict[str, Any]:
    fields = {_snake(key): value for key, value in row.items() if value not in (None, "")}
    for name in ("turns", "additional_metadata", "custom_column_key_values"):
        fields[name] = _parsed(fields.get(name), name, origin)
    variables = {
        name: _variable(name, fields[name], joined) for name in VARIABLES if name in fields
    }
    extra = {
        str(key): _verbatim(value)
        for key, value in (fields["custom_column_key_values"] or {}).items()
    }
    test = {
        "description": excerpt(
            str(fields.get("name") or fields.get("input") or fields.get("scenario") or ""), 80
        ),
        "vars": {**extra, **variables},
        "options": {"disableVarExpansion": True},
        "metadata": fields["additional_metadata"] or {},
    }
    if fields.get("scenario"):
        written = fields["turns"]
        if not isinstance(written, list) or not written:
            cure = "record the conversation: gradegate does not simulate a user"
            raise ConfigError.at("the conversation has a scenario and no turns", origin, cure)
        test["turns"] = [_turn(turn) if isinstance(turn, Mapping) else turn for turn in written]
    elif "actual_output" in fields:
        test["providerOutput"] = str(fields["actual_output"])
    return test


def _turn(written: JsonObject) -> dict[str, Any]:
    fields = {_snake(key): value for key, value in written.items()}
    turn = {name: fields[name] for name in _TURN if fields.get(name) is not None}
    if isinstance(turn.get("retrieval_context"), list):
        turn["retrieval_context"] = [_untagged(item) for item in turn["retrieval_context"]]
    return turn


def _parsed(value: Any, name: str, origin: Origin) -> Any:
    """CSV holds these as JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as e:
        raise ConfigError.at(
            f"`{name}` is not valid JSON: {fault(e, value)}",
            origin,
            "write it as DeepEval saves it",
        ) from e


def _variable(name: str, value: Any, joined: bool) -> Any:
    if name not in LISTS:
        return _verbatim(value)
    if isinstance(value, str):
        value = value.split("|") if joined else [value]
    return [_verbatim(_untagged(item)) for item in value] if isinstance(value, list) else value


def _verbatim(value: Any) -> Any:
    return Verbatim(value) if isinstance(value, str) else value


def _untagged(item: Any) -> Any:
    tagged = _TAGGED.fullmatch(item) if isinstance(item, str) else None
    return tagged[1] if tagged else item


def _snake(key: Any) -> str:
    return _CAMEL.sub("_", str(key)).lower()
