"""The object that is the verdict: it is at the end of the reply, where a line or a sentence begins, and nothing follows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

from gradegate.errors import Unreadable
from gradegate.grading.reading import contradiction, leads, vocabulary
from gradegate.grading.reading.answer import Answer, Span

T = TypeVar("T", bound=Hashable)

_AROUND = r"[ \t\r\n*_`]"
_FENCE_OPEN = r"(?:```+|~~~+)[ \t]*[\w-]{0,20}[ \t]*"
# What may be between the line's begin or the sentence's end and the object.
_BEGINS = re.compile(
    rf"(?:\A|\n|[\w)\]}}\"'”’*`>][.:!?…。！？：]{{1,5}}[\"'”’)*_]{{0,4}}[ \t]*)(?:{_FENCE_OPEN})?[ \t*_`]*(?:\[\s*)?\Z"
)
_FENCED = re.compile(r"(?:```+|~~~+)[ \t]*[\w-]{0,20}[ \t]*\n?[ \t\n\[]*\Z")
_FENCE_MARK = re.compile(r"```+|~~~+")
_COMMENT = re.compile(r"//[^\n]*|\#[^\n]*|/\*(?:(?!/\*|\*/).)*+\*/", re.DOTALL)
_REST = re.compile(r"[ \t\r\n*_`~]*\]?[ \t\r\n*_`~]*")
_SENTENCE = re.compile(r"[.!?…。！？]+[\"'”’)*_]*(?=\s|\Z)|\n")
SEVERAL = "it holds several verdicts that differ; give one"
_LOOK_BACK = 600  # characters before an object that say how it is led up to


def verdict(answer: Answer, read: Callable[[dict[str, Any]], T | None], shape: str) -> T:
    """What ``read`` makes of the object; it returns None for one that is not a verdict. Raises Unreadable.

    Several objects that are nothing but equal verdicts are one.
    """
    group = _ending(answer, shape)
    readings = [_reading(item, read, shape) for item in group]
    if any(reading != readings[0] for reading in readings[1:]):
        raise Unreadable(SEVERAL)
    for item in _earlier(answer, group[0]):
        try:
            earlier = read(item)
        except Unreadable:
            continue
        if earlier is not None and earlier != readings[0]:
            raise Unreadable(SEVERAL)
    return readings[0]


def _reading(item: dict[str, Any], read: Callable[[dict[str, Any]], T | None], shape: str) -> T:
    reading = read(item)
    if reading is None:
        raise Unreadable(f"it holds no JSON object {shape}")
    return reading


def _earlier(answer: Answer, first: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects before the last ones that are where a verdict could be."""
    for span in answer.spans:
        if span.value is first:
            return
        if span.value is not None and _begins(answer.text, span.start):
            yield span.value


def table(answer: Answer, key: str) -> list[Any]:
    """The list under a key of the verdict's object. Raises Unreadable, also where an earlier object has another list."""
    shape = f'with the key "{key}"'
    group = _ending(answer, shape)
    tables = [item[key] for item in group if key in item]
    if not tables:
        raise Unreadable(f"it holds no JSON object {shape}")
    others = [*tables[1:], *(item[key] for item in _earlier(answer, group[0]) if key in item)]
    if any(_decisive(other) != _decisive(tables[0]) for other in others):
        raise Unreadable(f'it holds several objects with the key "{key}" that differ; give one')
    if not isinstance(tables[0], list):
        raise Unreadable(f'"{key}" is not a list')
    return tables[0]


def _decisive(listed: Any) -> Any:
    """A list without the reasons of its items: two that differ in their reasons alone say the same."""
    if not isinstance(listed, list):
        return listed
    return [
        {key: value for key, value in item.items() if key != "reason"} if isinstance(item, dict) else item
        for item in listed
    ]


def last(answer: Answer, shape: str = "that is a verdict") -> list[dict[str, Any]]:
    """The object that ends the reply, or the several of a list or a row. Raises Unreadable, also where an earlier object like them differs."""
    group = _ending(answer, shape)
    ending = _decisive(group)
    for item in _earlier(answer, group[0]):
        if item.keys() == group[0].keys() and _decisive([item])[0] not in ending:
            raise Unreadable(SEVERAL)
    return group


def _ending(answer: Answer, shape: str) -> list[dict[str, Any]]:
    if not answer.spans:
        raise Unreadable(f"it holds no JSON object {shape}")
    group = _group(answer)
    start, end = group[0].start, group[-1].end
    if any(span.value is None for span in group):
        raise Unreadable("its JSON cannot be read, or says two things under one key")
    if (
        len(group) > 1
        and answer.text[:start].strip(" \t\r\n*_`[")
        and "[" not in answer.text[max(0, start - 20) : start]
    ):
        raise Unreadable("it holds several objects among other words; give one")
    _check_begin(answer, start)
    _check_list(answer.text, start, end)
    _check_end(answer, start, end)
    for span in group:
        contradiction.hold(answer.text[:start], span.value or {})
    return [span.value for span in group if span.value is not None]


def before(answer: Answer) -> str:
    """The prose before the object that ends the reply."""
    return answer.text[: _group(answer)[0].start] if answer.spans else answer.text


def _group(answer: Answer) -> list[Span]:
    """The last span, with those directly before it."""
    group = [answer.spans[-1]]
    for span in reversed(answer.spans[:-1]):
        between = _COMMENT.sub(_unless_it_turns, answer.text[span.end : group[0].start])
        if between.strip(" \t\r\n,*_`"):
            break
        group.insert(0, span)
    return group


def _unless_it_turns(comment: re.Match[str]) -> str:
    return comment[0] if vocabulary.turns(comment[0]) else " "


def _begins(text: str, start: int) -> bool:
    return _BEGINS.search("x" + text[start - 60 : start] if start > 60 else text[:start]) is not None


def _check_begin(answer: Answer, start: int) -> None:
    if answer.strict and not _ALONE.fullmatch(answer.text[:start]):
        raise Unreadable(STRICT)
    if start == 0:
        return  # nothing leads up to it
    if not _begins(answer.text, start):
        raise Unreadable("its JSON object is inside a sentence; put it alone at the end")
    if (
        _FENCED.search(answer.text[max(0, start - 60) : start])
        and len(_FENCE_MARK.findall(answer.text, 0, start)) % 2 == 0
    ):
        raise Unreadable("its JSON object is in a fence inside a fence; put your own alone at the end")
    before = re.sub(rf"{_FENCE_OPEN}\s*\Z", "", answer.text[max(0, start - _LOOK_BACK) : start].rstrip(" \t\r\n*_`["))
    if vocabulary.leads_away(clause(before)) or leads.gives_another(before, clause(before)):
        raise Unreadable(
            "its JSON object is led up to as an example, a quotation or a denial; put your own alone at the end"
        )


_ALONE = re.compile(rf"[\s*_`\[]*+(?:{_FENCE_OPEN})?[\s*_`\[]*+")
STRICT = "it says what the text under judgement says, among other words; reply with your own verdict and nothing else"


def clause(before: str) -> str:
    """The unfinished sentence at the end of a text: what leads up to that which follows; empty after a full stop."""
    before = re.sub(rf"{_FENCE_OPEN}\s*\Z", "", before.rstrip(" \t\r\n*_`[")).rstrip(" \t\r\n*_`[")
    pieces = _SENTENCE.split(before)
    return pieces[-1].strip() if pieces else ""


def _check_list(text: str, start: int, end: int) -> None:
    """Raise Unreadable for a list that is opened and not closed, or closed and not opened."""
    opened = text[:start].rstrip(" \t\r\n*_`").endswith("[")
    if opened != text[end:].lstrip(" \t\r\n,").startswith("]"):
        raise Unreadable("the list around its JSON is cut off")


def _check_end(answer: Answer, start: int, end: int) -> None:
    text = answer.text
    closing = _REST.match(text, end)
    rest = text[closing.end() if closing else end :]
    if not rest:
        return
    fenced = _FENCED.search(text[max(0, start - 60) : start]) is not None and re.match(
        r"[\s\]]*(?:```|~~~)", text[end:]
    )
    if answer.strict or not fenced or "\n" in rest.strip() or leads.disowns(rest):
        raise Unreadable(
            STRICT if answer.strict else "something follows its JSON object; put the object alone at the end"
        )
