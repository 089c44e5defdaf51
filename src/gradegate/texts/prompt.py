"""Fills a prompt as promptfoo fills it: a chat value by value, any other text as one template."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from gradegate.errors import ConfigError
from gradegate.files import document
from gradegate.suite import Verbatim
from gradegate.texts import chat
from gradegate.texts.template import TemplateError, is_template, render, render_values

# Braces that open and are still open at the end of their line: promptfoo takes a text with such a line for no template.
_OPEN = re.compile(r"\{\{[^}\n]*$|\{%[^%\n]*$|\{#[^#\n]*$", re.MULTILINE)
_RAW = re.compile(r"\{%-?\s*(?:end)?raw\s*-?%\}")

# What a value asks for: printed alone or through filters, or in the head of a condition or a loop.
_ASKED = re.compile(r"\{\{\s*([^{}\s|]+)\s*(?:\|[^}]+)?\}\}|\{%\s*(?:if|for)\s+([^{}\s]+)[^\n]*?%\}")
_LOOP = re.compile(r"\{%\s*for\s+(\w+)\s+in\s+(\w+)\s*%\}")
_ROOT = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)


def stays(text: str) -> bool:
    """Whether a text with braces is sent as it is, since a line of it leaves braces open."""
    return is_template(text) and _OPEN.search(text) is not None and len(_RAW.findall(text)) < 2


def fill(source: str, variables: Mapping[str, Any]) -> str:
    """The prompt with its variables, chats as JSON text. Raises TemplateError.

    A chat is read first and filled in value by value, so that no value can end a string or a message. In any other
    text, variables that are templates of their own are filled in too, unless they ask for what nobody defines.
    """
    if not is_template(source):
        return source
    parsed = structure(source)
    if parsed is not None:
        return json.dumps(render_values(parsed, variables), ensure_ascii=False, indent=2)
    if stays(source):
        return source
    return render(source, {name: _filled(value, variables) for name, value in variables.items()})


def structure(source: str) -> list[Any] | dict[str, Any] | None:
    """The JSON of a prompt, or the messages of its ``- role:`` YAML; None for any other text."""
    start = source.lstrip()
    if start[:1] in ("[", "{"):
        try:
            parsed = json.loads(source)
        except (ValueError, RecursionError):
            return None
        return parsed if isinstance(parsed, list | dict) else None
    if start.startswith("- role:"):
        try:
            parsed = document.read(source.encode("utf-8", "replace"), "chat")
        except ConfigError:
            return None
        return parsed if chat.messages(parsed) else None
    return None


def unknown(value: Any, variables: Mapping[str, Any]) -> frozenset[str]:
    """The names that a variable's value asks for and that nobody defines, found as promptfoo finds them: by a pattern.

    So a value that loops over members of its own is left as it is by both.
    """
    if not isinstance(value, str) or isinstance(value, Verbatim) or not is_template(value):
        return frozenset()
    text = _COMMENT.sub("", value)
    asked = {first or second for first, second in _ASKED.findall(text)}
    for member, items in _LOOP.findall(text):
        asked = asked - {member} | {items}
    roots = {match[0] for name in asked if (match := _ROOT.match(name))}
    return frozenset(roots - {"env", *variables})


def _filled(value: Any, variables: Mapping[str, Any]) -> Any:
    if not isinstance(value, str) or isinstance(value, Verbatim) or stays(value) or unknown(value, variables):
        return value
    try:
        return render(value, variables)
    except TemplateError as e:
        raise TemplateError(f"in a variable: {e}") from e
