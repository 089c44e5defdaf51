"""Reads replies that are lists: texts, and verdicts that are counted. What cannot be read raises Unreadable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading import reading
from gradegate.grading.rubric import shape

YES_NO: Mapping[str, str] = {"yes": "yes", "y": "yes", "true": "yes", "no": "no", "n": "no", "false": "no"}
YES_NO_IDK: Mapping[str, str] = {**YES_NO, "idk": "idk", "borderline": "idk", "unknown": "idk"}
_WRAPPING = "\"'`*_()[]<>“”‘’ \t\r\n.,!;:"
# A verdict may go on after a comma or a dash; "yes/no" and "no idea" are no verdicts.
_LEADING = re.compile(r"([a-z]+)\s*[,.;:(–—-]\s*(.*)", re.DOTALL)
_TEXT: Mapping[str, Any] = {"type": "string"}


@dataclass(frozen=True, slots=True)
class Given:
    """One verdict in its canonical word, with the grader's reason."""

    word: str
    reason: str = ""


def texts_schema(key: str) -> dict[str, Any]:
    """JSON Schema of ``{key: [text, ...]}``."""
    return shape(**{key: {"type": "array", "items": _TEXT}})


def verdicts_schema(words: Sequence[str]) -> dict[str, Any]:
    """JSON Schema of ``{"verdicts": [{"reason", "verdict"}, ...]}``."""
    item = shape(reason=_TEXT, verdict={"type": "string", "enum": list(words)})
    return shape(verdicts={"type": "array", "items": item})


def texts(answer: reading.Answer, key: str) -> tuple[str, ...]:
    """The texts under a key; the list may be empty, none of its texts may. Raises Unreadable."""
    found = reading.the_list(answer, key)
    if not all(isinstance(item, str) and item.strip() for item in found):
        raise Unreadable(f'"{key}" is not a list of texts')
    return tuple(item.strip() for item in found)


def counted(answer: reading.Answer, count: int, words: Mapping[str, str] = YES_NO) -> tuple[Given, ...]:
    """Exactly ``count`` verdicts, in order. Raises Unreadable for another number and for an unknown word."""
    found = reading.the_list(answer, "verdicts")
    if len(found) != count:
        raise Unreadable(f"it holds {len(found)} verdicts where {count} were asked for")
    return tuple(given(item, words) for item in found)


def some(answer: reading.Answer, words: Mapping[str, str] = YES_NO) -> tuple[Given, ...]:
    """Verdicts on parts that the grader itself finds, as many as there are. Raises Unreadable."""
    return tuple(given(item, words) for item in reading.the_list(answer, "verdicts"))


def one(answer: reading.Answer, words: Mapping[str, str] = YES_NO) -> Given:
    """The one verdict of ``{"verdict", "reason"}``. Raises Unreadable."""
    found = [given(item, words) for item in answer.objects if "verdict" in item]
    reading.one((item.word for item in found), 'no JSON object with the key "verdict"')
    return found[0]


def given(item: Any, words: Mapping[str, str]) -> Given:
    """What ``{"verdict", "reason"}`` says. Raises Unreadable."""
    if not isinstance(item, Mapping) or "verdict" not in item:
        raise Unreadable('a verdict is no JSON object with the key "verdict"')
    value = item["verdict"]
    written = str(value).strip(_WRAPPING).lower() if isinstance(value, str | bool) else ""
    leading = _LEADING.fullmatch(written)
    word = written
    if leading and not any(other in words for other in re.findall(r"\w+", leading[2])):
        word = leading[1]
    if word not in words:
        known = ", ".join(dict.fromkeys(words.values()))
        raise Unreadable(f"the verdict {str(value)[:40]!r} is none of {known}")
    return Given(words[word], reading.words(item.get("reason")))
