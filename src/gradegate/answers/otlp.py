"""OTLP: traces as JSON lines, as the collector's file exporter writes them, with GenAI or OpenInference attributes.

The spans below one with the attribute ``gradegate.case`` are the answer to that call. Without it, those of one trace are
an answer, joined by the id of its conversation, else by the question's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradegate.conversation import Usage
from gradegate.errors import Origin
from gradegate.recording import fields
from gradegate.recording.answer import SHAPES, Answer, Question, Rows, Shape
from gradegate.recording.spans import Span, calls_of, spans

_NANO = 1_000_000_000
_READ = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt")
_WRITTEN = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion")


def recognises(rows: Rows) -> bool:
    """``resourceSpans``."""
    return "resourceSpans" in rows[0]


def read(rows: Rows, file: str) -> list[Answer]:
    """An answer for each group of spans that says anything; other spans, such as those of HTTP, are left out."""
    groups: dict[tuple[str, str], list[Span]] = {}
    found = list(spans(rows))
    cases = _cases_of(found)
    for span in found:
        groups.setdefault((span.trace, cases[span.trace, span.id]), []).append(span)
    named = {trace for trace, case in groups if case}  # what such a trace holds beside its cases is no answer
    return [
        answer
        for (trace, case), group in groups.items()
        if (case or trace not in named) and (answer := _answer(case, group, file))
    ]


def _cases_of(found: Iterable[Span]) -> dict[tuple[str, str], str]:
    """The case that each span, or the nearest one above it, names; spans that lead in a circle name none."""
    by_id = {(span.trace, span.id): span for span in found}
    cases: dict[tuple[str, str], str] = {}
    for place in by_id:
        path: list[tuple[str, str]] = []
        here: tuple[str, str] | None = place
        case = ""
        while here in by_id and here not in cases:
            span = by_id[here]
            path.append(here)
            cases[here] = case = span.case  # for now: whoever comes here again is in a circle
            here = None if case else (span.trace, span.parent)
        case = case or cases.get(here or ("", ""), "")
        cases.update(dict.fromkeys(path, case))
    return cases


def _answer(case: str, group: Sequence[Span], file: str) -> Answer | None:
    ordered = sorted(group, key=lambda span: (span.start, -span.end))
    root = _root(ordered)
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
        retrieval_context=tuple(dict.fromkeys(text for span in ordered for text in span.documents)),
        usage=_usage(root, ordered),
        finish_reason=next((reason for span in reversed(ordered) if (reason := span.finish_reason)), ""),
        origin=Origin(file, root.line),
    )


def _root(ordered: Sequence[Span]) -> Span:
    """The first span whose parent is not among them."""
    ids = {span.id for span in ordered}
    return next((span for span in ordered if span.parent not in ids), ordered[0])


def _usage(root: Span, ordered: Sequence[Span]) -> Usage:
    tokens = {"prompt_tokens": _total(root, ordered, _READ), "completion_tokens": _total(root, ordered, _WRITTEN)}
    taken = (root.end - root.start) / _NANO
    return fields.usage(
        tokens, _total(root, ordered, ("llm.cost.total",)), taken if root.start and taken >= 0 else None
    )


def _total(root: Span, ordered: Iterable[Span], names: Sequence[str]) -> float | None:
    """What the first span says of the whole, else the sum of the others."""
    whole = root.number(*names)
    known = [found for span in ordered if span is not root and (found := span.number(*names)) is not None]
    return whole if whole is not None else sum(known) if known else None


SHAPES.register("otlp")(
    Shape("otlp", "OTLP traces as JSON lines, with GenAI or OpenInference attributes", recognises, read)
)
