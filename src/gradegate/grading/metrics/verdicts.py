"""Reads replies that are lists: texts, and verdicts that are counted. What cannot be read raises Unreadable."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.errors import Unreadable
from gradegate.figures import many
from gradegate.grading.reading import lists, objects, values, vocabulary
from gradegate.grading.reading.answer import Answer
from gradegate.grading.reading.judgement import Judgement
from gradegate.grading.rubric import shape

YES_NO: Mapping[str, str] = {"yes": "yes", "y": "yes", "true": "yes", "no": "no", "n": "no", "false": "no"}
YES_NO_IDK: Mapping[str, str] = {**YES_NO, "idk": "idk", "borderline": "idk", "unknown": "idk"}
_WRAPPING = "\"'`*_()[]“”‘’ \t\r\n."
# A verdict may go on after a comma or a dash; "yes/no" and "no idea" are not verdicts.
_LEADING = re.compile(r"([a-z]+)\s*[,.;:(–—-]\s*(.*)", re.DOTALL)
_TEXT: Mapping[str, Any] = {"type": "string"}


def texts_schema(key: str) -> dict[str, Any]:
    """JSON Schema of ``{key: [text, ...]}``."""
    return shape(**{key: {"type": "array", "items": _TEXT}})


def verdicts_schema(words: Sequence[str]) -> dict[str, Any]:
    """JSON Schema of ``{"verdicts": [{"reason", "verdict"}, ...]}``."""
    item = shape(reason=_TEXT, verdict={"type": "string", "enum": list(words)})
    return shape(verdicts={"type": "array", "items": item})


texts = lists.texts


def counted(answer: Answer, count: int, words: Mapping[str, str] = YES_NO) -> tuple[Judgement[str], ...]:
    """Exactly ``count`` verdicts, in order. Raises Unreadable for another number and for an unknown word."""
    items = objects.table(answer, "verdicts")
    if len(items) != count:
        raise Unreadable(f"it holds {many(len(items), 'verdict')} where {count} were asked for")
    return tuple(judgement(item, words) for item in items)


def listed(answer: Answer, words: Mapping[str, str] = YES_NO) -> tuple[Judgement[str], ...]:
    """Verdicts on parts that the grader itself finds, as many as there are. Raises Unreadable."""
    return tuple(judgement(item, words) for item in objects.table(answer, "verdicts"))


def single(answer: Answer, words: Mapping[str, str] = YES_NO) -> Judgement[str]:
    """The one verdict of ``{"verdict", "reason"}``. Raises Unreadable."""
    return objects.verdict(
        answer, lambda item: judgement(item, words) if "verdict" in item else None, 'with the key "verdict"'
    )


def judgement(item: Any, words: Mapping[str, str]) -> Judgement[str]:
    """What ``{"verdict", "reason"}`` says. Raises Unreadable."""
    if not isinstance(item, Mapping) or "verdict" not in item:
        raise Unreadable('a verdict is not a JSON object with the key "verdict"')
    value = item["verdict"]
    written = str(value).strip(_WRAPPING).lower() if isinstance(value, str | bool) else ""
    leading = _LEADING.fullmatch(written)
    word = leading[1] if leading and _is_reason(leading[2], words.get(leading[1], ""), words) else written
    if word not in words:
        choices = ", ".join(dict.fromkeys(words.values()))
        raise Unreadable(f"the verdict {str(value)[:40]!r} is not one of {choices}")
    return Judgement(words[word], values.words(item.get("reason")))


def _is_reason(text: str, word: str, words: Mapping[str, str]) -> bool:
    """Whether what follows a verdict in its text is only the reason: no other verdict, and nothing that turns a yes round."""
    another = any(other in words for other in re.findall(r"\w+", text))
    return not another and not (word in ("yes", "true") and vocabulary.turns(text))
