"""promptfoo's results: the file of ``promptfoo eval -o results.json``, or its JSON lines, one result a line.

Format: ``EvaluateResult`` of promptfoo, ``src/types/index.ts``. A result names no id: prompt, variables and provider do.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from gradegate.errors import ConfigError, Origin
from gradegate.files.documents import Map
from gradegate.recordings.parsing import fields
from gradegate.recordings.parsing.recorded_answer import (
    FORMATS,
    RecordedAnswer,
    RecordedQuestion,
    RecordingFile,
    RecordingFormat,
)
from gradegate.structs import JsonObject

_ERROR = (
    2  # `failureReason`: the provider failed; of an assertion that failed, `error` is the reason
)


def recognises(row: Map) -> bool:
    """An evaluation with results, or a result: a prompt with its text, and who answered or with what."""
    raw = fields.as_mapping(row.get("prompt")).get("raw")
    return _is_evaluation(row) or (raw is not None and not {"provider", "response"}.isdisjoint(row))


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each result. Raises ConfigError."""
    return fields.read_rows(
        (RecordingFile(file.name, list(_results(file))) for file in files), _answer
    )


def _results(file: RecordingFile) -> Iterator[Any]:
    for row in file.rows:
        if _is_evaluation(row):
            yield from row["results"]["results"]
        else:
            yield row


def _is_evaluation(row: JsonObject) -> bool:
    return isinstance(fields.as_mapping(row.get("results")).get("results"), list)


def _answer(result: Any, origin: Origin) -> RecordedAnswer:
    result = fields.as_mapping(result)
    response, prompt = (
        fields.as_mapping(result.get("response")),
        fields.as_mapping(result.get("prompt")),
    )
    if not isinstance(prompt.get("raw"), str):
        raise ConfigError.at(
            "the result has no `prompt.raw`",
            origin,
            "write it with `promptfoo eval -o results.json`",
        )
    provider = fields.as_mapping(result.get("provider"))
    error = response.get("error")
    if result.get("failureReason", _ERROR) == _ERROR:
        error = error or result.get("error")
    output = fields.as_text(response.get("output"))
    latency = (
        None if response.get("cached") else fields.parse_number(result.get("latencyMs"))
    )  # a cache is always quick
    cost = fields.parse_number(response.get("cost", result.get("cost")))
    tokens = fields.as_mapping(response.get("tokenUsage", result.get("tokenUsage")))
    return RecordedAnswer(
        question=RecordedQuestion(
            text=prompt["raw"],
            whole=True,
            vars=fields.as_mapping(result.get("vars")),
            provider=str(provider.get("label") or provider.get("id") or ""),
        ),
        output=output,
        error=str(error) if error else "" if output is not None else "the result has no output",
        usage=fields.parse_usage(tokens, cost, None if latency is None else latency / 1000),
        finish_reason=str(response.get("finishReason") or ""),
        metadata=fields.as_mapping(response.get("metadata")),
        origin=origin,
    )


FORMATS.register("promptfoo")(RecordingFormat("promptfoo", recognises, read))
