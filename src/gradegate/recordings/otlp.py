"""OTLP: traces as JSON lines, as the collector's file exporter writes them, with GenAI or OpenInference attributes.

A span with the attribute ``gradegate.case`` names a planned call. That span and the spans below it are the answer to the
call, in whichever file they are. A trace without this attribute is one answer. The id of its conversation or the text of
its question finds the planned call.

Format: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding; ``parsing/spans.py`` parses a span.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gradegate.core.usage import Usage
from gradegate.errors import ConfigError, Mistake
from gradegate.files.documents import Map
from gradegate.recordings.parsing import fields
from gradegate.recordings.parsing.recorded_answer import (
    FORMATS,
    RecordedAnswer,
    RecordedQuestion,
    RecordingFile,
    RecordingFormat,
)
from gradegate.recordings.parsing.spans import Span, SpanId, items_of, parse_span
from gradegate.structs import JsonObject

_NANOSECONDS = 1_000_000_000  # of a second
# Names of attributes. The first one with a value counts.
_INPUT_TOKENS = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
)
_OUTPUT_TOKENS = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
)
_COST = ("llm.cost.total",)
_SESSION_IDS = ("gen_ai.conversation.id", "session.id")

_SILENT_MODEL = "a span of a model has no output messages"


def recognises(row: Map) -> bool:
    """Whether a row has ``resourceSpans``."""
    return "resourceSpans" in row


def read(files: Sequence[RecordingFile]) -> list[RecordedAnswer]:
    """An answer for each case and each trace without cases, unless its spans say nothing. Raises ConfigError."""
    spans = _parse_spans(files)
    cases = _cases_by_span(spans)
    groups: dict[tuple[str, str], list[Span]] = defaultdict(list)  # by trace and case
    for span in spans.values():
        groups[span.id.trace, cases.get(span.id, "")].append(span)

    # In a trace with cases, the other spans are no answer. But one of them may show a call that belongs to an answer.
    calls_unknown = {}  # by trace with cases
    ancestors = _ancestors_of_cases(spans)
    for trace, case in groups:
        if case:
            outside = groups.get((trace, ""), [])
            calls_unknown[trace] = _describe_lost_calls(outside, spans, ancestors)

    answers = []
    for (trace, case), group in groups.items():
        if not case and trace in calls_unknown:
            continue
        answer = _answer_from_spans(case, group, calls_unknown.get(trace, ""))
        if answer:
            answers.append(answer)
    return answers


def _parse_spans(files: Iterable[RecordingFile]) -> dict[SpanId, Span]:
    """The spans of all files. Equal copies of a span count once. Raises ConfigError."""
    spans: dict[SpanId, Span] = {}
    mistakes = []
    for file in files:
        for written in _span_objects(file):
            span = parse_span(written, file.name, f"without an id: {len(spans)}")
            first = spans.setdefault(span.id, span)
            if first != span:
                what = f"the trace has two spans of one id: the other is at {first.origin}"
                mistakes.append(Mistake(what, span.origin, "write each span once"))
    if mistakes:
        raise ConfigError(*mistakes)
    return spans


def _span_objects(file: RecordingFile) -> Iterator[Map]:
    for row in file.rows:
        for resource in items_of(row, "resourceSpans"):
            for scope in items_of(resource, "scopeSpans"):
                for span in items_of(scope, "spans"):
                    if isinstance(span, Map):
                        yield span


def _cases_by_span(spans: Mapping[SpanId, Span]) -> dict[SpanId, str]:
    """The case of each span: the one that it names, else that of its parent. Other spans are left out."""
    children = defaultdict(list)
    for span in spans.values():
        children[span.parent_id].append(span)

    cases = {}
    for top in spans.values():
        if not top.case:
            continue
        stack = [top]
        while stack:
            span = stack.pop()
            cases[span.id] = top.case
            stack += [child for child in children[span.id] if not child.case]
    return cases


def _ancestors_of_cases(spans: Mapping[SpanId, Span]) -> set[SpanId]:
    """The ids of all spans above those that name a case."""
    ancestors = set()
    for span in spans.values():
        if not span.case:
            continue
        parent = spans.get(span.parent_id)
        while parent and parent.id not in ancestors:
            ancestors.add(parent.id)
            parent = spans.get(parent.parent_id)
    return ancestors


def _describe_lost_calls(
    outside: Iterable[Span], spans: Mapping[SpanId, Span], ancestors: set[SpanId]
) -> str:
    """Say why answers of a trace may lack tool calls, from the spans outside of every case. Empty if they lack none."""
    for span in outside:
        if span.message_calls or span.executed_call or span.calls_unknown:
            return "a span of the trace calls a tool and is below no span with the case"
        if span.is_silent_model:
            return f"{_SILENT_MODEL} and is below no span with the case"
        has_lost_parent = span.parent_id.span and span.parent_id not in spans
        if has_lost_parent and span.id not in ancestors:
            return "a span of the trace lies below one that is not there"
    return ""


# --- from spans to an answer ----------------------------------------------------------------------------------


def _answer_from_spans(case: str, group: Iterable[Span], lost_calls: str) -> RecordedAnswer | None:
    """The answer to a case, or of a trace if the case is empty. None if the spans of a trace say nothing."""
    spans = sorted(group, key=lambda span: (span.start, -span.end))
    root = _find_root(spans)
    question = root.question or fields.first_text(span.question for span in spans)
    output = root.output or fields.first_text(span.output for span in reversed(spans))
    if not case and not question and not output:
        return None

    # The messages of an agent may be only the last of several: its models show which tools were called.
    tool_calls = _merge_calls(spans)
    has_known_calls = bool(tool_calls) or any(span.is_model for span in spans)
    error = root.failure
    if not error and not output and not tool_calls:
        error = "the spans hold no output"
    documents = []
    for span in spans:
        documents += span.documents

    return RecordedAnswer(
        id=case,
        question=None if case else RecordedQuestion(question, session=_find_session(spans)),
        output=output,
        error=error,
        tool_calls=tool_calls if has_known_calls else None,
        calls_unknown=_describe_unknown_calls(spans) or lost_calls,
        retrieval_context=tuple(dict.fromkeys(documents)),
        usage=_measure_usage(root, spans),
        finish_reason=fields.first_text(span.finish_reason for span in reversed(spans)),
        origin=root.origin,
    )


def _describe_unknown_calls(spans: Sequence[Span]) -> str:
    """Say why tool calls of an answer may be missing in its spans. Empty if all are known."""
    for span in spans:
        if span.calls_unknown:
            return span.calls_unknown
    # The calls of a silent model are known if the application records the tools that it runs.
    records_tools = any(span.executed_call for span in spans)
    has_silent_model = any(span.is_silent_model for span in spans)
    return _SILENT_MODEL if has_silent_model and not records_tools else ""


def _find_root(spans: Sequence[Span]) -> Span:
    """The first span whose parent is not among the spans. If they form a circle, the first one."""
    ids = {span.id for span in spans}
    for span in spans:
        if span.parent_id not in ids:
            return span
    return spans[0]


def _find_session(spans: Iterable[Span]) -> str:
    """The id of the conversation; empty if no span names one."""
    for span in spans:
        for name in _SESSION_IDS:
            if span.attributes.get(name):
                return str(span.attributes[name])
    return ""


def _merge_calls(spans: Sequence[Span]) -> tuple[JsonObject, ...]:
    """The tool calls of messages, and those of spans that run a tool which no message calls. Each call once."""
    calls = []
    for span in spans:
        calls += span.message_calls
    names = {call["function"]["name"] for call in calls}
    for span in spans:
        if span.executed_call and span.executed_call["function"]["name"] not in names:
            calls.append(span.executed_call)

    unique_calls = {}
    for call in calls:
        name, arguments = fields.call_identity(call)
        key = (call["id"], name) if call["id"] else ("", name, arguments)
        unique_calls[key] = call
    return tuple(unique_calls.values())


def _measure_usage(root: Span, spans: Iterable[Span]) -> Usage:
    seconds = (root.end - root.start) / _NANOSECONDS
    tokens = {
        "prompt_tokens": _sum_attribute(_INPUT_TOKENS, root, spans),
        "completion_tokens": _sum_attribute(_OUTPUT_TOKENS, root, spans),
    }
    cost = _sum_attribute(_COST, root, spans)
    return fields.parse_usage(tokens, cost, seconds if root.start and seconds >= 0 else None)


def _sum_attribute(names: Sequence[str], root: Span, spans: Iterable[Span]) -> float | None:
    """The number that the root has for all spans, else the sum of the others. None without numbers."""
    total = fields.first_number(root.attributes, names)
    if total is not None:
        return total
    numbers = [fields.first_number(span.attributes, names) for span in spans]
    parts = [number for number in numbers if number is not None]
    return sum(parts) if parts else None


FORMATS.register("otlp")(RecordingFormat("otlp", recognises, read))
