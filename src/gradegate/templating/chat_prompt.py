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

TEXT_TYPES = ("text", "input_text")
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_GAP = r"(?:[\s,\ufeff]|//[^\n]*+|\#[^\n]*+|/\*.*?\*/)*+"  # commas and comments, which JSON does not have
# How a list of objects begins and ends, also one in a code fence
_FIRST_BRACKETS = re.compile(rf"{_GAP}(?:```\w*+{_GAP})?\[{_GAP}\{{", re.DOTALL)
_LAST_BRACKETS = re.compile(rf"\}}{_GAP}\]{_GAP}(?:```{_GAP})?\Z", re.DOTALL)
_TAIL = 2_000  # last characters of a prompt, in which the end of the list is searched
# `[{"role":`, also without quotes
_FIRST_ROLE = re.compile(rf"\s*\[{_GAP}\{{\s*[\"']?role[\"']?\s*:", re.DOTALL)


def parse_structure(text: str) -> list[Any] | JsonObject | None:
    """The JSON of a prompt, or the messages of its ``- role:`` YAML; None for any other text."""
    text = text.lstrip().removeprefix("\ufeff").lstrip()  # a byte order mark is no part of it
    try:
        if text.startswith(("[", "{")):
            parsed = json.loads(text)
            return parsed if isinstance(parsed, list | dict) else None
        if text.startswith("- role:"):
            parsed = documents.read(text.encode("utf-8", "replace"), "chat")
            return parsed if parse_messages(parsed) else None
    except (ValueError, RecursionError, ConfigError):
        pass
    return None


def parse_chat(text: str, only_sendable: bool = False) -> tuple[Message, ...] | None:
    """The messages of chat JSON or of ``- role:`` YAML; None for any other text.

    ``Message.written`` is the whole message. With ``only_sendable``, it has only the keys beside role and content, and the result
    is None also for messages with parts that gradegate cannot send: anything but texts and images.
    """
    return parse_messages(parse_structure(text), only_sendable)


def parse_messages(value: Any, only_sendable: bool = False) -> tuple[Message, ...] | None:
    """A list of ``{role, content}``, where content is a text or parts; None for anything else, as in ``parse_chat``."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return None
    try:
        return tuple(_parse_message(item, only_sendable) for item in value)
    except ValueError:
        return None


def is_chat(value: Any) -> bool:
    """Whether data is meant as a list of messages, valid or not."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return False
    return all(isinstance(item, Mapping) and "role" in item and "content" in item for item in value)


def chat_mistake(text: str, only_sendable: bool = False) -> str:
    """Why a text that is meant as chat JSON is none; empty for any other text, and for valid chat JSON."""
    if not _is_meant_as_chat(text) or parse_chat(text, only_sendable) is not None:
        return ""
    try:
        return messages_mistake(json.loads(text), only_sendable)
    except (ValueError, RecursionError):
        return "is not valid JSON: write the list alone, without comments, last commas and a code fence"


def _is_meant_as_chat(text: str) -> bool:
    """Whether a text begins with a message, or is a list of objects that mentions a role."""
    if _FIRST_ROLE.match(text):
        return True
    if '"role"' not in text or not _FIRST_BRACKETS.match(text):
        return False
    return _LAST_BRACKETS.search(text, max(0, len(text) - _TAIL)) is not None


def messages_mistake(value: Any, only_sendable: bool = False) -> str:
    """Why data is not a list of messages, as in ``parse_chat``."""
    try:
        for item in value:
            _parse_message(item, only_sendable)
    except ValueError as e:
        return str(e)
    return "is not a list of messages"


def _parse_message(item: Any, only_sendable: bool) -> Message:
    """Raises ValueError with what is wrong with it."""
    message = item if isinstance(item, Mapping) else {}
    role = message.get("role")
    content = message.get("content")
    if role not in ROLES:
        which = f"with the role `{excerpt(str(role), 60)}`" if role else "without a role"
        raise ValueError(f"has a message {which}; the roles are {', '.join(ROLES)}")

    written: JsonObject | None = message
    if only_sendable:
        written = _fields_beside_content(message) or None

    if isinstance(content, str):
        return Message(role, content, written=written)
    if content is None and (message.get("tool_calls") or message.get("function_call")):
        return Message(role, "", written=written)
    if not isinstance(content, Sequence) or not all(isinstance(part, Mapping) for part in content):
        raise ValueError("has a message whose `content` is neither a text nor a list of parts")

    texts = []
    images = []
    for part in content:
        if only_sendable:
            _check_sendable(part)
        text = text_of(part)
        image = image_of(part)
        if text is not None:
            texts.append(text)
        elif image:
            images.append(image)
    return Message(role, "\n".join(texts), tuple(images), written)


def _fields_beside_content(message: JsonObject) -> JsonObject:
    """The fields of a message that have a value, without its role and its content."""
    return {
        key: value for key, value in message.items() if value and key not in ("role", "content")
    }


def _check_sendable(part: JsonObject) -> None:
    """Raises ValueError for a part of a message that cannot be sent."""
    kind = excerpt(str(part.get("type") or next(iter(part), "")), 60)
    if text_of(part) is None and not image_of(part):
        raise ValueError(
            f"has a message that cannot be sent: a part `{kind}` is neither a text nor an image"
        )
    key = unread_key(part)
    if key:
        raise ValueError(
            f"has a message that cannot be sent: `{excerpt(key, 60)}` in a part `{kind}`"
        )


def text_of(part: JsonObject) -> str | None:
    """The text of a text part; Bedrock's Converse names no type."""
    text = part.get("text")
    if part.get("type", "text") not in TEXT_TYPES or not isinstance(text, str):
        return None
    return text


def image_of(part: JsonObject) -> str:
    """The URL or data URI of an image part: OpenAI's ``image_url`` and ``input_image``, Anthropic's and Bedrock's ``image``."""
    kind = part.get("type")
    if kind is None and isinstance(part.get("image"), Mapping):
        return _converse_image(part["image"])
    if kind in ("image_url", "input_image"):
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, Mapping) else image
        return url if isinstance(url, str) else ""

    source = part.get("source")
    if kind != "image" or not isinstance(source, Mapping):
        return ""
    if source.get("type") == "base64" and isinstance(source.get("data"), str):
        return f"data:{source.get('media_type')};base64,{source['data']}"
    return str(source.get("url") or "")


def _converse_image(image: JsonObject) -> str:
    """Bedrock's {"format", "source": {"bytes": base64}}. promptfoo takes a data URI as its bytes, too."""
    source = image.get("source")
    content = source.get("bytes") if isinstance(source, Mapping) else None
    if not isinstance(content, str):
        return ""
    if content.startswith("data:"):
        return content
    return f"data:image/{image.get('format') or 'png'};base64,{content}"


def unread_key(part: JsonObject, detailed: bool = False) -> str:
    """A key of a text or image part that gradegate does not read; empty if it reads all.

    ``detailed``: the endpoint takes the detail of an image. Other parts are no valid argument.
    """
    keys: dict[str, Any] = {"type": None}  # as in `unknown_key`
    if text_of(part) is not None:
        keys["text"] = None
    elif part.get("type") is None:  # Bedrock's
        keys["image"] = {"format": None, "source": {"bytes": None}}
    elif part["type"] != "image":  # OpenAI's
        keys["image_url"] = {"url": None}
        if detailed:
            keys["image_url"]["detail"] = None
    elif part["source"].get("type") == "base64":  # Anthropic's
        keys["source"] = {"type": None, "media_type": None, "data": None}
    else:
        keys["source"] = {"type": None, "url": None}
    return unknown_key(part, keys)


def unknown_key(value: JsonObject, known: JsonObject) -> str:
    """The first key, at any depth, that has a value and is not in ``known``; empty if there is no such key.

    ``known`` has for each known key the known keys below it, or None if any key may be below it.
    """
    for key, inner in value.items():
        if key not in known and inner:
            return str(key)
        known_inside = known.get(key)
        if known_inside is None or not isinstance(inner, Mapping):
            continue
        unknown = unknown_key(inner, known_inside)
        if unknown:
            return unknown
    return ""
