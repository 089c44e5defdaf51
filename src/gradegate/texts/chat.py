"""Chat prompts: JSON or YAML lists of messages, told apart from plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.conversation import Message
from gradegate.errors import ConfigError
from gradegate.files import document

_START = re.compile(r'\s*\[\s*\{\s*"role"')
TEXTS = ("text", "input_text")
ROLES = ("system", "developer", "user", "assistant", "tool")


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


def is_chat(value: Any) -> bool:
    """Whether data is meant as a list of messages, understood or not."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and bool(value)
        and all(isinstance(item, Mapping) and "role" in item and "content" in item for item in value)
    )


def broken(text: str) -> bool:
    """Whether the text is meant as chat JSON and cannot be read as such."""
    return _START.match(text) is not None and parse(text) is None


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
        return Message(role, content)
    if not isinstance(content, Sequence) or not all(isinstance(part, Mapping) for part in content):
        return None
    texts, images = [], []
    for part in content:
        image = _image(part)
        if part.get("type") in TEXTS and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif image:
            images.append(image)
        else:
            return None  # sound, a file: what cannot be sent on must not be left out
    return Message(role, "\n".join(texts), tuple(images))


def _image(part: Mapping[str, Any]) -> str:
    """The URL or data URI of an image part: OpenAI's ``image_url`` and ``input_image``, Anthropic's ``image``."""
    kind, image, source = part.get("type"), part.get("image_url"), part.get("source")
    if kind in ("image_url", "input_image"):
        url = image.get("url") if isinstance(image, Mapping) else image
        return url if isinstance(url, str) else ""
    if kind != "image" or not isinstance(source, Mapping):
        return ""
    if source.get("type") == "base64" and isinstance(source.get("data"), str):
        return f"data:{source.get('media_type')};base64,{source['data']}"
    return str(source.get("url") or "")
