"""The question that an answer would answer: under its key, or the whole of a reply in plain text."""

from __future__ import annotations

from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading.reading import objects, vocabulary
from gradegate.grading.reading.answer import Answer

LONGEST = 5000  # characters of a question
_AROUND = ('""', "''", "“”", "‘’", "«»", "``", "**")
_NOTHING = frozenset({"null", "none", "undefined", "nan", "infinity", "n/a", "[object object]"})


def question(answer: Answer) -> str:
    """One question. Raises Unreadable for none, and for a reply that declines to ask one."""
    if answer.holds_json:
        return objects.verdict(answer, _under_key, 'with a text under the key "question"')
    if len(answer.text) > LONGEST:
        raise Unreadable(f"it has {len(answer.text)} characters, which is not a question")
    text = _unwrapped(answer.text.strip())
    if not _asks(text) or (vocabulary.refuses(text) and not text.endswith(("?", "？", "؟"))):
        raise Unreadable("it holds no question")
    return text


def _under_key(item: dict[str, Any]) -> str | None:
    text = item.get("question")
    return _unwrapped(text.strip()) if isinstance(text, str) and len(text) <= LONGEST and _asks(text) else None


def _asks(text: str) -> bool:
    return any(map(str.isalnum, text)) and text.strip().lower() not in _NOTHING


def _unwrapped(text: str) -> str:
    """A question without the quotes or asterisks around the whole of it."""
    while len(text) > 1 and text[0] + text[-1] in _AROUND and text[0] not in text[1:-1].strip(text[0]):
        text = text[1:-1].strip()
    return text
