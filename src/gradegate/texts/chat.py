"""Chat prompts: JSON or YAML lists of messages, told apart from plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.conversation import Message
from gradegate.errors import ConfigError
from gradegate.files import document

_LIST = re.compile(r"\s*\[\s*\{.*\}\s*\]\s*", re.DOTALL)
_START = re.compile(r'\s*\[\s*\{\s*"role"')
ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def parse(text: str) -> tuple[Message, ...] | None:
    """The messages of chat JSON or of ``- role:`` YAML; None for any other text."""
    start = text.lstrip()
    try:
        if start.startswith("["):
            return messages(json.loads(text))
        if start.startswith("- role:"):
            return messages(document.read(text.encode("utf-8", "replace"), "chat"))
    except (ValueError, RecursionError, ConfigError):
        return None
    return None


def broken(text: str) -> bool:
    """Whether the text is meant as chat JSON and cannot be read as such."""
    listed = _START.match(text) is not None or ('"role"' in text and _LIST.fullmatch(text) is not None)
    return listed and parse(text) is None


def messages(value: Any) -> tuple[Message, ...] | None:
    """A list of ``{role, content}``, where content is text or parts of text and images; None for anything else."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return None
    found = []
    for item in value:
        message = _message(item) if isinstance(item, Mapping) else None
        if message is None:
            return None
        found.append(message)
    return tuple(found)


def _message(item: Mapping[str, Any]) -> Message | None:
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        return None
    if isinstance(content, str):
        return Message(role, content, written=item)
    if content is None and (item.get("tool_calls") or item.get("function_call")):
        return Message(role, "", written=item)
    if not isinstance(content, Sequence) or not all(isinstance(part, Mapping) for part in content):
        return None
    texts = [str(part.get("text", "")) for part in content if part.get("type") in ("text", "input_text")]
    images = [image for part in content if (image := _image(part))]
    return Message(role, "\n".join(texts), tuple(images), item)


def _image(part: Mapping[str, Any]) -> str:
    found = part.get("image_url")
    return str(found.get("url", "")) if isinstance(found, Mapping) else str(found or "")
