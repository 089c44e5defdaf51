"""Chat prompts: JSON or YAML lists of messages, told apart from plain text."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gradegate.core.conversation import Message
from gradegate.errors import ConfigError
from gradegate.files import documents
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject

_GAP = r"(?:[\s,\ufeff]|//[^\n]*+|\#[^\n]*+|/\*.*?\*/)*+"  # commas and comments, which JSON has not
_BEGIN = re.compile(rf"{_GAP}(?:```\w*+{_GAP})?\[{_GAP}\{{", re.DOTALL)
_END = re.compile(rf"\}}{_GAP}\]{_GAP}(?:```{_GAP})?\Z", re.DOTALL)
_TAIL = 2_000  # characters, in which a list ends
_START = re.compile(rf"\s*\[{_GAP}\{{\s*[\"']?role[\"']?\s*:", re.DOTALL)
TEXTS = ("text", "input_text")
ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def parse_structure(text: str) -> list[Any] | JsonObject | None:
    """The JSON of a prompt, or the messages of its ``- role:`` YAML; None for any other text."""
    start = text.lstrip().removeprefix("\ufeff").lstrip()  # a byte order mark is no part of it
    try:
        if start.startswith(("[", "{")):
            parsed = json.loads(start)
            return parsed if isinstance(parsed, list | dict) else None
        listed = (
            documents.read(text.encode("utf-8", "replace"), "chat")
            if start.startswith("- role:")
            else None
        )
        return listed if parse_messages(listed) else None
    except (ValueError, RecursionError, ConfigError):
        return None


def parse_chat(text: str, only_sendable: bool = False) -> tuple[Message, ...] | None:
    """The messages of chat JSON or of ``- role:`` YAML; None for any other text.

    ``only_sendable``: only parts that can be sent on filled in, texts and images alone; ``written`` has the rest of each message.
    """
    return parse_messages(parse_structure(text), only_sendable)


def is_chat(value: Any) -> bool:
    """Whether data is meant as a list of messages, understood or not."""
    listed = isinstance(value, Sequence) and not isinstance(value, str) and bool(value)
    return listed and all(
        isinstance(item, Mapping) and "role" in item and "content" in item for item in value
    )


def chat_mistake(text: str, only_sendable: bool = False) -> str:
    """Why a text that is meant as chat JSON cannot be read as such; empty for any other, and where it can."""
    fenced = (
        '"role"' in text
        and _BEGIN.match(text) is not None
        and _END.search(text, max(0, len(text) - _TAIL)) is not None
    )
    if not (fenced or _START.match(text)) or parse_chat(text, only_sendable) is not None:
        return ""
    try:
        return messages_mistake(json.loads(text), only_sendable)
    except (ValueError, RecursionError):
        return "is not valid JSON: write the list alone, without comments, last commas and a code fence"


def messages_mistake(value: Any, only_sendable: bool = False) -> str:
    """Why data is not a list of messages, as in ``parse``."""
    try:
        for item in value:
            _message(item, only_sendable)
    except ValueError as e:
        return str(e)
    return "is not a list of messages"


def parse_messages(value: Any, only_sendable: bool = False) -> tuple[Message, ...] | None:
    """A list of ``{role, content}``, where content is text or parts; None for anything else, as in ``parse``."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return None
    try:
        return tuple(_message(item, only_sendable) for item in value)
    except ValueError:
        return None


def _message(item: Any, only_sendable: bool) -> Message:
    """Raises ValueError with why it is none."""
    role, content = (
        (item.get("role"), item.get("content")) if isinstance(item, Mapping) else (None, None)
    )
    if role not in ROLES:
        which = f"with the role `{excerpt(str(role), 60)}`" if role else "without a role"
        raise ValueError(f"has a message {which}; the roles are {', '.join(ROLES)}")
    written = (
        {key: value for key, value in item.items() if value and key not in ("role", "content")}
        or None
        if only_sendable
        else item
    )
    if isinstance(content, str):
        return Message(role, content, written=written)
    if content is None and (item.get("tool_calls") or item.get("function_call")):
        return Message(role, "", written=written)
    if not isinstance(content, Sequence) or not all(isinstance(part, Mapping) for part in content):
        raise ValueError("has a message whose `content` is neither a text nor a list of parts")
    texts = []
    images = []
    for part in content:
        image = image_of(part)
        text = text_of(part)
        kind = excerpt(str(part.get("type") or next(iter(part), "")), 60)
        if only_sendable and text is None and not image:
            raise ValueError(
                f"has a message that cannot be sent: a part `{kind}` is neither a text nor an image"
            )
        if only_sendable and (more := unread_key(part)):
            raise ValueError(
                f"has a message that cannot be sent: `{excerpt(more, 60)}` in a part `{kind}`"
            )
        if text is not None:
            texts.append(text)
        elif image:
            images.append(image)
    return Message(role, "\n".join(texts), tuple(images), written)


def text_of(part: JsonObject) -> str | None:
    """The text of a part that is one; Bedrock's Converse names no type."""
    text = part.get("text")
    return text if part.get("type", "text") in TEXTS and isinstance(text, str) else None


def image_of(part: JsonObject) -> str:
    """The URL or data URI of an image part: OpenAI's ``image_url`` and ``input_image``, Anthropic's and Bedrock's ``image``."""
    kind = part.get("type")
    image = part.get("image_url")
    source = part.get("source")
    if kind is None and isinstance(part.get("image"), Mapping):
        # Of Bedrock's Converse: {"format", "source": {"bytes": base64}}, whose bytes promptfoo takes as a data URI, too.
        source = part["image"].get("source")
        content = source.get("bytes") if isinstance(source, Mapping) else None
        if not isinstance(content, str):
            return ""
        if content.startswith("data:"):
            return content
        return f"data:image/{part['image'].get('format') or 'png'};base64,{content}"
    if kind in ("image_url", "input_image"):
        url = image.get("url") if isinstance(image, Mapping) else image
        return url if isinstance(url, str) else ""
    if kind != "image" or not isinstance(source, Mapping):
        return ""
    if source.get("type") == "base64" and isinstance(source.get("data"), str):
        return f"data:{source.get('media_type')};base64,{source['data']}"
    return str(source.get("url") or "")


def unread_key(part: JsonObject, detailed: bool = False) -> str:
    """A key of a text or an image part that says something beside them; empty for none. ``detailed``: the detail of an image is read."""
    known: JsonObject = {"image_url": dict.fromkeys(("url", "detail") if detailed else ("url",))}
    if text_of(part) is not None:
        known = {"text": None}
    elif part.get("type") is None:
        known = {"image": {"format": None, "source": {"bytes": None}}}
    elif part["type"] == "image":
        data = ("media_type", "data") if part["source"].get("type") == "base64" else ("url",)
        known = {"source": dict.fromkeys(("type", *data))}
    return unknown_key(part, {"type": None, **known})


def unknown_key(value: JsonObject, known: JsonObject) -> str:
    """The first key, at any depth, that has a value and is not known; where None is known, anything is. Empty for none."""
    for key, inner in value.items():
        if key not in known and inner:
            return str(key)
        deeper = known.get(key)
        if (
            deeper is not None
            and isinstance(inner, Mapping)
            and (more := unknown_key(inner, deeper))
        ):
            return more
    return ""
