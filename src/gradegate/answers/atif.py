"""ATIF: trajectories of agents in the Agent Trajectory Interchange Format, one JSON document or line for each.

Format: https://harborframework.com/docs/trajectory-format, versions 1.0 to 1.7. ``extra`` of the trajectory may name the call
as ``gradegate.case``, and so may ``session_id``; else the first message of the user is the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from gradegate.access.hiding import excerpt
from gradegate.errors import ConfigError, Origin
from gradegate.files.lines import Map
from gradegate.recording import fields, messages
from gradegate.recording.answer import CASE, SHAPES, Answer, File, Question, Shape

_SOURCES = ("user", "agent", "system")
_STEP = frozenset(
    "step_id timestamp source model_name reasoning_effort message reasoning_content tool_calls observation metrics "
    "is_copied_context extra llm_call_count".split()
)


def recognises(row: Map) -> bool:
    """A version of ATIF, and steps."""
    return "steps" in row and str(row.get("schema_version", "")).startswith("ATIF")


def read(files: Sequence[File]) -> list[Answer]:
    """An answer for each trajectory. Raises ConfigError."""
    return fields.each(files, _answer)


def _answer(row: Map, origin: Origin) -> Answer:
    steps = [fields.mapping(step) for step in fields.listed(row.get("steps"))]
    own = [step for step in steps if not step.get("is_copied_context")]
    said = messages.turns([message for step in steps for message in _messages(step, origin)], origin)
    asked = next((turn.content for turn in said if turn.role == "user"), "")
    named = fields.mapping(row.get("extra")).get(CASE)
    if not isinstance(named, str) and not asked:
        raise ConfigError.at(
            "the trajectory has no message of the user", origin, f"name its call as `{CASE}` in `extra`"
        )
    answered = any(turn.role == "assistant" for turn in said)
    return Answer(
        id=named if isinstance(named, str) else "",
        question=None if isinstance(named, str) else Question(asked, session=str(row.get("session_id") or "")),
        error="" if answered else "the trajectory has no answer of the agent",
        messages=said,
        untold=next(filter(None, map(_untold, steps)), ""),
        usage=fields.usage(*_took(fields.mapping(row.get("final_metrics")), own)),
        origin=origin,
    )


def _messages(step: Mapping[str, Any], origin: Origin) -> Iterator[dict[str, Any]]:
    source, content = step.get("source"), step.get("message")
    if source not in _SOURCES:
        raise ConfigError.at(
            "a step has no source that is known", origin, f"write one of {', '.join(map(str, _SOURCES))}"
        )
    written = step.get("tool_calls") or []
    if not isinstance(written, list):
        raise ConfigError.at("`tool_calls` of a step is not a list", origin, "write it as ATIF has it")
    calls = [_call(fields.mapping(it), origin) for it in written]
    if source == "user":
        yield {"role": "user", "content": content}
    elif source == "agent" and (content or calls or not step.get("reasoning_content")):  # a thought is no answer
        yield {"role": "assistant", "content": content, "tool_calls": calls}
    ids = {call["id"] for call in calls}
    for result in _results(step):
        if result.get("source_call_id") in ids:
            yield {
                "role": "tool",
                "tool_call_id": result["source_call_id"],
                "content": _observed(result.get("content")),
            }


def _call(written: Mapping[str, Any], origin: Origin) -> Mapping[str, Any]:
    """Raises ConfigError."""
    named = {"id": written.get("tool_call_id"), "name": written.get("function_name")}
    return fields.tool_call({**named, "arguments": written.get("arguments")}, origin)


def _results(step: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from map(fields.mapping, fields.listed(fields.mapping(step.get("observation")).get("results")))


def _observed(content: Any) -> Any:
    """What a tool gave: a text, or parts of which pictures are left out."""
    return content if content is None or isinstance(content, list) else fields.as_text(content)


def _untold(step: Mapping[str, Any]) -> str:
    """Why a step may have called tools that it does not tell, as a sentence; empty where it cannot."""
    if step.get("source") != "agent":
        return ""
    strange = next((key for key, value in step.items() if key not in _STEP and value is not None), "")
    if strange:
        return f"a step has the key `{excerpt(strange, 60)}`, which is not known"
    ids = {fields.mapping(it).get("tool_call_id") for it in fields.listed(step.get("tool_calls"))}
    for result in _results(step):
        if result.get("subagent_trajectory_ref"):
            return "a step hands over to another agent, whose trajectory is another one"
        if result.get("source_call_id") not in ids:
            return "a step observes what came of an action, and has no call of it"
    return ""


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
