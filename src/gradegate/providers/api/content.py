"""The messages of a request in the form of a vendor, and tool calls in one form for all vendors.

Messages are sent whole or not at all: what an API has no place for is refused, never left out. Tool calls, and the tools that may
be called, have the form of OpenAI's Chat Completions. Vendors' forms:
https://platform.openai.com/docs/api-reference/chat and /responses, https://platform.claude.com/docs/en/api/messages (``tool_use``),
https://ai.google.dev/api/generate-content (``functionCall``), https://docs.ollama.com/api (arguments as an object),
https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message (``tool-call``),
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gradegate.core.conversation import Image, Message
from gradegate.errors import ProviderError, Trouble
from gradegate.security.redaction import excerpt
from gradegate.structs import FrozenStruct, JsonObject, NamedTexts
from gradegate.templating import chat_prompt

CALLS = "tool_calls"  # key of a turn's metadata: the calls of the turn
# Key of an answer's metadata: why its calls are not known
CALLS_UNKNOWN = "tool_calls_untold"
DECLARING = ("tools", "functions")  # keys of a provider's config that name what may be called
NO_PARAMETERS: JsonObject = {"type": "object", "maxProperties": 0}
# Types of calls of a function of the caller's
_FUNCTION_TYPES = (None, "function", "function_call", "tool_use", "tool_call", "tool-call")
# Keys of a call that may contain its name and its arguments
_CALL_BODIES = ("function", "functionCall", "custom")
_NAMES = ("name", "toolName")
_ARGUMENTS = ("arguments", "args", "input")
_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")
# The keys of a call in a chat prompt that are sent
_CALL_FORM = {"id": None, "type": None, "function": {"name": None, "arguments": None}}


# --- tool calls -------------------------------------------------------------------------------------------------


def uniform_call(call: JsonObject) -> JsonObject:
    """``{"id", "type": "function", "function": {"name", "arguments"}}``, where the arguments are JSON text.

    A call that the vendor answers itself, such as a web search, keeps its ``type``, which is also its name. A call without a
    name, or with two, has an empty one.
    """
    call_type = call.get("type")
    function = _inner_object(call, _CALL_BODIES)

    arguments = _first_value(function, _ARGUMENTS)
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)

    names = names_in_call(call)
    if len(names) == 1:
        name = names.pop()
    elif names or call_type in _FUNCTION_TYPES:
        name = ""
    else:
        name = str(call_type).removesuffix("_call")

    call_id = call.get("call_id") or call.get("id") or call.get("toolCallId") or function.get("id")
    return {
        "id": str(call_id or ""),
        "type": "function" if call_type in _FUNCTION_TYPES else str(call_type),
        "function": {"name": name, "arguments": arguments},
    }


def names_in_call(call: Any) -> set[str]:
    """The names that a call gives to its function; only a call with exactly one name can be followed."""
    names: set[str] = set()
    if isinstance(call, dict):
        for place in (call, _inner_object(call, _CALL_BODIES)):
            values = (place.get(key) for key in _NAMES)
            names.update(name for name in values if isinstance(name, str) and name.strip())
    return names


def calls_in_text(text: str) -> list[JsonObject] | None:
    """The calls of an answer whose whole text is the JSON of calls; None for any other text."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return parse_calls(json.loads(text))
    except (ValueError, RecursionError):
        return None


def parse_calls(value: Any) -> list[JsonObject] | None:
    """The calls of a JSON value: a list of calls, one call, or a message with calls; None for anything else."""
    if isinstance(value, dict):
        fields = [value.get(CALLS), value.get("function_call")]
        gemini = value.get("toolCall")
        if isinstance(gemini, dict):
            fields.append(gemini.get("functionCalls"))
        value = flatten_calls(filter(None, fields)) or value
    if isinstance(value, str) or not isinstance(value, Sequence):
        value = [value]
    if not value or not all(map(_is_call, value)):
        return None
    return [uniform_call(call) for call in value]


def flatten_calls(fields: Iterable[Any]) -> list[Any]:
    """The calls in fields, each of which has a list of calls or a single call."""
    calls = []
    for field in fields:
        if isinstance(field, list):
            calls += field
        else:
            calls.append(field)
    return calls


def _is_call(value: Any) -> bool:
    """Whether a value is a call in the form of any vendor."""
    if not isinstance(value, dict):
        return False
    function = value.get("function", value.get("functionCall"))
    if isinstance(function, dict):
        return isinstance(function.get("name"), str)
    if not isinstance(value.get("name"), str):
        return False
    call_type = value.get("type")
    if call_type is not None and call_type in _FUNCTION_TYPES:
        return True
    return any(key in value for key in _ARGUMENTS)


def _inner_object(value: JsonObject, keys: Sequence[str]) -> JsonObject:
    """The first object under one of the keys, else the value itself."""
    for key in keys:
        if isinstance(value.get(key), dict):
            return value[key]  # type: ignore[no-any-return]
    return value


def _first_value(value: JsonObject, keys: Sequence[str]) -> Any:
    """The first value under one of the keys; None for no value."""
    for key in keys:
        if value.get(key) is not None:
            return value[key]
    return None


# --- the tools that may be called -------------------------------------------------------------------------------


def function_schemas(config: JsonObject) -> JsonObject | None:
    """The JSON Schemas of parameters by function, for all that a config declares; None if it declares no functions."""
    declarations = [config[key] for key in DECLARING if config.get(key)]
    # Bedrock's Converse has tools here. Gemini says here which tools may be called.
    tool_config = config.get("toolConfig")
    if isinstance(tool_config, dict) and tool_config.get("tools"):
        declarations.append(tool_config["tools"])
    if not declarations:
        return None

    schemas: dict[str, Any] = {}
    for declaration in declarations:
        schemas.update(_functions_in(declaration))
    return schemas


def _functions_in(declaration: Any) -> Iterator[tuple[str, Any]]:
    """Name and schema of each function of a declaration in any vendor's form."""
    for tool in flatten_calls([declaration]):
        if not isinstance(tool, dict):
            continue
        group = tool.get("functionDeclarations", tool.get("function_declarations"))
        if group is not None:
            for name, schema in _functions_in(group):
                yield name, _lower_types(schema)
            continue
        function = _inner_object(tool, ("function", "toolSpec"))
        if isinstance(function.get("name"), str):
            yield function["name"], _parameter_schema(function)


def _parameter_schema(function: JsonObject) -> Any:
    """The JSON Schema of a function's parameters, as its declaration has it."""
    schema = _first_value(function, _SCHEMAS)
    converse = function.get("inputSchema")
    if schema is None and isinstance(converse, dict):
        schema = converse.get("json")
    return NO_PARAMETERS if schema is None else schema


def _lower_types(schema: Any) -> Any:
    """A schema of Gemini as JSON Schema: Gemini also takes ``STRING`` for ``string``."""
    if isinstance(schema, list):
        return [_lower_types(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    lowered = {}
    for key, value in schema.items():
        is_type = key == "type" and isinstance(value, str)
        lowered[key] = value.lower() if is_type else _lower_types(value)
    return lowered


# --- messages ---------------------------------------------------------------------------------------------------


class ToolCall(FrozenStruct):
    """A call of a function by the assistant."""

    id: str
    name: str
    arguments: JsonObject


class ToolResult(FrozenStruct):
    """What a function returned."""

    id: str
    name: str
    content: str


# A text, an Image, a call, its result, or a part in the vendor's own form
Part = str | ToolCall | ToolResult | JsonObject
Parts = list[Part]


def is_text(part: Any) -> bool:
    """Whether a part of a message is text, and no image."""
    return isinstance(part, str) and not isinstance(part, Image)


class MessageForm(FrozenStruct):
    """Which messages a vendor's API takes, besides texts, images, calls and results.

    ``vendor_parts`` are parts in the vendor's own form, sent as they are; ``system_parts`` are those that system messages may
    have. Such a part is recognized by its type or, if it is not ``typed``, by a key. A message, a part or a call of another form
    is taken only if each of its keys is sent.
    """

    vendor: str
    vendor_parts: tuple[str, ...] = ()
    system_parts: tuple[str, ...] = ()
    typed: bool = True
    images_first: bool = True  # where a message has images and a text
    results_by_name: bool = False  # results name their function, not the id of the call
    detail_type: str = ""  # the type of images with OpenAI's ``detail``; empty: takes none

    def split_system(self, messages: Sequence[Message]) -> tuple[Parts, list[tuple[str, Parts]]]:
        """The system's parts, then role ("user" or "assistant") and parts of each other message. Raises ProviderError.

        For APIs that answer only a user: if there is no other message, the system's is the user's.
        """
        system: Parts = []
        texts = []  # of the system's messages
        conversation = []
        for role, parts in self.read_messages(messages):
            if role in ("system", "developer"):
                system += parts
                texts.append("\n".join(map(str, parts)))
            else:
                conversation.append(("assistant" if role == "assistant" else "user", parts))

        if all(map(is_text, system)):
            system = ["\n\n".join(texts)] if any(system) else []
        elif conversation:
            for part in system:
                if not (is_text(part) or self._is_vendor_part(part, self.system_parts)):
                    raise self._refusal("in a system message anything but text")

        if not conversation:
            return [], [("user", system or [""])]
        return system, conversation

    def read_messages(self, messages: Sequence[Message]) -> list[tuple[str, Parts]]:
        """Role and parts of each message; results that follow one another are one message. Raises ProviderError."""
        conversation: list[tuple[str, Parts]] = []
        functions: dict[str, str] = {}  # names by the id of the call
        for message in messages:
            parts = self._read_parts(message, functions)
            for part in parts:
                if isinstance(part, ToolCall):
                    functions[part.id] = part.name
            if message.role == "tool" and conversation and conversation[-1][0] == "tool":
                conversation[-1][1].extend(parts)
            else:
                conversation.append((message.role, parts))
        return conversation

    def _read_parts(self, message: Message, functions: NamedTexts) -> Parts:
        """The parts of a message, with its calls or its result. Raises ProviderError."""
        # The fields that are still to be sent: what is left in the end is refused.
        fields = {
            key: value
            for key, value in (message.written or {}).items()
            if value and key not in ("role", "content")
        }

        parts = self._read_content(message)
        if message.role == "assistant" and fields.get("tool_calls"):
            calls = flatten_calls([fields.pop("tool_calls")])
            parts = [part for part in parts if part]
            parts += map(self._read_call, calls)
        elif message.role == "tool":
            parts = [self._read_result(message, fields, functions)]

        if fields or message.role == "function":
            key = str(next(iter(fields), message.role))
            raise self._refusal(f"`{excerpt(key, 60)}` of a chat message")
        return parts

    def _read_content(self, message: Message) -> Parts:
        content = (message.written or {}).get("content")
        if isinstance(content, Sequence) and not isinstance(content, str):
            return [self._read_part(part) for part in content]

        images = [*map(Image, message.images)]
        texts = [message.content] if message.content or not images else []
        return [*images, *texts] if self.images_first else [*texts, *images]

    def _read_part(self, part: Any) -> Part:
        if not isinstance(part, dict):
            raise self._refusal("a part of a chat message that is not an object")
        if self._is_vendor_part(part, self.vendor_parts):
            return part

        image = chat_prompt.image_of(part)
        text = chat_prompt.text_of(part)
        kind = excerpt(str(part.get("type") or next(iter(part), "")), 60)
        if not image and text is None:
            kinds = dict.fromkeys(("text", "image_url", *self.vendor_parts))
            takes = ", ".join(f"`{name}`" for name in kinds)
            raise self._refusal(f"a part `{kind}` of a chat message, but {takes} and `tool_calls`")
        unsent = chat_prompt.unread_key(part, bool(self.detail_type))
        if unsent:
            raise self._refusal(f"`{excerpt(unsent, 60)}` in a part `{kind}` of a chat message")

        if text is not None:
            return text
        address = part.get("image_url")
        if self.detail_type and isinstance(address, dict) and address.get("detail"):
            return {"type": self.detail_type, "image_url": image, "detail": address["detail"]}
        return Image(image)

    def _is_vendor_part(self, part: Any, kinds: Sequence[str]) -> bool:
        if not isinstance(part, dict):
            return False
        if self.typed:
            return part.get("type") in kinds
        return "type" not in part and any(key in kinds for key in part)

    def _read_call(self, call: Any) -> ToolCall:
        function = None
        if isinstance(call, dict) and call.get("type", "function") == "function":
            function = call.get("function")
        if not isinstance(function, dict):
            function = {}

        unsent = function and chat_prompt.unknown_key(call, _CALL_FORM)
        if unsent:
            raise self._refusal(f"`{excerpt(unsent, 60)}` in `tool_calls`")
        arguments = function.get("arguments") or {}
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                arguments = None
        if not isinstance(function.get("name"), str) or not isinstance(arguments, dict):
            raise self._refusal(
                "`tool_calls` other than functions with a `name`, and `arguments` that are a JSON object"
            )
        return ToolCall(str(call.get("id") or ""), function["name"], arguments)

    def _read_result(
        self, message: Message, fields: dict[str, Any], functions: NamedTexts
    ) -> ToolResult:
        """Take the result of a call out of the fields of a message. Raises ProviderError."""
        call_id = str(fields.pop("tool_call_id", ""))
        name = fields.pop("name", "") or fields.pop("tool_name", "")
        if not (call_id or name) or message.images or not _is_plain(message):
            raise self._refusal("a `tool` message without a `tool_call_id` and a text")

        if self.results_by_name and call_id and call_id not in functions:
            raise self._refusal(
                f"the result of a call that is not there: no call before has the id `{excerpt(call_id, 60)}`"
            )
        if name and not self.results_by_name and name != functions.get(call_id):
            raise self._refusal("`name` of a `tool` message")
        return ToolResult(call_id, str(name or functions.get(call_id, "")), message.content)

    def _refusal(self, problem: str) -> ProviderError:
        return ProviderError(f"{self.vendor} does not take {problem}", Trouble.SETUP)


def _is_plain(message: Message) -> bool:
    """Whether the content of a message is text, in one or several parts."""
    content = (message.written or {}).get("content")
    if isinstance(content, str):
        return True
    for part in content or ():
        if not isinstance(part, dict):
            return False
        if not chat_prompt.text_of(part) or chat_prompt.unread_key(part):
            return False
    return True
