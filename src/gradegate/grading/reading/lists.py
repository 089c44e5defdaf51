"""Lists of texts: under the key of an object, as a JSON list, or as the items of a list in plain text."""

from __future__ import annotations

import json
import re
from typing import Any

from gradegate.errors import Unreadable
from gradegate.grading.reading import labels, non_answers, objects, sentences, vocabulary
from gradegate.grading.reading.answer import Answer

_NONE = re.compile(
    r"\(?(?:none|n/a|nothing|empty|null|undefined|nan|infinity|\[object object\])\W*|(?:there\s+(?:are|is)\s+|it\s+makes\s+|the\s+answer\s+(?:makes|contains|holds)\s+)?no\s+(?:\w+\s+)?(?:statement|claim)s?\b.*",
    re.IGNORECASE | re.DOTALL,
)


def texts(answer: Answer, key: str) -> tuple[str, ...]:
    """The texts under a key; the list may be empty, none of its texts may. Raises Unreadable."""
    listed = objects.table(answer, key)
    if not all(isinstance(item, str) and item.strip() for item in listed):
        raise Unreadable(f'"{key}" is not a list of texts')
    return tuple(item.strip() for item in listed)


def alone(answer: Answer) -> list[Any]:
    """The texts of a reply that is one JSON list of texts and nothing else; empty for any other reply."""
    try:
        listed = json.loads(answer.text) if answer.text.startswith("[") else None
    except (ValueError, RecursionError):
        return []
    return listed if isinstance(listed, list) and all(isinstance(item, str) and item.strip() for item in listed) else []


def items(answer: Answer, key: str, marked: bool) -> tuple[str, ...]:
    """Texts under a key, as a JSON list, or one to a line; ``marked``: the lines must have bullets or numbers.

    Raises Unreadable for none, for a refusal, and for a reply that says that there are none.
    """
    if answer.spans:
        listed: tuple[str, ...] = texts(answer, key)
    elif answer.holds_json:
        listed = tuple(item.strip() for item in alone(answer))
    else:
        rows = [row for row in labels.lines(answer.text) if sentences.is_item(row)]
        listed = (
            tuple(filter(None, map(sentences.bare, rows))) if rows or marked else tuple(sentences.items(answer.text))
        )
        listed = tuple(item for item in listed if any(map(str.isalpha, item)))
        unmarked = not rows and any(map(non_answers.is_one, listed[:3]))
        if unmarked or vocabulary.refuses("\n".join(listed[:3])[:2000]):
            listed = ()
    if not listed or _NONE.fullmatch(listed[0]):
        raise Unreadable(f"it holds no {key}")
    return listed
