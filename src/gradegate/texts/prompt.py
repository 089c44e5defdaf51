"""Fills a prompt as promptfoo fills it: a chat value by value, any other text as one template."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from gradegate.errors import ConfigError
from gradegate.files import document
from gradegate.processes.evaluate import Exceeded, charged, evaluate
from gradegate.texts import chat, engine
from gradegate.texts.template import TemplateError, is_template, render, render_values
from gradegate.values.suite import Verbatim

_OPENS = re.compile(r"\{[{%]")
_SHORT = 500  # characters of which the square is nothing
_RAW = re.compile(r"\{%-?\s*(?:end)?raw\s*-?%\}")


def stays(text: str) -> bool:
    """Whether a text with braces is sent as it is, since a line of it leaves braces open."""
    return is_template(text) and any(map(_is_open, text.split("\n"))) and len(_RAW.findall(text)) < 2


def _is_open(line: str) -> bool:
    """Braces that open and are still open at the end of their line: promptfoo takes such a text for no template.

    It says so with ``{{[^}]*$``, ``{%[^%]*$`` and ``{#[^#]*$``, which take the square of the time.
    """
    return "{" in line and ("{{" in line.rpartition("}")[2] or _left(line, "%") or _left(line, "#"))


def _left(line: str, sign: str) -> bool:
    before, found, _ = line.rpartition(sign)
    return bool(found) and before.endswith("{")


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
    start = source.lstrip().removeprefix("\ufeff").lstrip()
    if start[:1] in ("[", "{"):
        try:
            parsed = json.loads(start)
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

    So a value that loops over members of its own is left as it is by both. Raises TemplateError.
    """
    if not isinstance(value, str) or isinstance(value, Verbatim) or not is_template(value):
        return frozenset()
    try:
        return frozenset(name for name in asked_by(value) if name != "env" and name not in variables)
    except Exceeded as e:
        raise TemplateError(f"in a variable: {e}") from e


def _filled(value: Any, variables: Mapping[str, Any]) -> Any:
    if not isinstance(value, str) or isinstance(value, Verbatim) or stays(value) or unknown(value, variables):
        return value
    try:
        return render(value, variables)
    except TemplateError as e:
        raise TemplateError(f"in a variable: {e}") from e


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
    """The names that a text asks for as promptfoo finds them; a long one is looked at in the worker. Raises Exceeded."""
    if len(text) > _SHORT:
        return list(evaluate("gradegate.texts.engine:mentioned", text))
    with charged():
        return engine.mentioned(text)
