"""What a variable's value asks for, found as promptfoo finds it: by patterns, some of which take the square of the time."""

from __future__ import annotations

import re

from gradegate.processes.evaluate import charged, evaluate

# What a value asks for: printed alone or through filters, or in the head of a condition or a loop.
_ASKED = re.compile(r"\{\{\s*([^{}\s|]+)\s*(?:\|[^}]+)?\}\}|\{%\s*(?:if|for)\s+([^{}\s]+)[^\n]*?%\}")
_LOOP = re.compile(r"\{%\s*for\s+(\w+)\s+in\s+(\w+)\s*%\}")
_ROOT = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_OPENS = re.compile(r"\{[{%]")
_SHORT = 500  # characters of which the square is nothing


def names(text: str) -> list[str]:
    """The names, sorted."""
    text = _COMMENT.sub("", text)
    asked = {first or second for first, second in _ASKED.findall(text)}
    for member, items in _LOOP.findall(text):
        asked = asked - {member} | {items}
    return sorted({match[0] for name in asked if (match := _ROOT.match(name))})


def asks_for(text: str, name: str) -> bool:
    """Whether a name stands behind braces that open, before any brace that closes."""
    if name not in text:
        return False
    word = re.compile(rf"\b{re.escape(name)}\b")
    for part in text.split("}"):
        start = _OPENS.search(part)
        if start and word.search(part, start.end()):
            return True
    return False


def asked_by(text: str) -> list[str]:
    """``names``, of a long text in the worker. Raises Exceeded."""
    if len(text) > _SHORT:
        return list(evaluate("gradegate.texts.references:names", text))
    with charged():
        return names(text)
