"""OTLP: traces as JSON lines, as the collector's file exporter writes them, with GenAI or OpenInference attributes.

The spans below one with the attribute ``gradegate.case`` are the answer to that call, in whichever file they stand. Without
it, those of one trace are an answer, joined by the id of its conversation, else by the question's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gradegate.errors import ConfigError, Mistake
from gradegate.files.lines import Map
from gradegate.recording import fields
from gradegate.recording.answer import SHAPES, Answer, File, Question, Shape
from gradegate.recording.spans import Span, calls_of, spans
from gradegate.values.conversation import Usage

_NANO = 1_000_000_000
_READ = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_WRITTEN = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")


class _Place(NamedTuple):
    """Where a span is: ids are unique in a trace."""

    trace: str
    id: str


def recognises(row: Map) -> bool:
    """``resourceSpans``."""
    return "resourceSpans" in row


def read(files: Sequence[File]) -> list[Answer]:
    """An answer for each group of spans that says anything; other spans, such as those of HTTP, are left out.

    Raises ConfigError.
    """
    found = _once(spans(files))
    cases = _cases_of(found)
    groups: dict[tuple[str, str], list[Span]] = {}
    for place, span in found.items():
        groups.setdefault((span.trace, cases[place]), []).append(span)
    named = {trace for trace, case in groups if case}
    # What such a trace holds beside its cases is no answer, but what it called may be part of one.
    beside = {trace: _beside(groups.get((trace, ""), ()), found) for trace in named}
    return [
        answer
        for (trace, case), group in groups.items()
        if (case or trace not in named) and (answer := _answer(case, group, beside.get(trace, "")))
    ]


def _once(found: Iterable[Span]) -> dict[_Place, Span]:
    """The spans by their places; one that was written twice is one. Raises ConfigError."""
    by_place: dict[_Place, Span] = {}
    mistakes: list[Mistake] = []
    for number, span in enumerate(found):
        place = _Place(span.trace, span.id or f"without an id: {number}")
        first = by_place.setdefault(place, span)
        if first != span:
            what = f"the trace has two spans of one id: the other is at {first.origin}"
            mistakes.append(Mistake(what, span.origin, "write each span once"))
    if mistakes:
        raise ConfigError(*mistakes)
    return by_place


def _cases_of(found: Mapping[_Place, Span]) -> dict[_Place, str]:
    """The case that each span, or the nearest one above it, names; spans that lead in a circle name none."""
    cases: dict[_Place, str] = {}
    for place in found:
        path: list[_Place] = []
        here: _Place | None = place
        case = ""
        while here is not None and here in found and here not in cases:
            span = found[here]
            path.append(here)
            cases[here] = case = span.case  # for now: whoever comes here again is in a circle
            here = None if case else _Place(span.trace, span.parent)
        case = case or (cases.get(here, "") if here else "")
        cases.update(dict.fromkeys(path, case))
    return cases


def _beside(others: Sequence[Span], found: Mapping[_Place, Span]) -> str:
    """Why an answer of a trace may have called tools that it does not tell, as a sentence; ``others`` belong to no case."""
    above = _above((span for span in found.values() if span.case), found) if others else set()
    for span in others:
        if calls_of([span]) or span.untold:
            return "a span of the trace calls a tool and is below no span with the case"
        parent = _Place(span.trace, span.parent)
        if span.parent and parent not in found and _Place(span.trace, span.id) not in above:
            return "a span of the trace lies below one that is not there"
    return ""


def _above(named: Iterable[Span], found: Mapping[_Place, Span]) -> set[_Place]:
    """The places above spans that name a case."""
    places: set[_Place] = set()
    for span in named:
        here = _Place(span.trace, span.parent)
        while here in found and here not in places:
            places.add(here)
            here = _Place(here.trace, found[here].parent)
    return places


def _answer(case: str, group: Sequence[Span], beside: str) -> Answer | None:
    ordered = sorted(group, key=lambda span: (span.start, -span.end))
    ids = {span.id for span in ordered}
    root = next((span for span in ordered if span.parent not in ids), ordered[0])
    output = root.output or next((text for span in reversed(ordered) if (text := span.output)), "")
    question = root.question or next((text for span in ordered if (text := span.question)), "")
    calls = tuple(calls_of(ordered))
    known = bool(calls) or any(span.said for span in ordered)
    if not case and not output and not question:
        return None
    session = next((span.session for span in ordered if span.session), "")
    failure = root.failure or ("" if output or calls else "the spans hold no output")
    return Answer(
        id=case,
        question=None if case else Question(question, session=session),
        output=output,
        error=failure,
        tool_calls=calls if known else None,
        untold=next(filter(None, (span.untold for span in ordered)), beside),
        retrieval_context=tuple(dict.fromkeys(text for span in ordered for text in span.documents)),
        usage=_usage(root, ordered),
        finish_reason=next((reason for span in reversed(ordered) if (reason := span.finish_reason)), ""),
        origin=root.origin,
    )


def _usage(root: Span, ordered: Sequence[Span]) -> Usage:
    tokens = {"prompt_tokens": _total(root, ordered, _READ), "completion_tokens": _total(root, ordered, _WRITTEN)}
    taken = (root.end - root.start) / _NANO
    return fields.usage(tokens, _total(root, ordered, ("llm.cost.total",)), taken if root.start and taken >= 0 else None)


def _total(root: Span, ordered: Iterable[Span], names: Sequence[str]) -> float | None:
    """What the first span says of the whole, else the sum of the others."""
    whole = root.number(*names)
    known = [found for span in ordered if span is not root and (found := span.number(*names)) is not None]
    return whole if whole is not None else sum(known) if known else None


SHAPES.register("otlp")(Shape("otlp", "OTLP traces as JSON lines, with GenAI or OpenInference attributes", recognises, read))
