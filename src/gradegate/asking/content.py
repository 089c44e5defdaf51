"""Messages in the form of a vendor, whole or not at all: what its API has no place for is refused, and never left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradegate.access.hiding import excerpt
from gradegate.errors import ProviderError, Trouble
from gradegate.texts import chat
from gradegate.values.conversation import Image, Message

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a function, which the assistant made."""

    id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a function gave."""

    id: str
    name: str
    content: str


Part = str | ToolCall | ToolResult | JsonObject  # a text, an Image, a call, its result, or a part of the vendor's own
Parts = list[Part]


@dataclass(frozen=True, slots=True)
class Taken:
    """What a vendor's API takes beside texts, images, calls and results: parts of its ``own``, which are sent as they are.

    Its parts are told by their type or, where they are not ``typed``, by a key. ``system`` are those that system messages may have.
    A message, a part or a call of another form is taken only if each of its keys is sent.
    """

    vendor: str
    own: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    typed: bool = True
    images_first: bool = True  # where a message has images beside its text
    by_name: bool = False  # results name their function, in place of the id of the call
    detailed: str = ""  # the type of its images, where these may have OpenAI's ``detail``

    def split(self, messages: Sequence[Message]) -> tuple[Parts, list[tuple[str, Parts]]]:
        """The system's parts, and role and parts of each other message. Raises ProviderError.

        For APIs that answer nothing but a user: where there is no other message, the system's is the user's.
        """
        read = self.read(messages)
        ours = [parts for role, parts in read if role in ("system", "developer")]
        rest = [(role, parts) for role, parts in read if role not in ("system", "developer")]
        flat = [part for parts in ours for part in parts]
        if rest and any(isinstance(part, Image) or not (isinstance(part, str) or self._is_one(part, self.system)) for part in flat):
            raise self._refusal("in a system message anything but text")
        if all(isinstance(part, str) and not isinstance(part, Image) for part in flat):
            flat = ["\n\n".join("\n".join(map(str, parts)) for parts in ours)] if any(flat) else []
        return (flat, rest) if rest else ([], [("user", flat or [""])])

    def read(self, messages: Sequence[Message]) -> list[tuple[str, Parts]]:
        """Role and parts of each message, where results that follow one another are of one message. Raises ProviderError."""
        read: list[tuple[str, Parts]] = []
        names: dict[str, str] = {}  # of functions, by the id of the call
        for message in messages:
            parts = self._parts(message, names)
            names |= {part.id: part.name for part in parts if isinstance(part, ToolCall)}
            if message.role == "tool" and read and read[-1][0] == "tool":
                read[-1][1].extend(parts)
            else:
                read.append((message.role, parts))
        return read

    def _parts(self, message: Message, names: Mapping[str, str]) -> Parts:
        written = {key: value for key, value in (message.written or {}).items() if value and key not in ("role", "content")}
        content = (message.written or {}).get("content")
        parts: Parts
        if isinstance(content, Sequence) and not isinstance(content, str):
            parts = [self._part(part) for part in content]
        else:
            images, texts = [*map(Image, message.images)], [message.content] if message.content or not message.images else []
            parts = [*images, *texts] if self.images_first else [*texts, *images]
        if message.role == "assistant" and written.get("tool_calls"):
            calls = written.pop("tool_calls")
            parts = [*(part for part in parts if part), *map(self._call, calls if isinstance(calls, list) else [calls])]
        elif message.role == "tool":
            key, name = str(written.pop("tool_call_id", "")), written.pop("name", "") or written.pop("tool_name", "")
            plain = isinstance(content, str) or all(chat.text_of(part) and not chat.unread(part) for part in content or ())
            if not (key or name) or message.images or not plain:
                raise self._refusal("a `tool` message without a `tool_call_id` and a text")
            if self.by_name and key and key not in names:
                raise self._refusal(f"the result of a call that is not there: no call before has the id `{excerpt(key, 60)}`")
            if name and not self.by_name and name != names.get(key):
                raise self._refusal("`name` of a `tool` message")
            parts = [ToolResult(key, str(name or names.get(key, "")), message.content)]
        if written or message.role == "function":
            raise self._refusal(f"`{excerpt(str(next(iter(written), message.role)), 60)}` of a chat message")
        return parts

    def _is_one(self, part: Any, own: Sequence[str]) -> bool:
        told = [part.get("type")] if self.typed else part if "type" not in part else ()
        return isinstance(part, Mapping) and any(kind in own for kind in told)

    def _part(self, part: JsonObject) -> Part:
        if self._is_one(part, self.own):
            return part
        image, text = chat.image_of(part), chat.text_of(part)
        kind = excerpt(str(part.get("type") or next(iter(part), "")), 60)
        if not image and text is None:
            known = ", ".join(f"`{kind}`" for kind in dict.fromkeys(("text", "image_url", *self.own)))
            raise self._refusal(f"a part `{kind}` of a chat message, but {known} and `tool_calls`")
        more = chat.unread(part, bool(self.detailed))
        if more:
            raise self._refusal(f"`{excerpt(more, 60)}` in a part `{kind}` of a chat message")
        inner = part.get("image_url")
        detail = inner.get("detail") if self.detailed and isinstance(inner, Mapping) else None
        return text if text is not None else {"type": self.detailed, "image_url": image, "detail": detail} if detail else Image(image)

    def _call(self, call: Any) -> ToolCall:
        function = call.get("function") if isinstance(call, Mapping) and call.get("type", "function") == "function" else None
        function = function if isinstance(function, Mapping) else {}
        more = function and chat.beyond(call, {"id": None, "type": None, "function": {"name": None, "arguments": None}})
        if more:
            raise self._refusal(f"`{excerpt(more, 60)}` in `tool_calls`")
        name, arguments = function.get("name"), function.get("arguments") or {}
        try:
            arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(name, str) or not isinstance(arguments, Mapping):
            raise self._refusal("`tool_calls` other than functions with a `name`, and `arguments` that are a JSON object")
        return ToolCall(str(call.get("id") or ""), name, arguments)

    def _refusal(self, what: str) -> ProviderError:
        return ProviderError(f"{self.vendor} does not take {what}", Trouble.SETUP)
