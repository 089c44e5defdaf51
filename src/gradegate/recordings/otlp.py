"""OTLP: traces as JSON lines, as the collector's file exporter writes them, with GenAI or OpenInference attributes.

The spans below one with the attribute ``gradegate.case`` are the answer to that call, in whichever file they stand. Without
it, those of one trace are an answer, joined by the id of its conversation, else by the question's text.

OTLP: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding; ``gen_ai.*``:
https://github.com/open-telemetry/semantic-conventions-genai; ``llm.*``, ``input.value`` and their like:
https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md. What another convention says of a tool is
not read: then it is not known which tools were called.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.documents import Map
from gradegate.recordings.parsing import fields
from gradegate.recordings.parsing.recorded_answer import (
    CASE,
    FORMATS,
    RecordedAnswer,
    RecordedQuestion,
    RecordingFile,
    RecordingFormat,
)
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

_NANO = 1_000_000_000
_FAILED = (2, "STATUS_CODE_ERROR")
_READ = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_WRITTEN = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
)
_SESSIONS = ("gen_ai.conversation.id", "session.id")
_SAID = "gen_ai.output.messages"
_DOCUMENT = ("document.content", "content", "text")
_TOOLS = ("gen_ai.tool.name", "tool.name")
_GIVEN = ("gen_ai.tool.call.arguments", "input.value")
_NAMED = re.compile(
    r"(?:execute_tool|tools/call) +(\S.*)"
)  # the name of a span that runs a tool, by GenAI and MCP
# What says in any convention that a span runs a tool (`traceloop.span.kind`, `mlflow.spanType`), and what tells of one.
_KIND = re.compile(r"(?!llm\.).*(?:kind|type|name|id)", re.IGNORECASE | re.DOTALL)
_RUNS = ("tool", "execute_tool", "tool_call", "tools/call")
_TELLS = re.compile(
    r"(?!llm\.|gen_ai\.tool\.|tool\.).*(?:tool_?call|tool\.name)", re.IGNORECASE | re.DOTALL
)
_EVENT = re.compile(
    r"gen_ai\.(?:choice|assistant\.message|tool\.message)"
)  # events that held messages once
_CALLS = ("tool_call", "server_tool_call")
_NO_CALLS = frozenset(
    "text reasoning blob file uri image audio compaction tool_call_response server_tool_call_response".split()
)

_Place = tuple[str, str]  # the trace, and the span's id, which is unique there


class _Message(NamedTuple):
    role: str
    text: str
    calls: list[JsonObject]
    finish_reason: str
    strange: str  # what of it might be a call and is not known


@dataclass(frozen=True, slots=True)
class _Span:
    """One span. ``untold`` says why it may hold calls of tools that cannot be read; empty where it cannot."""

    place: _Place
    parent: _Place
    start: int  # in nanoseconds, as the end
    end: int
    attributes: JsonObject  # as plain values, those of its events among them
    case: str  # the id of the call, where the span names one
    question: str  # what the user said last
    output: str
    calls: list[JsonObject]  # those of its messages, in OpenAI's form
    run: JsonObject | None  # the call that it is the run of
    speaks: bool  # it has messages of the model
    finish_reason: str
    failure: str  # what its status says; empty where it did not fail
    untold: str
    origin: Origin = field(compare=False)


def recognises(row: Map) -> bool:
    """``resourceSpans``."""
    return "resourceSpans" in row


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each group of spans that says anything; others, such as those of HTTP, are left out. Raises ConfigError."""
    spans = _spans(files)
    cases, above = _cases(spans)
    groups = defaultdict(list)
    for place, span in spans.items():
        groups[place[0], cases.get(place, "")].append(span)
    # What a trace holds beside its cases is no answer, but what it called may be part of one.
    beside = {
        trace: _beside(groups.get((trace, ""), ()), spans, above) for trace, case in groups if case
    }
    return [
        answer
        for (trace, case), group in groups.items()
        if (case or trace not in beside) and (answer := _answer(case, group, beside.get(trace, "")))
    ]


def _spans(files: Iterable[RecordingFile]) -> dict[_Place, _Span]:
    """The spans of all files by their places; one that was written twice is one. Raises ConfigError."""
    spans: dict[_Place, _Span] = {}
    mistakes = []
    for file in files:
        level: Iterable[Any] = file.rows
        for key in ("resourceSpans", "scopeSpans", "spans"):
            level = [
                item
                for owner in map(fields.as_mapping, level)
                for item in fields.as_list(owner.get(key))
            ]
        for written in level:
            if isinstance(written, Map):
                span = _span(written, file.name, f"without an id: {len(spans)}")
                first = spans.setdefault(span.place, span)
                if first != span:
                    what = f"the trace has two spans of one id: the other is at {first.origin}"
                    mistakes.append(Mistake(what, span.origin, "write each span once"))
    if mistakes:
        raise ConfigError(*mistakes)
    return spans


def _cases(spans: Mapping[_Place, _Span]) -> tuple[dict[_Place, str], set[_Place]]:
    """The case that each span, or the nearest one above it, names; and the places above spans that name one."""
    below = defaultdict(list)
    for span in spans.values():
        below[span.parent].append(span)
    cases: dict[_Place, str] = {}
    above = set()
    named = [span for span in spans.values() if span.case]
    for span in named:
        place = span.parent
        while place in spans and place not in above:
            above.add(place)
            place = spans[place].parent
    for span in named:  # the list grows: below each come those that name no case of their own
        cases[span.place] = span.case or cases[span.parent]
        named += (inner for inner in below.get(span.place, ()) if not inner.case)
    return cases, above


def _beside(others: Iterable[_Span], spans: Mapping[_Place, _Span], above: set[_Place]) -> str:
    """Why an answer of a trace may have called tools that it does not tell, as a sentence; ``others`` belong to no case."""
    for span in others:
        if _calls([span]) or span.untold:
            return "a span of the trace calls a tool and is below no span with the case"
        if span.parent[1] and span.parent not in spans and span.place not in above:
            return "a span of the trace lies below one that is not there"
    return ""


def _answer(case: str, group: Sequence[_Span], beside: str) -> RecordedAnswer | None:
    ordered = sorted(group, key=lambda span: (span.start, -span.end))
    places = {span.place for span in ordered}
    root = next((span for span in ordered if span.parent not in places), ordered[0])
    output = root.output or fields.first_text(span.output for span in reversed(ordered))
    question = root.question or fields.first_text(span.question for span in ordered)
    if not case and not output and not question:
        return None
    session = fields.first_text(
        span.attributes.get(name, "") for span in ordered for name in _SESSIONS
    )
    seconds = (root.end - root.start) / _NANO
    tokens = {
        "prompt_tokens": _total(root, ordered, _READ),
        "completion_tokens": _total(root, ordered, _WRITTEN),
    }
    cost = _total(root, ordered, ("llm.cost.total",))
    calls = _calls(ordered)
    return RecordedAnswer(
        id=case,
        question=None if case else RecordedQuestion(question, session=str(session)),
        output=output,
        error=root.failure or ("" if output or calls else "the spans hold no output"),
        tool_calls=calls if calls or any(span.speaks for span in ordered) else None,
        untold=fields.first_text(span.untold for span in ordered) or beside,
        retrieval_context=tuple(
            dict.fromkeys(text for span in ordered for text in _documents(span.attributes))
        ),
        usage=fields.parse_usage(tokens, cost, seconds if root.start and seconds >= 0 else None),
        finish_reason=fields.first_text(span.finish_reason for span in reversed(ordered)),
        origin=root.origin,
    )


def _calls(spans: Sequence[_Span]) -> tuple[JsonObject, ...]:
    """The tool calls of the models' messages, and those of spans of tools that no message has."""
    asked = [call for span in spans for call in span.calls]
    names = {call["function"]["name"] for call in asked}
    ran = [span.run for span in spans if span.run and span.run["function"]["name"] not in names]
    calls = {}  # several spans may tell of one call
    for call in asked + ran:
        name, arguments = fields.call_identity(call)
        calls[(call["id"], name) if call["id"] else ("", name, arguments)] = call
    return tuple(calls.values())


def _total(root: _Span, ordered: Iterable[_Span], names: Sequence[str]) -> float | None:
    """What the first span says of the whole, else the sum of the others."""
    whole = fields.first_number(root.attributes, names)
    if whole is not None:
        return whole
    parts = [fields.first_number(span.attributes, names) for span in ordered if span is not root]
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _documents(attributes: JsonObject) -> Iterator[str]:
    """The texts that were retrieved."""
    for item in (
        *_indexed(attributes, "retrieval.documents"),
        *(_list(attributes.get("gen_ai.retrieval.documents")) or ()),
    ):
        text = next(
            (it for name in _DOCUMENT if isinstance(it := fields.as_mapping(item).get(name), str)),
            "",
        )
        if text.strip():
            yield text


# --- one span -------------------------------------------------------------------------------------------------


def _span(span: Map, file: str, nameless: str) -> _Span:
    """A span; ``nameless`` is its id where it has none."""
    attributes: dict[str, Any] = {}
    untold = ""
    if any(_whole(span.get(name)) for name in ("droppedAttributesCount", "droppedEventsCount")):
        untold = "a span says that attributes or events of it were dropped"
    for event in map(fields.as_mapping, fields.as_list(span.get("events"))):
        own = _attributes(event.get("attributes"))
        attributes |= own
        # A message of a tool, or one with calls: so GenAI had them before its attributes of messages.
        if _EVENT.fullmatch(name := str(event.get("name") or "")):
            narrated = (
                name.startswith("gen_ai.tool")
                or "tool_call" in f"{list(own)} {fields.as_text(own)}"
            )
            untold = untold or ("an event of a span contains a call" if narrated else "")
    attributes |= _attributes(span.get("attributes"))
    told = _messages(attributes, "gen_ai.input.messages", "llm.input_messages")
    said = _messages(attributes, _SAID, "llm.output_messages")
    # What the model was told after the user's last message was called for this answer.
    last = max(
        (number for number, it in enumerate(told) if it.role == "user" and it.text.strip()),
        default=-1,
    )
    asked = [message.text for message in told if message.role == "user" and message.text]
    answered = [message.text for message in said if message.role != "user" and message.text]
    reasons = fields.as_list(attributes.get("gen_ai.response.finish_reasons"))[-1:]
    own_reasons = [message.finish_reason for message in said if message.finish_reason][-1:]
    named = _NAMED.match(str(span.get("name") or "").strip())
    names = (attributes.get(name) for name in _TOOLS)
    tool = next(
        (it for it in names if isinstance(it, str) and it.strip()), named[1] if named else ""
    )
    given = next((attributes[name] for name in _GIVEN if attributes.get(name) is not None), None)
    status = fields.as_mapping(span.get("status"))
    # Ids are hexadecimal digits, in either case.
    trace, identity, parent = (
        str(span.get(key) or "").lower() for key in ("traceId", "spanId", "parentSpanId")
    )
    return _Span(
        place=(trace, identity or nameless),
        parent=(trace, parent),
        start=_whole(span.get("startTimeUnixNano")),
        end=_whole(span.get("endTimeUnixNano")),
        attributes=attributes,
        case=str(attributes.get(CASE) or ""),
        question=asked[-1] if asked else fields.as_text(attributes.get("input.value")) or "",
        output=answered[-1] if answered else fields.as_text(attributes.get("output.value")) or "",
        calls=[call for message in (*told[last + 1 :], *said) for call in message.calls],
        run=fields.normalize_call(
            {"id": attributes.get("gen_ai.tool.call.id"), "name": tool, "arguments": given}
        )
        if tool
        else None,
        speaks=bool(said),
        finish_reason=str(
            next(iter((*reasons, *own_reasons)), "") or attributes.get("llm.finish_reason") or ""
        ),
        failure=str(status.get("message") or "the span failed")
        if status.get("code") in _FAILED
        else "",
        untold=untold or _untold(attributes, tool, said),
        origin=Origin(file, span.line),
    )


def _untold(attributes: JsonObject, tool: str, said: Sequence[_Message]) -> str:
    """Why attributes may hold calls of tools that cannot be read, as a sentence; empty where they cannot."""
    kinds = (
        str(value).strip(' "').lower()
        for name, value in attributes.items()
        if _KIND.fullmatch(name)
    )
    if not tool and any(kind in _RUNS for kind in kinds):
        return "a span runs a tool, and does not name it"
    if attributes.get(_SAID) is not None and _list(attributes[_SAID]) is None:
        return f"`{_SAID}` of a span cannot be read"
    if foreign := "" if tool or said else next(filter(_TELLS.match, attributes), ""):
        return f"`{excerpt(foreign, 60)}` of a span tells of a tool, and is of no convention that is read"
    strange = fields.first_text(message.strange for message in said)
    return f"a message of a span has {strange}" if strange else ""


def _attributes(pairs: Any) -> dict[str, Any]:
    return {
        str(pair.get("key")): _value(pair.get("value"))
        for pair in map(fields.as_mapping, fields.as_list(pairs))
    }


def _value(written: Any) -> Any:
    """The value of an ``AnyValue``."""
    kind, value = next(iter(fields.as_mapping(written).items()), ("", None))
    if kind == "arrayValue":
        return [_value(item) for item in fields.as_list(fields.as_mapping(value).get("values"))]
    if kind == "kvlistValue":
        return _attributes(fields.as_mapping(value).get("values"))
    return _whole(value) if kind == "intValue" else value


def _whole(value: Any) -> int:
    """A whole number, which OTLP writes as text."""
    return int(value) if re.fullmatch(r"-?[0-9]{1,19}", str(value)) else 0


# --- messages -------------------------------------------------------------------------------------------------


def _messages(attributes: JsonObject, genai: str, openinference: str) -> list[_Message]:
    written = _list(attributes.get(genai)) or map(_of_leaves, _indexed(attributes, openinference))
    return [_message(fields.as_mapping(it)) for it in written]


def _message(message: JsonObject) -> _Message:
    """A message of ``parts``, as GenAI has it."""
    parts = [fields.as_mapping(part) for part in fields.as_list(message.get("parts"))]
    calls = [part for part in parts if _is_call(part)]
    kinds = (str(part.get("type")) for part in parts if not _is_call(part))
    strange = next((kind for kind in kinds if kind not in _NO_CALLS), "")
    if strange in _CALLS:
        strange = "a tool call without a name"
    elif strange:
        strange = f"a part of the type `{excerpt(strange, 60)}`"
    role, finish_reason = (
        it if isinstance(it := message.get(key), str) else "" for key in ("role", "finish_reason")
    )
    return _Message(
        role=role,
        text="".join(
            it["content"]
            for it in parts
            if it.get("type") == "text" and isinstance(it.get("content"), str)
        ),
        calls=[
            fields.normalize_call({key: it.get(key) for key in ("id", "name", "arguments")})
            for it in calls
        ],
        finish_reason=finish_reason,
        strange=strange or ("" if isinstance(message.get("parts"), list) else "no parts"),
    )


def _is_call(part: JsonObject) -> bool:
    return (
        part.get("type") in _CALLS
        and isinstance(name := part.get("name"), str)
        and bool(name.strip())
    )


def _of_leaves(leaves: JsonObject) -> dict[str, Any]:
    """A message of flattened attributes, as OpenInference has it, in the form of GenAI's."""
    contents = [
        (it.get("message_content.type") or "text", it.get("message_content.text"))
        for it in _indexed(leaves, "message.contents")
    ]
    if whole := leaves.get("message.content"):
        contents = [
            ("text", str(whole)),
            *((kind, text) for kind, text in contents if kind != "text"),
        ]
    calls = [
        {
            "id": it.get("tool_call.id"),
            "name": it.get("tool_call.function.name"),
            "arguments": it.get("tool_call.function.arguments"),
        }
        for it in _indexed(leaves, "message.tool_calls")
    ]
    if name := leaves.get("message.function_call_name"):
        calls.append(
            {"name": name, "arguments": leaves.get("message.function_call_arguments_json")}
        )
    parts = [
        *({"type": kind, "content": text} for kind, text in contents),
        *({"type": "tool_call", **call} for call in calls),
    ]
    return {"role": leaves.get("message.role"), "parts": parts}


def _indexed(attributes: JsonObject, prefix: str) -> list[dict[str, Any]]:
    """The items of a flattened list: ``PREFIX.0.REST`` as ``{REST: ...}``, in order."""
    items: dict[int, dict[str, Any]] = {}
    item = re.compile(rf"{re.escape(prefix)}\.([0-9]{{1,6}})\.(.*)", re.DOTALL)
    for name, value in attributes.items():
        if found := item.fullmatch(name):
            items.setdefault(int(found[1]), {})[found[2]] = value
    return [items[index] for index in sorted(items)]


def _list(value: Any) -> list[Any] | None:
    """A list that stands as JSON text or as a list; None for anything else."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


FORMATS.register("otlp")(RecordingFormat("otlp", recognises, read))
