"""Parses messages of any vendor into turns, with the tools that each answer called and what the tools returned.

OpenAI: https://platform.openai.com/docs/api-reference/chat (``tool_calls``, ``function_call``); Anthropic:
https://platform.claude.com/docs/en/api/messages (parts ``tool_use``, ``tool_result``); Vercel:
https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message (parts ``tool-call``, ``tool-result``).

An unknown key or part of a message might be a tool call, so it is a mistake. If messages can be parsed, all their tool
calls are known.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gradegate.core.conversation import Turn
from gradegate.errors import ConfigError, Origin
from gradegate.providers.api.content import CALLS
from gradegate.recordings.parsing.fields import (
    as_mapping,
    as_text,
    parse_tool_call,
    parse_tool_calls,
)
from gradegate.registry import suggest
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, Struct, replace
from gradegate.templating import chat_prompt

RESULTS = "tool_results"  # key of a turn's metadata: what the tools of the turn returned
_MESSAGE_CURE = 'write {"role": "user", "assistant" or "tool", "content": "..."}'
_CALL_CURE = (
    "write calls as `tool_calls` of a message, in OpenAI's form, and texts as its `content`"
)

_TOOL_ROLES = ("tool", "function")
_SYSTEM_ROLES = ("system", "developer")  # their messages become no turns

# Keys that a message may have, by role
_COMMON_KEYS = frozenset(
    "role content name id type model metadata timestamp created created_at usage annotations cache_control weight "
    "images providerOptions providerMetadata".split()
)
_ANSWER_KEYS = _COMMON_KEYS.union(
    "tool_calls function_call refusal audio parsed prefix reasoning reasoning_content reasoning_details thinking "
    "thinking_blocks provider_specific_fields".split()
)
_TOOL_KEYS = _COMMON_KEYS.union(("tool_call_id", "is_error", "status"))
_KEYS = {
    "user": _COMMON_KEYS,
    "assistant": _ANSWER_KEYS,
    **dict.fromkeys(_TOOL_ROLES, _TOOL_KEYS),
    **dict.fromkeys(_SYSTEM_ROLES, _COMMON_KEYS),
}

# Types of the parts of a message
_TEXT_PARTS = ("", "text", "output_text", "input_text")
_CALL_PARTS = (
    "tool_use",
    "server_tool_use",
    "mcp_tool_use",
    "tool-call",
    "tool_call",
    "function_call",
)
_RESULT_PARTS = ("tool_result", "tool-result", "function_call_output")
_IGNORED_PARTS = frozenset(
    "thinking redacted_thinking reasoning image image_url input_image audio input_audio video video_url file input_file "
    "document search_result".split()
)
_TEXT_PART_KEYS = frozenset(
    "type text annotations citations cache_control logprobs id signature providerOptions providerMetadata".split()
)
# Keys of a tool result: the id of its call, and what the tool returned
_RESULT_IDS = ("tool_use_id", "toolCallId", "call_id")
_RESULT_CONTENTS = ("content", "output", "result")


def parse_messages(value: Any, origin: Origin) -> tuple[Turn, ...]:
    """Parse a list of messages into turns of the user and the assistant. Raises ConfigError.

    The metadata of an assistant's turn has its tool calls, and the results of the tools. System messages are left out.
    """
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ConfigError.at("`messages` is not a list", origin, _MESSAGE_CURE)
    parser = _MessageParser(origin)
    for message in value:
        parser.add(message)
    return tuple(parser.turns)


class _Parts(Struct):
    """The content of a message, by the kinds of its parts."""

    texts: list[str] = []
    calls: list[JsonObject] = []
    results: list[JsonObject] = []

    @property
    def text(self) -> str:
        return "".join(self.texts)


class _MessageParser:
    """Turns messages into turns, one after another. Each tool result must belong to an earlier call."""

    def __init__(self, origin: Origin) -> None:
        self.turns: list[Turn] = []
        self._origin = origin
        self._last_answer = -1  # the position of the last turn of the assistant
        # The names of all functions called so far, by the id of the call if it has one
        self._names: set[str] = set()
        self._names_by_id: dict[str, str] = {}
        self._names_without_id: set[str] = set()

    def add(self, message: Any) -> None:
        """Parse the next message. Raises ConfigError."""
        role = self._parse_role(message)
        self._check_keys(message, role)
        parts = self._parse_content(message.get("content"))
        if parts.calls and role != "assistant":
            raise self._error(f"a tool call is in a message with the role `{role}`")

        is_more_than_results = bool(parts.texts) or not parts.results
        if role == "assistant":
            self._add_answer(message, parts)
        elif role == "user" and is_more_than_results:
            self.turns.append(Turn("user", parts.text))
        elif role in _TOOL_ROLES and is_more_than_results:
            whole_message = {"name": message.get("name"), "content": parts.text}
            self._add_result(message.get("tool_call_id"), whole_message)

        for result in parts.results:
            ids = [result[key] for key in _RESULT_IDS if result.get(key)]
            self._add_result(ids[0] if ids else None, result)

    def _parse_role(self, message: Any) -> str:
        """The role of a message. Raises ConfigError if it is not known."""
        role = as_mapping(message).get("role")
        if not isinstance(role, str) or role not in _KEYS:
            raise self._error("a message has no known role", _MESSAGE_CURE)
        return role

    def _check_keys(self, message: JsonObject, role: str) -> None:
        """Raises ConfigError for a key that is not known: it might be a tool call."""
        for key, value in message.items():
            if key not in _KEYS[role] and value is not None:
                what = f"unknown key `{excerpt(key, 60)}` of a message"
                cure = suggest(key, _KEYS[role]) or f"remove it; {_CALL_CURE}"
                raise self._error(what, cure)

    def _parse_content(self, content: Any) -> _Parts:
        """The content of a message: a text, or a list of texts and parts. Raises ConfigError."""
        if isinstance(content, str):
            return _Parts(texts=[content])
        if content is not None and not isinstance(content, list):
            raise self._error("the content of a message is not text", _MESSAGE_CURE)

        parts = _Parts()
        for item in content or ():
            if isinstance(item, str):
                parts.texts.append(item)
            else:
                self._add_part(as_mapping(item), parts)
        return parts

    def _add_part(self, part: JsonObject, parts: _Parts) -> None:
        """Add a part to those of its kind. Raises ConfigError for an unknown part: it might be a tool call."""
        part_type = str(part.get("type") or "")
        keys = {key for key, value in part.items() if value is not None}
        text = part.get("text")
        if part_type in _TEXT_PARTS and isinstance(text, str) and keys <= _TEXT_PART_KEYS:
            parts.texts.append(text)
        elif part_type == "refusal" and isinstance(part.get("refusal"), str):
            parts.texts.append(part["refusal"])
        elif part_type in _CALL_PARTS or keys == {"functionCall"}:
            parts.calls.append(parse_tool_call(part, self._origin))
        elif part_type in _RESULT_PARTS or part_type.endswith("_tool_result"):
            parts.results.append(part)
        elif part_type not in _IGNORED_PARTS:
            shown = "a part without a type"
            if part_type:
                shown = f"a part of the type `{excerpt(part_type, 60)}`"
            raise self._error(f"the content of a message has {shown} that is not known")

    def _add_answer(self, message: JsonObject, parts: _Parts) -> None:
        """Add a turn of the assistant with its tool calls."""
        calls = list(parse_tool_calls(message.get("tool_calls"), self._origin) or ())
        calls += parts.calls
        if message.get("function_call"):
            calls.append(parse_tool_call(message["function_call"], self._origin))
        refusal = message.get("refusal")
        if refusal is not None and not isinstance(refusal, str):
            raise self._error("the `refusal` of a message is not text", _MESSAGE_CURE)

        self._last_answer = len(self.turns)
        self.turns.append(Turn("assistant", refusal or parts.text, metadata={CALLS: calls}))
        for call in calls:
            name = call["function"]["name"]
            self._names.add(name)
            if call["id"]:
                self._names_by_id[call["id"]] = name
            else:
                self._names_without_id.add(name)

    def _add_result(self, call_id: Any, result: JsonObject) -> None:
        """Add a tool result to the last answer. Raises ConfigError if no call fits: that call would be unknown."""
        if not call_id:
            names = self._names
        elif str(call_id) in self._names_by_id:
            names = {self._names_by_id[str(call_id)]}
        else:
            names = self._names_without_id
        name = str(result.get("name") or result.get("toolName") or "")
        if not names or (name and name not in names):
            what = "a message has the result of a tool, but no message before it has the call"
            raise self._error(what)

        answer = self.turns[self._last_answer]
        if RESULTS not in answer.metadata:
            answer = replace(answer, metadata={**answer.metadata, RESULTS: []})
            self.turns[self._last_answer] = answer
        contents = [result[key] for key in _RESULT_CONTENTS if key in result]
        content = as_text(contents[0]) if contents else None
        answer.metadata[RESULTS].append(
            {"tool_call_id": str(call_id or ""), "content": content or ""}
        )

    def _error(self, what: str, cure: str = _CALL_CURE) -> ConfigError:
        return ConfigError.at(what, self._origin, cure)


# --- which turns belong to an answer --------------------------------------------------------------------------


def turns_of_answer(turns: Sequence[Turn], prompt: str) -> Sequence[Turn]:
    """The turns that answer a prompt.

    If the turns begin with the messages of the prompt, these are the turns after them. Otherwise these are the turns after
    the first turn of the user, or all turns if there is none.
    """
    _, answer_start = _locate_prompt(turns, prompt)
    return turns[answer_start:]


def turns_before_question(turns: Sequence[Turn], prompt: str) -> Sequence[Turn]:
    """The turns before the question that are not messages of the prompt: no case asked for them."""
    prompt_start, _ = _locate_prompt(turns, prompt)
    return turns[:prompt_start]


def _locate_prompt(turns: Sequence[Turn], prompt: str) -> tuple[int, int]:
    """The position where the prompt starts, and the position where the answer starts."""
    messages = chat_prompt.parse_chat(prompt) or ()
    prompt_texts = [
        (message.role, _remove_blanks(message.content))
        for message in messages
        if message.role in ("user", "assistant")
    ]
    count = len(prompt_texts)
    first_texts = [(turn.role, _remove_blanks(turn.content)) for turn in turns[:count]]
    if prompt_texts and prompt_texts == first_texts:
        return 0, count
    for position, turn in enumerate(turns):
        if turn.role == "user":
            return position, position + 1
    return 0, 0


def _remove_blanks(text: str) -> str:
    """A text as it is compared: an application may join the parts of a message with blanks."""
    return "".join(text.split())


def calls_in_turns(turns: Iterable[Turn]) -> Iterator[JsonObject]:
    """The tool calls of all turns, in order."""
    for turn in turns:
        yield from turn.metadata.get(CALLS, ())
