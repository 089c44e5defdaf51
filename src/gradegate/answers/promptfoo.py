"""promptfoo's results: the file of ``promptfoo eval -o results.json``, or its JSON lines, one result a line.

Format: ``EvaluateResult`` of promptfoo, ``src/types/index.ts``. A result names no id: prompt, variables and provider do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradegate.errors import ConfigError, Origin
from gradegate.recording import fields
from gradegate.recording.answer import SHAPES, Answer, Question, Rows, Shape

_ERROR = 2  # `failureReason`: the provider failed; of an assertion that failed, `error` is the reason


def recognises(rows: Rows) -> bool:
    """An evaluation with results, or a result with its test case."""
    return _is_evaluation(rows[0]) or {"testCase", "prompt", "provider"} <= rows[0].keys()


def read(rows: Rows, file: str) -> list[Answer]:
    """An answer for each result. Raises ConfigError."""
    results = [it for row in rows for it in (row["results"]["results"] if _is_evaluation(row) else [row])]
    return fields.each(results, file, _answer)


def _is_evaluation(row: Mapping[str, Any]) -> bool:
    return isinstance(fields.mapping(row.get("results")).get("results"), list)


def _answer(result: Any, origin: Origin) -> Answer:
    result = fields.mapping(result)
    response, prompt = fields.mapping(result.get("response")), fields.mapping(result.get("prompt"))
    if not isinstance(prompt.get("raw"), str):
        raise ConfigError.at("the result has no `prompt.raw`", origin, "write it with `promptfoo eval -o results.json`")
    provider = fields.mapping(result.get("provider"))
    failed = result.get("error") if result.get("failureReason") == _ERROR or "failureReason" not in result else None
    error = response.get("error") or failed
    output = fields.as_text(response.get("output"))
    latency = None if response.get("cached") else fields.number(result.get("latencyMs"))  # a cache is always quick
    cost = fields.number(response.get("cost", result.get("cost")))
    tokens = fields.mapping(response.get("tokenUsage", result.get("tokenUsage")))
    return Answer(
        question=Question(prompt["raw"], _vars(result), str(provider.get("label") or provider.get("id") or "")),
        output=output,
        error=str(error) if error else "" if output is not None else "the result has no output",
        usage=fields.usage(tokens, cost, None if latency is None else latency / 1000),
        finish_reason=str(response.get("finishReason") or ""),
        metadata=fields.mapping(response.get("metadata")),
        origin=origin,
    )


def _vars(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The variables apart from those that promptfoo adds while it runs, such as ``_conversation`` and ``sessionId``."""
    own = fields.mapping(fields.mapping(result.get("testCase")).get("vars"))
    return {name: value for name, value in fields.mapping(result.get("vars")).items() if name in own}


SHAPES.register("promptfoo")(
    Shape("promptfoo", "results of promptfoo as .json or .jsonl, by prompt, vars and provider", recognises, read)
)
