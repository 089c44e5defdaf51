"""Spans of OpenTelemetry as JSON, and what they say by two conventions: those of GenAI, and OpenInference.

OTLP: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding; ``gen_ai.*``:
https://github.com/open-telemetry/semantic-conventions-genai; ``llm.*``, ``input.value`` and their like:
https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gradegate.files.lines import Map
from gradegate.recording import fields
from gradegate.recording.answer import CASE, Rows

_FAILED = (2, "STATUS_CODE_ERROR")
_SESSIONS = ("gen_ai.conversation.id", "session.id")


@dataclass(frozen=True)
class Span:
    """One span: its place in its trace, nanoseconds, and attributes as plain values, those of its events among them."""

    id: str
    trace: str
    parent: str
    start: int
    end: int
    attributes: Mapping[str, Any]
    failure: str  # what its status says; empty where it did not fail
    line: int

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
        return _messages(self.attributes, "gen_ai.output.messages", "llm.output_messages")

    @property
    def output(self) -> str:
        """What was answered, as text."""
        texts = [str(message.get("content") or "") for message in self.said if message.get("role") != "user"]
        return next(filter(None, reversed(texts)), "") or str(fields.as_text(self.attributes.get("output.value")) or "")

    @property
    def question(self) -> str:
        """What the user said last."""
        heard = _messages(self.attributes, "gen_ai.input.messages", "llm.input_messages")
        texts = [str(message.get("content") or "") for message in heard if message.get("role") == "user"]
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


def spans(rows: Rows) -> Iterator[Span]:
    """The spans of every line, as they stand there."""
    for row in rows:
        for resource in map(fields.mapping, fields.listed(row.get("resourceSpans"))):
            for scope in map(fields.mapping, fields.listed(resource.get("scopeSpans"))):
                yield from (_span(span) for span in fields.listed(scope.get("spans")) if isinstance(span, Map))


def _span(span: Map) -> Span:
    attributes: dict[str, Any] = {}
    for event in map(fields.mapping, fields.listed(span.get("events"))):
        attributes |= _attributes(event)
    status = fields.mapping(span.get("status"))
    failed = status.get("code") in _FAILED
    return Span(
        id=str(span.get("spanId") or ""),
        trace=str(span.get("traceId") or ""),
        parent=str(span.get("parentSpanId") or ""),
        start=_whole(span.get("startTimeUnixNano")),
        end=_whole(span.get("endTimeUnixNano")),
        attributes={**attributes, **_attributes(span)},
        failure=str(status.get("message") or "the span failed") if failed else "",
        line=span.line,
    )


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
    """A message of ``parts``, as GenAI has it."""
    parts = [fields.mapping(part) for part in fields.listed(message.get("parts"))]
    texts = [part["content"] for part in parts if part.get("type") == "text" and isinstance(part.get("content"), str)]
    calls = [
        fields.call(part.get("id"), str(part.get("name")), part.get("arguments", {}))
        for part in parts
        if part.get("type") == "tool_call"
    ]
    known = {key: message[key] for key in ("role", "finish_reason") if isinstance(message.get(key), str)}
    return {**known, "content": "\n".join(texts), "tool_calls": calls}


def _of_leaves(leaves: Mapping[str, Any]) -> dict[str, Any]:
    """A message of flattened attributes, as OpenInference has it."""
    parts = [str(it.get("message_content.text") or "") for it in _indexed(leaves, "message.contents")]
    calls = [
        fields.call(
            it.get("tool_call.id"), str(it.get("tool_call.function.name")), it.get("tool_call.function.arguments", "")
        )
        for it in _indexed(leaves, "message.tool_calls")
    ]
    content = leaves.get("message.content") or "\n".join(filter(None, parts))
    return {"role": str(leaves.get("message.role") or ""), "content": str(content), "tool_calls": calls}


def _indexed(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The items of a flattened list: ``PREFIX.0.REST`` as ``{REST: ...}``, in order."""
    items: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        index, dot, rest = name.removeprefix(f"{prefix}.").partition(".")
        if name.startswith(f"{prefix}.") and dot and re.fullmatch(r"[0-9]{1,6}", index):
            items.setdefault(int(index), {})[rest] = value
    return [items[index] for index in sorted(items)]


def _parsed(attributes: Mapping[str, Any], name: str) -> list[Any]:
    """A list that stands as JSON text or as a list."""
    value = attributes.get(name)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    return value if isinstance(value, list) else []


def _first(values: Mapping[str, Any], *names: str) -> str:
    return next((values[name] for name in names if isinstance(values.get(name), str)), "")


def calls_of(several: Iterable[Span]) -> list[Mapping[str, Any]]:
    """The tool calls of the models' messages; where they have none, those of spans of tools."""
    listed = list(several)
    asked = [call for span in listed for message in span.said for call in message.get("tool_calls", ())]
    return list({json.dumps(call): call for call in asked}.values()) or [
        it for span in listed for it in _executed(span)
    ]


def _executed(span: Span) -> Iterator[Mapping[str, Any]]:
    about = span.attributes
    name = about.get("gen_ai.tool.name") or about.get("tool.name")
    if isinstance(name, str):
        arguments = about.get("gen_ai.tool.call.arguments") or about.get("input.value") or {}
        yield fields.call(about.get("gen_ai.tool.call.id"), name, arguments)
