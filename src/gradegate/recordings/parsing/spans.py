"""Parses one span of an OTLP trace, with GenAI or OpenInference attributes.

``gen_ai.*``: https://github.com/open-telemetry/semantic-conventions-genai; ``llm.*``, ``input.value`` and the like:
https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md. If another convention mentions a tool, the
tool calls of the span are unknown.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gradegate.errors import Origin
from gradegate.files.documents import Map, to_json
from gradegate.recordings.parsing import fields
from gradegate.recordings.parsing.recorded_answer import CASE
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

_FAILURE_CODES = (2, "STATUS_CODE_ERROR")
# Names of attributes. The first one with a value counts.
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name")
_TOOL_ARGUMENTS = ("gen_ai.tool.call.arguments", "input.value")
_OUTPUT_MESSAGES = "gen_ai.output.messages"
_DOCUMENT_TEXTS = ("document.content", "content", "text")  # keys of a retrieved document

# The name of a span that runs a tool, in GenAI and MCP: `execute_tool NAME`, `tools/call NAME`
_TOOL_SPAN_NAME = re.compile(r"(?:execute_tool|tools/call) +(\S.*)")
# Attributes with the kind of a span in any convention, such as `traceloop.span.kind` and `mlflow.spanType`
_KIND_ATTRIBUTE = re.compile(r"(?!llm\.).*(?:kind|type|name|id)", re.IGNORECASE | re.DOTALL)
_TOOL_KINDS = ("tool", "execute_tool", "tool_call", "tools/call")
# What a span does, in GenAI and OpenInference. Any other operation may be that of a model.
_OPERATION_ATTRIBUTES = ("gen_ai.operation.name", "openinference.span.kind")
_OPERATIONS_WITHOUT_MODEL = frozenset(
    "create_agent invoke_agent invoke_workflow execute_tool embeddings retrieval "
    "agent chain tool embedding retriever reranker guardrail evaluator prompt".split()
)
# The kinds of a model in other conventions, and the attributes that name the model
_MODEL_KINDS = ("llm", "chat", "chat_model", "completion", "generation")
_MODEL_NAMES = ("gen_ai.request.model", "gen_ai.response.model", "llm.model_name")
# Attributes about a tool in conventions that are not read, such as `ai.toolCall.name`
_FOREIGN_TOOL_ATTRIBUTE = re.compile(
    r"(?!llm\.|gen_ai\.tool\.|tool\.).*(?:tool_?call|tool\.name)", re.IGNORECASE | re.DOTALL
)
# Events that contained messages before GenAI had attributes for messages
_MESSAGE_EVENT = re.compile(r"gen_ai\.(?:choice|assistant\.message|tool\.message)")

# Types of the parts of a message
_CALL_PARTS = ("tool_call", "server_tool_call")
_OTHER_PARTS = frozenset(
    "text reasoning blob file uri image audio compaction tool_call_response server_tool_call_response".split()
)


class SpanId(NamedTuple):
    """Identifies a span in all files. ``span`` is unique in its trace, and empty for the parent of a root."""

    trace: str
    span: str


@dataclass(frozen=True, slots=True)
class Span:
    """What one span says about an answer."""

    id: SpanId
    parent_id: SpanId
    start: int  # nanoseconds, like `end`
    end: int
    attributes: JsonObject  # as plain values, with those of the events
    case: str  # the id of the planned call, if the span names it
    question: str  # the last text of the user
    output: str
    documents: list[str]  # texts that a retriever found
    message_calls: list[JsonObject]  # tool calls in the messages, in OpenAI's form
    executed_call: JsonObject | None  # the call of the tool that this span runs
    is_model: bool  # the span is of a model, as far as anybody can tell
    has_output_messages: bool
    finish_reason: str
    failure: str  # the message of a failed span; empty if the span did not fail
    calls_unknown: str  # why the span may contain unreadable tool calls; empty if it cannot
    origin: Origin = field(compare=False)

    @property
    def is_silent_model(self) -> bool:
        """Whether a model answered here, and nobody recorded what."""
        return self.is_model and not self.has_output_messages


class _Message(NamedTuple):
    """One message in the attributes of a span, of either convention."""

    role: str
    text: str
    calls: list[JsonObject]  # in OpenAI's form
    finish_reason: str
    unknown_part: str  # a part that might be a call and cannot be read; empty if there is none


def parse_span(span: Map, file: str, fallback_id: str) -> Span:
    """Parse a span. A span without an id gets ``fallback_id``."""
    attributes: dict[str, Any] = {}
    for event in items_of(span, "events"):
        attributes.update(_parse_attributes(fields.as_mapping(event).get("attributes")))
    attributes.update(_parse_attributes(span.get("attributes")))

    inputs = _parse_messages(attributes, "gen_ai.input.messages", "llm.input_messages")
    question = fields.as_text(attributes.get("input.value")) or ""
    answer_start = 0
    for position, message in enumerate(inputs):
        if message.role == "user" and message.text:
            question = message.text
            if message.text.strip():
                answer_start = position + 1

    outputs = _parse_messages(attributes, _OUTPUT_MESSAGES, "llm.output_messages")
    output = fields.as_text(attributes.get("output.value")) or ""
    for message in outputs:
        if message.role != "user" and message.text:
            output = message.text

    # Calls before the last question belong to an earlier answer. Calls after it belong to this one.
    message_calls = []
    for message in (*inputs[answer_start:], *outputs):
        message_calls += message.calls
    executed_call = _parse_executed_call(span, attributes)
    calls_unknown = _describe_lost_data(span)
    if not calls_unknown:
        is_named_tool = executed_call is not None
        calls_unknown = _describe_unreadable_calls(attributes, outputs, is_named_tool=is_named_tool)

    failure = ""
    status = fields.as_mapping(span.get("status"))
    if status.get("code") in _FAILURE_CODES:
        failure = str(status.get("message") or "the span failed")

    # The hexadecimal digits of an id may have either case.
    trace, span_id, parent = (
        str(span.get(key) or "").lower() for key in ("traceId", "spanId", "parentSpanId")
    )
    return Span(
        id=SpanId(trace, span_id or fallback_id),
        parent_id=SpanId(trace, parent),
        start=_parse_int(span.get("startTimeUnixNano")),
        end=_parse_int(span.get("endTimeUnixNano")),
        attributes=attributes,
        case=str(attributes.get(CASE) or ""),
        question=question,
        output=output,
        documents=_retrieved_texts(attributes),
        message_calls=message_calls,
        executed_call=executed_call,
        is_model=_is_model(attributes, has_output_messages=bool(outputs)),
        has_output_messages=bool(outputs),
        finish_reason=_find_finish_reason(attributes, outputs),
        failure=failure,
        calls_unknown=calls_unknown,
        origin=Origin(file, span.line),
    )


def items_of(owner: Any, key: str) -> Sequence[Any]:
    """The list under a key of an object; empty if there is no such list."""
    return fields.as_list(fields.as_mapping(owner).get(key))


def _describe_lost_data(span: Map) -> str:
    """Say which calls of a span may be lost or are not read. Empty if none are."""
    dropped = [span.get("droppedAttributesCount"), span.get("droppedEventsCount")]
    if any(_parse_int(count) for count in dropped):
        return "a span says that attributes or events of it were dropped"
    for event in items_of(span, "events"):
        if _may_contain_call(fields.as_mapping(event)):
            return "an event of a span contains a call"
    return ""


def _may_contain_call(event: JsonObject) -> bool:
    """Whether an event contains a message of a tool, or a message with calls."""
    name = str(event.get("name") or "")
    if not _MESSAGE_EVENT.fullmatch(name):
        return False
    if name.startswith("gen_ai.tool"):
        return True
    return "tool_call" in to_json(_parse_attributes(event.get("attributes")))


def _parse_executed_call(span: Map, attributes: JsonObject) -> JsonObject | None:
    """The call of the tool that a span runs, in OpenAI's form. None if the span names no tool."""
    candidates = [attributes.get(key) for key in _TOOL_NAMES]
    match = _TOOL_SPAN_NAME.match(str(span.get("name") or "").strip())
    if match:
        candidates.append(match[1])
    names = [name for name in candidates if isinstance(name, str) and name.strip()]
    if not names:
        return None

    arguments = [attributes[key] for key in _TOOL_ARGUMENTS if attributes.get(key) is not None]
    call = {
        "id": attributes.get("gen_ai.tool.call.id"),
        "name": names[0],
        "arguments": arguments[0] if arguments else None,
    }
    return fields.normalize_call(call)


def _find_finish_reason(attributes: JsonObject, outputs: Iterable[_Message]) -> str:
    """Why the model stopped, in the last of several reasons. Empty if the span does not say it."""
    reasons = fields.as_list(attributes.get("gen_ai.response.finish_reasons"))
    if not reasons:
        reasons = [message.finish_reason for message in outputs if message.finish_reason]
    last = reasons[-1] if reasons else ""
    return str(last or attributes.get("llm.finish_reason") or "")


def _is_model(attributes: JsonObject, *, has_output_messages: bool) -> bool:
    """Whether the span of these attributes is of a model. An operation that is not known may be that of a model."""
    operations = [_normalize_kind(attributes.get(name)) for name in _OPERATION_ATTRIBUTES]
    operations = [operation for operation in operations if operation]
    if operations:
        return not _OPERATIONS_WITHOUT_MODEL.issuperset(operations)
    if has_output_messages or _has_kind(attributes, _MODEL_KINDS):
        return True
    return any(attributes.get(name) for name in _MODEL_NAMES)


def _has_kind(attributes: JsonObject, kinds: Sequence[str]) -> bool:
    """Whether a convention, known or not, says that a span is of one of these kinds."""
    for name, value in attributes.items():
        if _KIND_ATTRIBUTE.fullmatch(name) and _normalize_kind(value) in kinds:
            return True
    return False


def _normalize_kind(value: Any) -> str:
    """A kind in small letters, without the quotes of a JSON text. Empty for no kind."""
    return "" if value is None else str(value).strip(' "').lower()


def _describe_unreadable_calls(
    attributes: JsonObject, outputs: Sequence[_Message], *, is_named_tool: bool
) -> str:
    """Say why attributes may contain tool calls that cannot be read. Empty if they cannot."""
    if not is_named_tool and _has_kind(attributes, _TOOL_KINDS):
        return "a span runs a tool, and does not name it"

    written = attributes.get(_OUTPUT_MESSAGES)
    if written is not None and _parse_list(written) is None:
        return f"`{_OUTPUT_MESSAGES}` of a span cannot be read"

    if not is_named_tool and not outputs:
        for name in attributes:
            if _FOREIGN_TOOL_ATTRIBUTE.match(name):
                return f"`{excerpt(name, 60)}` of a span tells of a tool, and is of no convention that is read"

    for message in outputs:
        if message.unknown_part:
            return f"a message of a span has {message.unknown_part}"
    return ""


def _parse_attributes(pairs: Any) -> dict[str, Any]:
    """The plain values of a list of ``{"key": ..., "value": AnyValue}``."""
    attributes = {}
    for item in fields.as_list(pairs):
        pair = fields.as_mapping(item)
        attributes[str(pair.get("key"))] = _parse_value(pair.get("value"))
    return attributes


def _parse_value(any_value: Any) -> Any:
    """The plain value of an ``AnyValue``, such as ``{"intValue": "5"}``."""
    pairs = list(fields.as_mapping(any_value).items())
    if not pairs:
        return None
    kind, value = pairs[0]
    if kind == "arrayValue":
        return [_parse_value(item) for item in items_of(value, "values")]
    if kind == "kvlistValue":
        return _parse_attributes(items_of(value, "values"))
    return _parse_int(value) if kind == "intValue" else value


def _parse_int(value: Any) -> int:
    """A whole number, which OTLP writes as text; 0 for anything else."""
    return int(value) if re.fullmatch(r"-?[0-9]{1,19}", str(value)) else 0


def _retrieved_texts(attributes: JsonObject) -> list[str]:
    """The texts of retrieved documents, without blank ones."""
    documents: list[Any] = _unflatten_list(attributes, "retrieval.documents")
    documents += _parse_list(attributes.get("gen_ai.retrieval.documents")) or []
    texts = []
    for document in documents:
        values = [fields.as_mapping(document).get(key) for key in _DOCUMENT_TEXTS]
        strings = [value for value in values if isinstance(value, str)]
        if strings and strings[0].strip():
            texts.append(strings[0])
    return texts


# --- messages -------------------------------------------------------------------------------------------------


def _parse_messages(attributes: JsonObject, genai: str, openinference: str) -> list[_Message]:
    """The messages in an attribute of GenAI, else those in attributes of OpenInference with a prefix."""
    messages = _parse_list(attributes.get(genai))
    if not messages:
        flat_messages = _unflatten_list(attributes, openinference)
        messages = [_unflatten_message(leaves) for leaves in flat_messages]
    return [_parse_message(fields.as_mapping(message)) for message in messages]


def _parse_message(message: JsonObject) -> _Message:
    """Parse a message with ``parts``, as GenAI has it."""
    texts = []
    calls = []
    unknown_type = None
    for item in items_of(message, "parts"):
        part = fields.as_mapping(item)
        part_type = part.get("type")
        content = part.get("content")
        name = part.get("name")
        if part_type in _CALL_PARTS and isinstance(name, str) and name.strip():
            call = {"id": part.get("id"), "name": name, "arguments": part.get("arguments")}
            calls.append(fields.normalize_call(call))
        elif part_type == "text":
            if isinstance(content, str):
                texts.append(content)
        elif unknown_type is None and str(part_type) not in _OTHER_PARTS:
            unknown_type = str(part_type)

    unknown_part = ""
    if unknown_type in _CALL_PARTS:
        unknown_part = "a tool call without a name"
    elif unknown_type is not None:
        unknown_part = f"a part of the type `{excerpt(unknown_type, 60)}`"
    elif not isinstance(message.get("parts"), list):
        unknown_part = "no parts"

    role = message.get("role")
    finish_reason = message.get("finish_reason")
    return _Message(
        role=role if isinstance(role, str) else "",
        text="".join(texts),
        calls=calls,
        finish_reason=finish_reason if isinstance(finish_reason, str) else "",
        unknown_part=unknown_part,
    )


def _unflatten_message(leaves: JsonObject) -> JsonObject:
    """A message of flattened attributes, as OpenInference has it, in the form of GenAI."""
    parts: list[JsonObject] = []
    whole_text = leaves.get("message.content")
    if whole_text:
        parts.append({"type": "text", "content": str(whole_text)})
    for content in _unflatten_list(leaves, "message.contents"):
        part_type = content.get("message_content.type") or "text"
        if part_type != "text" or not whole_text:
            parts.append({"type": part_type, "content": content.get("message_content.text")})

    for call in _unflatten_list(leaves, "message.tool_calls"):
        part = {
            "type": "tool_call",
            "id": call.get("tool_call.id"),
            "name": call.get("tool_call.function.name"),
            "arguments": call.get("tool_call.function.arguments"),
        }
        parts.append(part)
    function = leaves.get("message.function_call_name")
    if function:
        arguments = leaves.get("message.function_call_arguments_json")
        parts.append({"type": "tool_call", "name": function, "arguments": arguments})
    return {"role": leaves.get("message.role"), "parts": parts}


def _unflatten_list(attributes: JsonObject, prefix: str) -> list[dict[str, Any]]:
    """The items of a flattened list, in order: ``PREFIX.0.REST`` is the key ``REST`` of the first item."""
    items: dict[int, dict[str, Any]] = {}
    leaf = re.compile(rf"{re.escape(prefix)}\.([0-9]{{1,6}})\.(.*)", re.DOTALL)
    for name, value in attributes.items():
        match = leaf.fullmatch(name)
        if match:
            item = items.setdefault(int(match[1]), {})
            item[match[2]] = value
    return [items[index] for index in sorted(items)]


def _parse_list(value: Any) -> list[Any] | None:
    """A list, or the list in a JSON text; None for anything else."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, list) else None
