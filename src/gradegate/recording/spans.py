"""Spans of OpenTelemetry as JSON, and what they say by two conventions: those of GenAI, and OpenInference.

OTLP: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding; ``gen_ai.*``:
https://github.com/open-telemetry/semantic-conventions-genai; ``llm.*``, ``input.value`` and their like:
https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from gradegate.access.hiding import excerpt
from gradegate.errors import Origin
from gradegate.files.lines import Map
from gradegate.recording import fields
from gradegate.recording.answer import CASE, File

_FAILED = (2, "STATUS_CODE_ERROR")
_SESSIONS = ("gen_ai.conversation.id", "session.id")
_SAID = "gen_ai.output.messages"
# Attributes that name what a span is (`openinference.span.kind`, `mlflow.spanType`, `langfuse.observation.type` and all that
# end like them), the tool that it runs, and the arguments: of GenAI, OpenInference, OpenLLMetry, MCP and the AI SDK.
_KIND = re.compile(r"(?:span\.kind|span_?type|observation\.type|operation\.name|operationid|method\.name)$", re.IGNORECASE)
_RUNS = ("tool", "execute_tool", "tool_call", "tools/call", "ai.toolcall")
_NAMED = re.compile(r"(?:execute_tool|tools/call) +(\S.*)")  # the name of a span that runs a tool, by GenAI and MCP
_TOOLS = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "mcp.tool.name")
_GIVEN = ("gen_ai.tool.call.arguments", "ai.toolCall.args", "input.value")
_MESSAGES = re.compile(r"gen_ai\.(?:choice|assistant\.message|tool\.message)")  # events that held messages once
_CONTENTS = ("", "text", "image", "audio", "reasoning")  # types of a message's contents that are no calls
_KNOWN = frozenset("text reasoning blob file uri compaction tool_call_response server_tool_call_response".split())


@dataclass(frozen=True)
class Span:
    """One span: its place in its trace, nanoseconds, and attributes as plain values, those of its events among them."""

    id: str
    name: str
    trace: str
    parent: str
    start: int
    end: int
    attributes: Mapping[str, Any]
    failure: str  # what its status says; empty where it did not fail
    dropped: bool  # the program that wrote it left out attributes or events
    narrated: bool  # an event of it tells of calls
    origin: Origin = field(compare=False)

    @property
    def case(self) -> str:
        """The id of the call, where the span names one."""
        return str(self.attributes.get(CASE) or "")

    @property
    def session(self) -> str:
        """The id of the conversation."""
        return next((str(found) for name in _SESSIONS if (found := self.attributes.get(name))), "")

    @cached_property
    def said(self) -> list[dict[str, Any]]:
        """The model's messages, in OpenAI's form."""
        return _messages(self.attributes, _SAID, "llm.output_messages")

    @property
    def runs_tool(self) -> bool:
        """Whether it is the run of a tool, by whatever convention."""
        kinds = (value for name, value in self.attributes.items() if _KIND.search(name))
        return any(str(kind).strip(' "').lower() in _RUNS for kind in kinds) or bool(self.tool)

    @property
    def tool(self) -> str:
        """The name of the tool that it runs; empty where it says none."""
        names = (self.attributes.get(name) for name in _TOOLS)
        said = _NAMED.match(self.name)
        return next((name for name in names if isinstance(name, str) and name.strip()), said[1] if said else "")

    @cached_property
    def untold(self) -> str:
        """Why it may hold calls of tools that cannot be read, as a sentence; empty where it cannot."""
        if self.dropped:
            return "a span says that attributes or events of it were dropped"
        if self.narrated:
            return "an event of a span tells of a call"
        if self.runs_tool and not self.tool:
            return "a span runs a tool, and does not name it"
        if self.attributes.get(_SAID) is not None and not isinstance(_list(self.attributes[_SAID]), list):
            return f"`{_SAID}` of a span cannot be read"
        strange = next((message["strange"] for message in self.said if message.get("strange")), "")
        return f"a message of a span has {strange}" if strange else ""

    @property
    def output(self) -> str:
        """What was answered, as text."""
        texts = [str(message.get("content") or "") for message in self.said if message.get("role") != "user"]
        return next(filter(None, reversed(texts)), "") or str(fields.as_text(self.attributes.get("output.value")) or "")

    @cached_property
    def _heard(self) -> list[dict[str, Any]]:
        """What the model was told."""
        return _messages(self.attributes, "gen_ai.input.messages", "llm.input_messages")

    @property
    def calls(self) -> list[Mapping[str, Any]]:
        """The tool calls of the model's messages, and those that it was told after what the user said last."""
        asked = [n for n, it in enumerate(self._heard) if it.get("role") == "user" and it["content"].strip()]
        messages = [*self._heard[(asked or [-1])[-1] + 1 :], *self.said]
        return [call for message in messages for call in message["tool_calls"]]

    @property
    def question(self) -> str:
        """What the user said last."""
        texts = [str(message.get("content") or "") for message in self._heard if message.get("role") == "user"]
        return next(filter(None, reversed(texts)), "") or str(fields.as_text(self.attributes.get("input.value")) or "")

    @property
    def finish_reason(self) -> str:
        """Why the model ended."""
        reasons = fields.listed(self.attributes.get("gen_ai.response.finish_reasons"))
        own = [message["finish_reason"] for message in self.said if message.get("finish_reason")]
        return str(next(iter([*reasons[-1:], *own[-1:]]), "") or self.attributes.get("llm.finish_reason") or "")

    @property
    def documents(self) -> list[str]:
        """The texts that were retrieved."""
        listed = [
            *_indexed(self.attributes, "retrieval.documents"),
            *_parsed(self.attributes, "gen_ai.retrieval.documents"),
        ]
        texts = (_first(fields.mapping(it), "document.content", "content", "text") for it in listed)
        return [text for text in texts if text.strip()]

    def number(self, *names: str) -> float | None:
        """The first of these attributes that is a number."""
        return next((found for name in names if (found := fields.number(self.attributes.get(name))) is not None), None)


def spans(files: Iterable[File]) -> Iterator[Span]:
    """The spans of all files, as they stand there."""
    for file in files:
        for row in file.rows:
            for resource in map(fields.mapping, fields.listed(row.get("resourceSpans"))):
                for scope in map(fields.mapping, fields.listed(resource.get("scopeSpans"))):
                    own = (span for span in fields.listed(scope.get("spans")) if isinstance(span, Map))
                    yield from (_span(span, file.name) for span in own)


def _span(span: Map, file: str) -> Span:
    attributes: dict[str, Any] = {}
    narrated = False
    for event in map(fields.mapping, fields.listed(span.get("events"))):
        own = _attributes(event)
        attributes |= own
        # A message of a tool, or one with calls: so GenAI had them before its attributes of messages.
        if _MESSAGES.fullmatch(name := str(event.get("name") or "")):
            narrated = narrated or name.startswith("gen_ai.tool") or "tool_call" in f"{list(own)} {fields.as_text(own)}"
    status = fields.mapping(span.get("status"))
    failed = status.get("code") in _FAILED
    return Span(
        id=_identity(span.get("spanId")),
        name=str(span.get("name") or "").strip(),
        trace=_identity(span.get("traceId")),
        parent=_identity(span.get("parentSpanId")),
        start=_whole(span.get("startTimeUnixNano")),
        end=_whole(span.get("endTimeUnixNano")),
        attributes={**attributes, **_attributes(span)},
        failure=str(status.get("message") or "the span failed") if failed else "",
        dropped=any(_whole(span.get(name)) for name in ("droppedAttributesCount", "droppedEventsCount")),
        narrated=narrated,
        origin=Origin(file, span.line),
    )


def _identity(value: Any) -> str:
    """An id of a span or a trace: hexadecimal digits, in either case."""
    return str(value or "").lower()


def _attributes(owner: Mapping[str, Any]) -> dict[str, Any]:
    pairs = (fields.mapping(pair) for pair in fields.listed(owner.get("attributes")))
    return {str(pair.get("key")): _value(pair.get("value")) for pair in pairs}


def _value(written: Any) -> Any:
    """The value of an ``AnyValue``."""
    for kind, value in fields.mapping(written).items():
        if kind == "intValue":
            return _whole(value)
        if kind == "arrayValue":
            return [_value(item) for item in fields.listed(fields.mapping(value).get("values"))]
        if kind == "kvlistValue":
            return _attributes({"attributes": fields.mapping(value).get("values")})
        return value
    return None


def _whole(value: Any) -> int:
    """A whole number, which OTLP writes as text."""
    text = str(value)
    return int(text) if re.fullmatch(r"-?[0-9]{1,19}", text) else 0


# --- messages -------------------------------------------------------------------------------------------------


def _messages(attributes: Mapping[str, Any], genai: str, openinference: str) -> list[dict[str, Any]]:
    by_genai = [_of_parts(fields.mapping(it)) for it in _parsed(attributes, genai)]
    return by_genai or [_of_leaves(it) for it in _indexed(attributes, openinference)]


def _of_parts(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of ``parts``, as GenAI has it; ``strange`` is what of it might be a call and is not known."""
    parts = [fields.mapping(part) for part in fields.listed(message.get("parts"))]
    texts = [part["content"] for part in parts if part.get("type") == "text" and isinstance(part.get("content"), str)]
    calls = [fields.call(it.get("id"), it["name"], it.get("arguments")) for it in parts if _is_call(it)]
    kinds = (str(part.get("type")) for part in parts if not _is_call(part))
    strange = next((f"a part of the type `{excerpt(kind, 60)}`" for kind in kinds if kind not in _KNOWN), "")
    known = {key: message[key] for key in ("role", "finish_reason") if isinstance(message.get(key), str)}
    strange = strange or ("" if isinstance(message.get("parts"), list) else "no parts")
    return {**known, "content": "".join(texts), "tool_calls": calls, "strange": strange}


def _is_call(part: Mapping[str, Any]) -> bool:
    return part.get("type") in ("tool_call", "server_tool_call") and bool(str(part.get("name") or "").strip())


def _of_leaves(leaves: Mapping[str, Any]) -> dict[str, Any]:
    """A message of flattened attributes, as OpenInference has it."""
    contents = _indexed(leaves, "message.contents")
    texts = [str(it.get("message_content.text") or "") for it in contents if it.get("message_content.type") != "reasoning"]
    written = [
        (it.get("tool_call.id"), it.get("tool_call.function.name"), it.get("tool_call.function.arguments"))
        for it in _indexed(leaves, "message.tool_calls")
    ]
    if leaves.get("message.function_call_name"):
        written.append(("", leaves["message.function_call_name"], leaves.get("message.function_call_arguments_json")))
    named = [fields.call(it, name, given) for it, name, given in written if isinstance(name, str) and name.strip()]
    kinds = (str(it.get("message_content.type") or "") for it in contents)
    strange = next((f"a content of the type `{excerpt(kind, 60)}`" for kind in kinds if kind not in _CONTENTS), "")
    return {
        "role": str(leaves.get("message.role") or ""),
        "content": str(leaves.get("message.content") or "".join(texts)),
        "tool_calls": named,
        "strange": "a tool call without a name" if len(named) < len(written) else strange,
    }


def _indexed(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The items of a flattened list: ``PREFIX.0.REST`` as ``{REST: ...}``, in order."""
    items: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        index, dot, rest = name.removeprefix(f"{prefix}.").partition(".")
        if name.startswith(f"{prefix}.") and dot and re.fullmatch(r"[0-9]{1,6}", index):
            items.setdefault(int(index), {})[rest] = value
    return [items[index] for index in sorted(items)]


def _parsed(attributes: Mapping[str, Any], name: str) -> list[Any]:
    """A list that stands as JSON text or as a list; empty for anything else."""
    value = _list(attributes.get(name))
    return value if isinstance(value, list) else []


def _list(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _first(values: Mapping[str, Any], *names: str) -> str:
    return next((values[name] for name in names if isinstance(values.get(name), str)), "")


def calls_of(several: Iterable[Span]) -> list[Mapping[str, Any]]:
    """The tool calls of the models' messages, and those of spans of tools that no message has."""
    listed = list(several)
    asked = [call for span in listed for call in span.calls]
    names = {call["function"]["name"] for call in asked}
    ran = []
    for span in listed:
        given = next((span.attributes[name] for name in _GIVEN if span.attributes.get(name) is not None), None)
        call = fields.call(span.attributes.get("gen_ai.tool.call.id"), span.tool, given)
        ran += [call] if span.tool and call["function"]["name"] not in names else []
    known = {}  # by what a call is known by where several spans tell of it
    for call in (*asked, *ran):
        name, arguments = fields.called(call)
        known[(call["id"], name) if call["id"] else ("", name, arguments)] = call
    return list(known.values())
