"""ATIF: trajectories of agents in the Agent Trajectory Interchange Format, one JSON document or line for each.

Format: https://harborframework.com/docs/trajectory-format, versions 1.0 to 1.7. ``extra`` of the trajectory may name the call
as ``gradegate.case``, and so may ``session_id``; else the first message of the user is the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from gradegate.errors import ConfigError, Origin
from gradegate.files.lines import Map
from gradegate.recording import fields
from gradegate.recording.answer import CASE, SHAPES, Answer, Question, Rows, Shape


def recognises(rows: Rows) -> bool:
    """A version of ATIF, and steps."""
    return str(rows[0].get("schema_version", "")).startswith("ATIF") and "steps" in rows[0]


def read(rows: Rows, file: str) -> list[Answer]:
    """An answer for each trajectory. Raises ConfigError."""
    return fields.each(rows, file, _answer)


def _answer(row: Map, origin: Origin) -> Answer:
    steps = [fields.mapping(step) for step in fields.listed(row.get("steps"))]
    own = [step for step in steps if not step.get("is_copied_context")]
    turns = fields.turns(list(_messages(steps)), origin)
    asked = next((turn.content for turn in turns if turn.role == "user"), "")
    named = fields.mapping(row.get("extra")).get(CASE)
    if not isinstance(named, str) and not asked:
        raise ConfigError.at(
            "the trajectory has no message of the user", origin, f"name its call as `{CASE}` in `extra`"
        )
    answered = any(turn.role == "assistant" for turn in turns)
    return Answer(
        id=named if isinstance(named, str) else "",
        question=None if isinstance(named, str) else Question(asked, session=str(row.get("session_id") or "")),
        error="" if answered else "the trajectory has no answer of the agent",
        messages=turns,
        usage=fields.usage(*_took(fields.mapping(row.get("final_metrics")), own)),
        origin=origin,
    )


def _messages(steps: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for step in steps:
        content = step.get("message")
        if step.get("source") == "user":
            yield {"role": "user", "content": content}
        elif step.get("source") == "agent":
            calls = [_call(fields.mapping(it)) for it in fields.listed(step.get("tool_calls"))]
            yield {"role": "assistant", "content": content, "tool_calls": calls}
            for result in fields.listed(fields.mapping(step.get("observation")).get("results")):
                given = fields.mapping(result)
                yield {"role": "tool", "tool_call_id": given.get("source_call_id"), "content": given.get("content")}


def _call(written: Mapping[str, Any]) -> Mapping[str, Any]:
    return fields.call(written.get("tool_call_id"), str(written.get("function_name")), written.get("arguments", {}))


def _took(
    final: Mapping[str, Any], steps: list[Mapping[str, Any]]
) -> tuple[dict[str, Any], float | None, float | None]:
    """Tokens, dollars and seconds: of the whole trajectory, else those of its steps together."""
    each = [fields.mapping(step.get("metrics")) for step in steps if step.get("metrics")]

    def total(name: str) -> float | None:
        known = [found for it in each if (found := fields.number(it.get(name))) is not None]
        whole = fields.number(final.get(f"total_{name}"))
        return whole if whole is not None else sum(known) if known and len(known) == len(each) else None

    tokens = {name: total(name) for name in ("prompt_tokens", "completion_tokens")}
    return tokens, total("cost_usd"), _seconds(steps)


def _seconds(steps: list[Mapping[str, Any]]) -> float | None:
    """From the first time stamp to the last one."""
    try:
        stamps = [datetime.fromisoformat(step["timestamp"]) for step in steps if step.get("timestamp")]
        taken = (stamps[-1] - stamps[0]).total_seconds() if len(stamps) > 1 else -1.0
    except (TypeError, ValueError):
        return None
    return taken if taken >= 0 else None


SHAPES.register("atif")(
    Shape("atif", "trajectories in the Agent Trajectory Interchange Format (ATIF)", recognises, read)
)
