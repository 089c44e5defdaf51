"""Tool calls and the tools that may be called, in one form whatever the vendor: that of OpenAI's Chat Completions.

Forms: https://platform.openai.com/docs/api-reference/chat and /responses, https://platform.claude.com/docs/en/api/messages
(``tool_use``), https://ai.google.dev/api/generate-content (``functionCall``), https://docs.ollama.com/api (arguments as an object),
https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message (``tool-call``),
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

JsonObject = Mapping[str, Any]
CALLS = "tool_calls"  # where the metadata of a turn has them
UNTOLD = "tool_calls_untold"  # where that of an answer says why it is not known which there were
# Kinds that name a function of the caller's.
_FUNCTIONS = (None, "function", "function_call", "tool_use", "tool_call", "tool-call")
_INSIDE = ("function", "functionCall", "custom")  # what may hold the name and the arguments
_NAMES = ("name", "toolName")
_IDS = ("call_id", "id", "toolCallId")
_ARGUMENTS = ("arguments", "args", "input")
DECLARING = ("tools", "functions")  # keys of a provider's config that name what may be called
_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")


def uniform(call: JsonObject) -> dict[str, Any]:
    """``{"id", "type": "function", "function": {"name", "arguments"}}``, where the arguments are JSON text.

    A call that the vendor's own side answers, such as a web search, keeps its ``type`` and has that for a name. What has
    no name at all, or two, has an empty one.
    """
    kind, inner = call.get("type"), _inside(call)
    found = [*names(call)]
    arguments: Any = next((inner[key] for key in _ARGUMENTS if inner.get(key) is not None), {})
    return {
        "id": str(next((call[key] for key in _IDS if call.get(key)), inner.get("id")) or ""),
        "type": "function" if kind in _FUNCTIONS else str(kind),
        "function": {
            "name": found[0] if len(found) == 1 else "" if found or kind in _FUNCTIONS else str(kind).removesuffix("_call"),
            "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False),
        },
    }


def _inside(call: JsonObject) -> JsonObject:
    return next((call[key] for key in _INSIDE if isinstance(call.get(key), Mapping)), call)


def names(call: Any) -> set[str]:
    """What a call says that it calls: one name, or it is no call that anybody could follow."""
    places = (call, _inside(call)) if isinstance(call, Mapping) else ()
    return {place[key] for place in places for key in _NAMES if isinstance(place.get(key), str) and place[key].strip()}


def written(text: str) -> list[dict[str, Any]] | None:
    """The calls that an answer consists of where its whole text is their JSON; None for any other text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return told(json.loads(text))
    except (ValueError, RecursionError):
        return None


def told(value: Any) -> list[dict[str, Any]] | None:
    """The calls of a JSON value: a list of them, one, or a message that holds them; None for anything else."""
    if isinstance(value, Mapping):
        vendors = value["toolCall"].get("functionCalls") if isinstance(value.get("toolCall"), Mapping) else None
        fields = [field for field in (value.get(CALLS), value.get("function_call"), vendors) if field]
        value = [call for field in fields for call in (field if isinstance(field, list) else [field])] or value
    items = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return [uniform(item) for item in items] if items and all(map(_is_call, items)) else None


def _is_call(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    inner = value.get("function", value.get("functionCall"))
    if isinstance(inner, Mapping):
        return isinstance(inner.get("name"), str)
    typed = value.get("type") is not None and value["type"] in _FUNCTIONS
    return isinstance(value.get("name"), str) and (typed or any(key in value for key in _ARGUMENTS))


# --- the tools that may be called -------------------------------------------------------------------------------


def declared(config: JsonObject) -> dict[str, Any] | None:
    """The functions that a provider's ``tools`` and ``functions`` name, with the JSON Schemas of their parameters.

    None where the config names neither. A function without parameters takes none.
    """
    inside = config.get("toolConfig")  # where Bedrock's Converse has them, and Gemini which of them may be called
    beside = [inside["tools"]] if isinstance(inside, Mapping) and inside.get("tools") else []
    written = [*(config[key] for key in DECLARING if config.get(key)), *beside]
    if not written:
        return None
    return {name: schema for value in written for name, schema in _functions(value)}


def _functions(value: Any) -> Iterator[tuple[str, Any]]:
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, Mapping):
            continue
        inside = item.get("functionDeclarations", item.get("function_declarations"))
        if inside is not None:
            yield from ((name, _lower(schema)) for name, schema in _functions(inside))
            continue
        function = next((item[key] for key in ("function", "toolSpec") if isinstance(item.get(key), Mapping)), item)
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            schema = next((function[key] for key in _SCHEMAS if function.get(key) is not None), None)
            inner = function.get("inputSchema")  # of Bedrock's Converse
            schema = inner.get("json") if schema is None and isinstance(inner, Mapping) else schema
            yield function["name"], NO_PARAMETERS if schema is None else schema


NO_PARAMETERS: JsonObject = {"type": "object", "maxProperties": 0}


def _lower(schema: Any) -> Any:
    """A schema of Gemini's, which may write ``STRING`` for ``string``, as JSON Schema has it."""
    if isinstance(schema, list):
        return [_lower(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {key: value.lower() if key == "type" and isinstance(value, str) else _lower(value) for key, value in schema.items()}
