"""promptfoo's results: the file of ``promptfoo eval -o results.json``, or its JSON lines, one result a line.

Format: ``EvaluateResult`` of promptfoo, ``src/types/index.ts``. A result names no id: prompt, variables and provider do.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from gradegate.errors import ConfigError, Origin
from gradegate.files.documents import Map
from gradegate.recordings.parsing import fields
from gradegate.recordings.parsing.recorded_answer import SHAPES, Answer, File, Question, Shape
from gradegate.structs import JsonObject

_ERROR = (
    2  # `failureReason`: the provider failed; of an assertion that failed, `error` is the reason
)


def recognises(row: Map) -> bool:
    """An evaluation with results, or a result: a prompt with its text, and who answered or with what."""
    raw = fields.mapping(row.get("prompt")).get("raw")
    return _is_evaluation(row) or (raw is not None and not {"provider", "response"}.isdisjoint(row))


def read(files: Sequence[File]) -> list[Answer]:
    """An answer for each result. Raises ConfigError."""
    return fields.each((File(file.name, list(_results(file))) for file in files), _answer)


def _results(file: File) -> Iterator[Any]:
    for row in file.rows:
        if _is_evaluation(row):
            yield from row["results"]["results"]
        else:
            yield row


def _is_evaluation(row: JsonObject) -> bool:
    return isinstance(fields.mapping(row.get("results")).get("results"), list)


def _answer(result: Any, origin: Origin) -> Answer:
    result = fields.mapping(result)
    response, prompt = fields.mapping(result.get("response")), fields.mapping(result.get("prompt"))
    if not isinstance(prompt.get("raw"), str):
        raise ConfigError.at(
            "the result has no `prompt.raw`",
            origin,
            "write it with `promptfoo eval -o results.json`",
        )
    provider = fields.mapping(result.get("provider"))
    error = response.get("error")
    if result.get("failureReason", _ERROR) == _ERROR:
        error = error or result.get("error")
    output = fields.as_text(response.get("output"))
    latency = (
        None if response.get("cached") else fields.number(result.get("latencyMs"))
    )  # a cache is always quick
    cost = fields.number(response.get("cost", result.get("cost")))
    tokens = fields.mapping(response.get("tokenUsage", result.get("tokenUsage")))
    return Answer(
        question=Question(
            text=prompt["raw"],
            whole=True,
            vars=fields.mapping(result.get("vars")),
            provider=str(provider.get("label") or provider.get("id") or ""),
        ),
        output=output,
        error=str(error) if error else "" if output is not None else "the result has no output",
        usage=fields.usage(tokens, cost, None if latency is None else latency / 1000),
        finish_reason=str(response.get("finishReason") or ""),
        metadata=fields.mapping(response.get("metadata")),
        origin=origin,
    )


SHAPES.register("promptfoo")(Shape("promptfoo", recognises, read))
