"""Values as people read them: texts, JSON, and indented lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gradegate.results.mapping import plain


def shown(value: Any, indent: int | None = None) -> str:
    """A value as people read it: text as it is, data as JSON, nothing as an empty string."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False, indent=indent)


def spread(values: Mapping[str, Any]) -> str:
    """A mapping as text, one entry below the other; texts keep their lines."""
    texts = {str(key): shown(value, indent=2) for key, value in values.items()}
    return "\n".join(f"{key}:\n{text}" if "\n" in text else f"{key}: {text}" for key, text in texts.items())


def outline(value: Any) -> str:
    """Nested data as indented lines, without the marks of JSON; empty lists and mappings read ``none``."""
    return "\n".join(_outlined(plain(value)))


def _outlined(value: Any) -> Iterator[str]:
    pairs = value.items() if isinstance(value, dict) else (("-", item) for item in value)
    for key, item in pairs:
        nested = isinstance(item, dict | list) and bool(item) and key != "arguments" and not _is_short(item)  # a call's stay JSON
        lines = list(_outlined(item)) if nested else _text(item).split("\n")
        label = key if key == "-" else f"{key}:"
        # An item of a list starts on the line of its dash; what is short is beside its key.
        beside = key == "-" or (len(lines) == 1 and not nested)
        yield f"{label} {lines.pop(0)}" if beside else label
        yield from ("  " + line for line in lines)


def _is_short(value: Any) -> bool:
    """Whether it is a list of a few words, such as votes, which reads best on one line."""
    if not isinstance(value, list):
        return False
    words = [item if isinstance(item, str) else "-" for item in value]
    return len(words) <= 12 and all(word.isalnum() and len(word) <= 12 for word in words)


def _text(value: Any) -> str:
    if value in ([], {}, None):
        return "none"
    return ", ".join(value) if isinstance(value, list) else shown(value)
