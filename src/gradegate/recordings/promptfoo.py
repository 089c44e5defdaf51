"""promptfoo's results: the file of ``promptfoo eval -o results.json``, or its JSON lines with one result a line.

Format: ``EvaluateResult`` of promptfoo, ``src/types/index.ts``. Prompt, variables and provider of a result name its call.
"""

from collections.abc import Sequence
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

# The `failureReason` if the provider failed. If an assertion failed, `error` is the reason of the assertion.
_PROVIDER_FAILED = 2


def recognises(row: Map) -> bool:
    """Whether a row is an evaluation, or a result: a prompt with its text, and a provider or a response."""
    if _is_evaluation(row):
        return True
    prompt = fields.as_mapping(row.get("prompt"))
    return prompt.get("raw") is not None and ("provider" in row or "response" in row)


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each result. Raises ConfigError."""
    files_of_results = [RecordingFile(file.name, _find_results(file)) for file in files]
    return fields.read_rows(files_of_results, _parse_result)


def _find_results(file: RecordingFile) -> list[Any]:
    """The results of the evaluations in a file, and the rows that are results themselves."""
    results = []
    for row in file.rows:
        if _is_evaluation(row):
            results += row["results"]["results"]
        else:
            results.append(row)
    return results


def _is_evaluation(row: JsonObject) -> bool:
    results = fields.as_mapping(row.get("results"))
    return isinstance(results.get("results"), list)


def _parse_result(item: Any, origin: Origin) -> RecordedAnswer:
    result = fields.as_mapping(item)
    prompt = fields.as_mapping(result.get("prompt"))
    if not isinstance(prompt.get("raw"), str):
        cure = "write it with `promptfoo eval -o results.json`"
        raise ConfigError.at("the result has no `prompt.raw`", origin, cure)
    provider = fields.as_mapping(result.get("provider"))
    question = RecordedQuestion(
        text=prompt["raw"],
        whole=True,
        vars=fields.as_mapping(result.get("vars")),
        provider=str(provider.get("label") or provider.get("id") or ""),
    )

    response = fields.as_mapping(result.get("response"))
    output = fields.as_text(response.get("output"))
    error = response.get("error")
    if not error and result.get("failureReason", _PROVIDER_FAILED) == _PROVIDER_FAILED:
        error = result.get("error")
    if not error and output is None:
        error = "the result has no output"

    tokens = fields.as_mapping(response.get("tokenUsage", result.get("tokenUsage")))
    cost = fields.parse_number(response.get("cost", result.get("cost")))
    latency_ms = fields.parse_number(result.get("latencyMs"))
    seconds = None
    if latency_ms is not None and not response.get("cached"):  # a cache is always quick
        seconds = latency_ms / 1000

    return RecordedAnswer(
        question=question,
        output=output,
        error=str(error or ""),
        usage=fields.parse_usage(tokens, cost, seconds),
        finish_reason=str(response.get("finishReason") or ""),
        metadata=fields.as_mapping(response.get("metadata")),
        origin=origin,
    )


FORMATS.register("promptfoo")(RecordingFormat("promptfoo", recognises, read))
