"""Messages in the form of a vendor, whole or not at all: what its API has no place for is refused, and never left out.

Tool calls and the tools that may be called are in one form whatever the vendor, that of OpenAI's Chat Completions. Forms:
https://platform.openai.com/docs/api-reference/chat and /responses, https://platform.claude.com/docs/en/api/messages (``tool_use``),
https://ai.google.dev/api/generate-content (``functionCall``), https://docs.ollama.com/api (arguments as an object),
https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message (``tool-call``),
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gradegate.core.conversation import Image, Message
from gradegate.errors import ProviderError, Trouble
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts
from gradegate.templating import chat_prompt

CALLS = "tool_calls"  # where the metadata of a turn has them
UNTOLD = "tool_calls_untold"  # where that of an answer says why it is not known which there were
# Kinds that name a function of the caller's.
_FUNCTIONS = (None, "function", "function_call", "tool_use", "tool_call", "tool-call")
_INSIDE = ("function", "functionCall", "custom")  # what may hold the name and the arguments
_NAMES = ("name", "toolName")
_IDS = ("call_id", "id", "toolCallId")
_ARGUMENTS = ("arguments", "args", "input")
DECLARING = ("tools", "functions")  # keys of a provider's config that name what may be called
_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")


def uniform(call: JsonObject) -> JsonObject:
    """``{"id", "type": "function", "function": {"name", "arguments"}}``, where the arguments are JSON text.

    A call that the vendor's own side answers, such as a web search, keeps its ``type`` and has that for a name. What has
    no name at all, or two, has an empty one.
    """
    kind = call.get("type")
    inner = _inside(call)
    names_in_call = [*names(call)]
    arguments: Any = next((inner[key] for key in _ARGUMENTS if inner.get(key) is not None), {})
    return {
        "id": str(next((call[key] for key in _IDS if call.get(key)), inner.get("id")) or ""),
        "type": "function" if kind in _FUNCTIONS else str(kind),
        "function": {
            "name": names_in_call[0]
            if len(names_in_call) == 1
            else ""
            if names_in_call or kind in _FUNCTIONS
            else str(kind).removesuffix("_call"),
            "arguments": arguments
            if isinstance(arguments, str)
            else json.dumps(arguments, ensure_ascii=False),
        },
    }


def _inside(call: JsonObject) -> JsonObject:
    return next((call[key] for key in _INSIDE if isinstance(call.get(key), Mapping)), call)


def names(call: Any) -> set[str]:
    """What a call says that it calls: one name, or it is no call that anybody could follow."""
    places = (call, _inside(call)) if isinstance(call, Mapping) else ()
    return {
        place[key]
        for place in places
        for key in _NAMES
        if isinstance(place.get(key), str) and place[key].strip()
    }


def written(text: str) -> list[JsonObject] | None:
    """The calls that an answer consists of where its whole text is their JSON; None for any other text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return told(json.loads(text))
    except (ValueError, RecursionError):
        return None


def listed(fields: Iterable[Any]) -> list[Any]:
    """The calls in fields that have a list of them, or one."""
    return [call for field in fields for call in (field if isinstance(field, list) else [field])]


def told(value: Any) -> list[JsonObject] | None:
    """The calls of a JSON value: a list of them, one, or a message that holds them; None for anything else."""
    if isinstance(value, Mapping):
        vendors = (
            value["toolCall"].get("functionCalls")
            if isinstance(value.get("toolCall"), Mapping)
            else None
        )
        fields = filter(None, (value.get(CALLS), value.get("function_call"), vendors))
        value = listed(fields) or value
    items = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    return [uniform(item) for item in items] if items and all(map(_is_call, items)) else None


def _is_call(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    inner = value.get("function", value.get("functionCall"))
    if isinstance(inner, Mapping):
        return isinstance(inner.get("name"), str)
    typed = value.get("type") is not None and value["type"] in _FUNCTIONS
    return isinstance(value.get("name"), str) and (typed or any(key in value for key in _ARGUMENTS))


# --- the tools that may be called -------------------------------------------------------------------------------


def declared(config: JsonObject) -> JsonObject | None:
    """The functions that ``tools`` and ``functions`` name, with the JSON Schemas of their parameters; None where neither is written."""
    # Where Bedrock's Converse has them, and Gemini which of them may be called
    inside = config.get("toolConfig")
    beside = [inside["tools"]] if isinstance(inside, Mapping) and inside.get("tools") else []
    written = [*(config[key] for key in DECLARING if config.get(key)), *beside]
    if not written:
        return None
    return {name: schema for value in written for name, schema in _functions(value)}


def _functions(value: Any) -> Iterator[tuple[str, Any]]:
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, Mapping):
            continue
        inside = item.get("functionDeclarations", item.get("function_declarations"))
        if inside is not None:
            yield from ((name, _lower(schema)) for name, schema in _functions(inside))
            continue
        function = next(
            (item[key] for key in ("function", "toolSpec") if isinstance(item.get(key), Mapping)),
            item,
        )
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            schema = next(
                (function[key] for key in _SCHEMAS if function.get(key) is not None), None
            )
            inner = function.get("inputSchema")  # of Bedrock's Converse
            schema = inner.get("json") if schema is None and isinstance(inner, Mapping) else schema
            yield function["name"], NO_PARAMETERS if schema is None else schema


NO_PARAMETERS: JsonObject = {"type": "object", "maxProperties": 0}


def _lower(schema: Any) -> Any:
    """A schema of Gemini's, which may write ``STRING`` for ``string``, as JSON Schema has it."""
    if isinstance(schema, list):
        return [_lower(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: value.lower() if key == "type" and isinstance(value, str) else _lower(value)
        for key, value in schema.items()
    }


class ToolCall(FrozenStruct):
    """A call of a function, which the assistant made."""

    id: str
    name: str
    arguments: JsonObject


class ToolResult(FrozenStruct):
    """What a function gave."""

    id: str
    name: str
    content: str


def is_text(part: Any) -> bool:
    """Whether a part of a message is text, and no image."""
    return isinstance(part, str) and not isinstance(part, Image)


# A text, an Image, a call, its result, or a part of the vendor's own
Part = str | ToolCall | ToolResult | JsonObject
Parts = list[Part]


class Taken(FrozenStruct):
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
        if rest and not all(is_text(part) or self._is_one(part, self.system) for part in flat):
            raise self._refusal("in a system message anything but text")
        if all(map(is_text, flat)):
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

    def _parts(self, message: Message, names: NamedTexts) -> Parts:
        written = {
            key: value
            for key, value in (message.written or {}).items()
            if value and key not in ("role", "content")
        }
        content = (message.written or {}).get("content")
        parts: Parts
        if isinstance(content, Sequence) and not isinstance(content, str):
            parts = [self._part(part) for part in content]
        else:
            images = [*map(Image, message.images)]
            texts = [message.content] if message.content or not message.images else []
            parts = [*images, *texts] if self.images_first else [*texts, *images]
        if message.role == "assistant" and written.get("tool_calls"):
            calls = written.pop("tool_calls")
            parts = [
                *(part for part in parts if part),
                *map(self._call, calls if isinstance(calls, list) else [calls]),
            ]
        elif message.role == "tool":
            key = str(written.pop("tool_call_id", ""))
            name = written.pop("name", "") or written.pop("tool_name", "")
            plain = isinstance(content, str) or all(
                chat_prompt.text_of(part) and not chat_prompt.unread_key(part)
                for part in content or ()
            )
            if not (key or name) or message.images or not plain:
                raise self._refusal("a `tool` message without a `tool_call_id` and a text")
            if self.by_name and key and key not in names:
                raise self._refusal(
                    f"the result of a call that is not there: no call before has the id `{excerpt(key, 60)}`"
                )
            if name and not self.by_name and name != names.get(key):
                raise self._refusal("`name` of a `tool` message")
            parts = [ToolResult(key, str(name or names.get(key, "")), message.content)]
        if written or message.role == "function":
            raise self._refusal(
                f"`{excerpt(str(next(iter(written), message.role)), 60)}` of a chat message"
            )
        return parts

    def _is_one(self, part: Any, own: Sequence[str]) -> bool:
        if not isinstance(part, Mapping):
            return False
        told = [part.get("type")] if self.typed else part if "type" not in part else ()
        return any(kind in own for kind in told)

    def _part(self, part: JsonObject) -> Part:
        if self._is_one(part, self.own):
            return part
        image = chat_prompt.image_of(part)
        text = chat_prompt.text_of(part)
        kind = excerpt(str(part.get("type") or next(iter(part), "")), 60)
        if not image and text is None:
            known = ", ".join(
                f"`{kind}`" for kind in dict.fromkeys(("text", "image_url", *self.own))
            )
            raise self._refusal(f"a part `{kind}` of a chat message, but {known} and `tool_calls`")
        more = chat_prompt.unread_key(part, bool(self.detailed))
        if more:
            raise self._refusal(f"`{excerpt(more, 60)}` in a part `{kind}` of a chat message")
        inner = part.get("image_url")
        detail = inner.get("detail") if self.detailed and isinstance(inner, Mapping) else None
        if text is not None:
            return text
        if detail:
            return {"type": self.detailed, "image_url": image, "detail": detail}
        return Image(image)

    def _call(self, call: Any) -> ToolCall:
        function = (
            call.get("function")
            if isinstance(call, Mapping) and call.get("type", "function") == "function"
            else None
        )
        function = function if isinstance(function, Mapping) else {}
        more = function and chat_prompt.unknown_key(
            call, {"id": None, "type": None, "function": {"name": None, "arguments": None}}
        )
        if more:
            raise self._refusal(f"`{excerpt(more, 60)}` in `tool_calls`")
        name = function.get("name")
        arguments = function.get("arguments") or {}
        try:
            arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(name, str) or not isinstance(arguments, Mapping):
            raise self._refusal(
                "`tool_calls` other than functions with a `name`, and `arguments` that are a JSON object"
            )
        return ToolCall(str(call.get("id") or ""), name, arguments)

    def _refusal(self, what: str) -> ProviderError:
        return ProviderError(f"{self.vendor} does not take {what}", Trouble.SETUP)
