"""What shapes of answers share: texts, numbers, tool calls and messages as their files write them, in one form.

OpenAI: https://platform.openai.com/docs/api-reference/chat (``tool_calls``, ``function_call``); Anthropic:
https://platform.claude.com/docs/en/api/messages (parts ``tool_use``, ``tool_result``); Vercel:
https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message (parts ``tool-call``, ``tool-result``). What of a message is not
known here might be a call, so it is a mistake: of a message that is read it is known which tools were called.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gradegate.core.conversation import Turn
from gradegate.core.usage import NO_USAGE, Usage
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.documents import encodable, to_json
from gradegate.providers.api.content import CALLS, names_in_call, uniform_call
from gradegate.recordings.parsing.recorded_answer import RecordedAnswer, RecordingFile
from gradegate.registry import suggest
from gradegate.security.redaction import excerpt
from gradegate.structs import JsonObject, Struct, replace
from gradegate.templating import chat_prompt as chat

_CALL = 'write {"id": ..., "type": "function", "function": {"name": ..., "arguments": "{...}"}}'


def read_rows(
    files: Iterable[RecordingFile], read: Callable[[Any, Origin], RecordedAnswer | None]
) -> list[RecordedAnswer]:
    """The answers of rows that each have a line. Raises ConfigError with the mistakes of all of them."""
    answers = []
    mistakes: list[Mistake] = []
    for file in files:
        for row in file.rows:
            try:
                answer = read(row, Origin(file.name, getattr(row, "line", 0)))
            except ConfigError as e:
                mistakes += e.mistakes
            else:
                if answer:
                    answers.append(answer)
    if mistakes:
        raise ConfigError(*mistakes)
    return answers


def as_text(value: Any) -> str | None:
    """An output as text: what is not text is written as JSON, as promptfoo does; None stays None."""
    return value if value is None or isinstance(value, str) else to_json(value)


def as_mapping(value: Any) -> JsonObject:
    """A value that should be an object; anything else is an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> Sequence[Any]:
    """A value that should be a list; anything else is an empty one."""
    return value if isinstance(value, list) else []


def parse_texts(value: Any, what: str, origin: Origin) -> tuple[str, ...]:
    """A text, or a list of texts, the blank ones left out. Raises ConfigError."""
    items = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ConfigError.at(
            f"`{what}` is neither a text nor a list of texts", origin, "write a list of texts"
        )
    return tuple(item for item in items if item.strip())


# --- what an answer took --------------------------------------------------------------------------------------

MOST = 1e15  # no answer takes so many tokens, dollars or milliseconds
_READ = ("prompt_tokens", "input_tokens", "prompt")
_WRITTEN = ("completion_tokens", "output_tokens", "completion")


def parse_number(value: Any) -> float | None:
    """A finite number from 0; None for anything else."""
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST
    return float(value) if ok else None


def parse_usage(
    tokens: JsonObject, cost: float | None = None, seconds: float | None = None
) -> Usage:
    """What the answer took, by the names that vendors have for tokens; nothing where nothing is said."""
    read, written = first_number(tokens, _READ), first_number(tokens, _WRITTEN)
    if cost is None and seconds is None and read is None and written is None:
        return NO_USAGE
    return Usage(
        calls=1,
        prompt_tokens=int(read or 0),
        completion_tokens=int(written or 0),
        cost=cost or 0.0,
        unpriced=int(cost is None),
        seconds=seconds or 0.0,
        untimed=int(seconds is None),
    )


def first_number(values: JsonObject, names: Iterable[str]) -> float | None:
    """The first of these values that is a number."""
    return next(
        (found for name in names if (found := parse_number(values.get(name))) is not None),
        None,
    )


def first_text(texts: Iterable[str]) -> str:
    """The first of these texts that says something, else an empty one."""
    return next(filter(None, texts), "")


def check_tokens(tokens: JsonObject, origin: Origin) -> None:
    """Raises ConfigError for a count of tokens that is none."""
    for name in (*_READ, *_WRITTEN):
        if tokens.get(name) is not None and parse_number(tokens[name]) is None:
            what = f"`{name}` of `usage` is not a number of tokens"
            raise ConfigError.at(what, origin, "write a number from 0, or leave it out")


# --- tool calls -----------------------------------------------------------------------------------------------


def parse_tool_calls(value: Any, origin: Origin) -> tuple[JsonObject, ...] | None:
    """Calls of whatever vendor in OpenAI's form; also ``{name, arguments}`` without more. Raises ConfigError.

    None, which says nothing, stays None.
    """
    if value is not None and not isinstance(value, list):
        raise ConfigError.at("`tool_calls` is not a list", origin, _CALL)
    return None if value is None else tuple(parse_tool_call(item, origin) for item in value)


def parse_tool_call(item: Any, origin: Origin) -> JsonObject:
    """One call in OpenAI's form, its arguments as JSON text. Raises ConfigError where it does not say what it calls."""
    named = names_in_call(item)
    if not named:
        raise ConfigError.at("a tool call has no name of a function", origin, _CALL)
    if len(named) > 1:
        raise ConfigError.at("a tool call has two names", origin, _CALL)
    if not named.pop().strip().isprintable():
        raise ConfigError.at(
            "the name of a tool call contains an invisible character", origin, _CALL
        )
    return normalize_call(item)


def normalize_call(item: JsonObject) -> JsonObject:
    """A call in OpenAI's form, without blanks around its name."""
    call = uniform_call(item)
    return {**call, "function": {**call["function"], "name": call["function"]["name"].strip()}}


def call_identity(call: JsonObject) -> tuple[str, str]:
    """What tells two calls apart: the name, and the arguments as JSON, whichever way they are written."""
    function = call["function"]
    try:
        return function["name"], json.dumps(json.loads(function["arguments"]), sort_keys=True)
    except (ValueError, RecursionError):
        return function["name"], function["arguments"]


# --- what no file may hold ------------------------------------------------------------------------------------


def unwritable_part(value: Any) -> str:
    """What of a value no report could write, as a sentence; empty for nothing."""
    if isinstance(value, str):
        what = "a text contains half of a surrogate pair, which is not valid Unicode"
        return "" if encodable(value) == value else what
    if isinstance(value, float):
        return "" if math.isfinite(value) else "a number is not finite (NaN, or too large)"
    if isinstance(value, Mapping):
        return first_text(unwritable_part(part) for pair in value.items() for part in pair)
    if isinstance(value, list):
        return first_text(map(unwritable_part, value))
    return ""


RESULTS = "tool_results"  # where the metadata of a turn has them
_MESSAGE = 'write {"role": "user", "assistant" or "tool", "content": "..."}'
_CURE = "write calls as `tool_calls` of a message, in OpenAI's form, and texts as its `content`"

UNSEEN = ("system", "developer")  # roles whose messages are no turns
_TOOLS = ("tool", "function")
_ANY = frozenset(
    "role content name id type model metadata timestamp created created_at usage annotations cache_control weight "
    "images providerOptions providerMetadata".split()
)
_KEYS = {
    "user": _ANY,
    "assistant": _ANY.union(
        "tool_calls function_call refusal audio parsed prefix reasoning reasoning_content reasoning_details thinking "
        "thinking_blocks provider_specific_fields".split()
    ),
    **dict.fromkeys(_TOOLS, _ANY.union(("tool_call_id", "is_error", "status"))),
    **dict.fromkeys(UNSEEN, _ANY),
}
# Types of the parts of a message.
_TEXTS = ("text", "output_text", "input_text")
_CALLED = ("tool_use", "server_tool_use", "mcp_tool_use", "tool-call", "tool_call", "function_call")
_GAVE = ("tool_result", "tool-result", "function_call_output")
_BESIDE_TEXT = frozenset(
    "type text annotations citations cache_control logprobs id signature providerOptions providerMetadata".split()
)
_UNREAD = frozenset(
    "thinking redacted_thinking reasoning image image_url input_image audio input_audio video video_url file input_file "
    "document search_result".split()
)


def parse_messages(value: Any, origin: Origin) -> tuple[Turn, ...]:
    """A list of messages as turns of the user and the assistant. Raises ConfigError.

    Each turn of the assistant says which tools it called, and keeps what they gave. What the system says is left out.
    """
    if value is not None and not isinstance(value, list):
        raise ConfigError.at("`messages` is not a list", origin, _MESSAGE)
    said = _Said(origin)
    for item in value or ():
        said.add(item)
    return tuple(said.turns)


class _Parts(Struct):
    texts: list[str] = []
    calls: list[JsonObject] = []
    results: list[JsonObject] = []


class _Said(Struct):
    """The turns so far. ``names`` are those of all calls so far, ``by_id`` of those that have an id, ``bare`` of the others."""

    origin: Origin
    turns: list[Turn] = []
    last: int = -1  # the place of the last answer
    names: set[str] = set()
    bare: set[str] = set()
    by_id: dict[str, str] = {}

    def add(self, item: Any) -> None:
        """Raises ConfigError."""
        role = as_mapping(item).get("role")
        if not isinstance(role, str) or role not in _KEYS:
            raise self._wrong("a message has no known role", _MESSAGE)
        for key, value in item.items():
            if key not in _KEYS[role] and value is not None:
                close = suggest(key, _KEYS[role])
                raise self._wrong(
                    f"unknown key `{excerpt(key, 60)}` of a message", close or f"remove it; {_CURE}"
                )
        parts = self._parts(item.get("content"))
        if parts.calls and role != "assistant":
            raise self._wrong(f"a tool call is in a message with the role `{role}`")
        if role in _TOOLS:
            if parts.texts or not parts.results:  # one result, unless its parts are some
                content = "".join(parts.texts)
                whole = {"name": item.get("name"), "content": content}
                self._result(item.get("tool_call_id"), whole)
        elif role == "assistant":
            calls = [*(parse_tool_calls(item.get("tool_calls"), self.origin) or ()), *parts.calls]
            if item.get("function_call"):
                calls.append(parse_tool_call(item["function_call"], self.origin))
            declined = item.get("refusal")
            if declined is not None and not isinstance(declined, str):
                raise self._wrong("the `refusal` of a message is not text", _MESSAGE)
            text = declined or "".join(parts.texts)
            self.last = len(self.turns)
            self.turns.append(Turn("assistant", text, metadata={CALLS: calls}))
            for call in calls:
                name = call["function"]["name"]
                self.names.add(name)
                if call["id"]:
                    self.by_id[call["id"]] = name
                else:
                    self.bare.add(name)
        elif role == "user" and (parts.texts or not parts.results):
            self.turns.append(Turn("user", "".join(parts.texts)))
        for result in parts.results:
            keys = ("tool_use_id", "toolCallId", "call_id")
            self._result(next(filter(None, map(result.get, keys)), None), result)

    # --- what a message is made of ----------------------------------------------------------------------------

    def _parts(self, content: Any) -> _Parts:
        if content is not None and not isinstance(content, str | list):
            raise self._wrong("the content of a message is not text", _MESSAGE)
        parts = _Parts()
        for part in [content] if isinstance(content, str) else content or ():
            about = {"text": part} if isinstance(part, str) else as_mapping(part)
            kind, text = str(about.get("type") or ""), about.get("text")
            beside = {key for key, value in about.items() if value is not None}
            if isinstance(text, str) and kind in ("", *_TEXTS) and beside <= _BESIDE_TEXT:
                parts.texts.append(text)
            elif kind == "refusal" and isinstance(about.get("refusal"), str):
                parts.texts.append(about["refusal"])
            elif kind in _CALLED or beside == {"functionCall"}:
                parts.calls.append(parse_tool_call(about, self.origin))
            elif kind in _GAVE or kind.endswith("_tool_result"):
                parts.results.append(about)
            elif kind not in _UNREAD:
                what = (
                    f"a part of the type `{excerpt(kind, 60)}`" if kind else "a part without a type"
                )
                raise self._wrong(f"the content of a message has {what} that is not known")
        return parts

    # --- what becomes of it -----------------------------------------------------------------------------------

    def _result(self, identity: Any, result: JsonObject) -> None:
        """Keep what a tool gave with the last answer; what nobody called is the trace of a call that is not told."""
        name = str(result.get("name") or result.get("toolName") or "")
        known = self.by_id.get(str(identity or ""))
        named = self.names if not identity else self.bare if known is None else {known}
        if not named or (name and name not in named):
            raise self._wrong(
                "a message has the result of a tool, but no message before it has the call"
            )
        last = self.turns[self.last]
        results = last.metadata.get(RESULTS)
        if results is None:
            results = []
            self.turns[self.last] = replace(last, metadata={**last.metadata, RESULTS: results})
        given: Any = next(
            (result[key] for key in ("content", "output", "result") if key in result), None
        )
        results.append({"tool_call_id": str(identity or ""), "content": as_text(given) or ""})

    def _wrong(self, what: str, cure: str = _CURE) -> ConfigError:
        return ConfigError.at(what, self.origin, cure)


def turns_of_answer(said: Sequence[Turn], prompt: str) -> Sequence[Turn]:
    """What of the messages is the answer to a prompt.

    It is what follows the prompt's own messages, where they begin with these; else what follows their first message of the
    user, and all of them where there is none.
    """
    return said[_places(said, prompt)[1] :]


def turns_before_question(said: Sequence[Turn], prompt: str) -> Sequence[Turn]:
    """What of the messages stands before the question and is none of the prompt's own: nobody asked for it."""
    return said[: _places(said, prompt)[0]]


def _places(said: Sequence[Turn], prompt: str) -> tuple[int, int]:
    """Where the prompt begins, and where the answer to it does."""
    asked = [it for it in chat.parse_chat(prompt) or () if it.role in ("user", "assistant")]
    # Texts are compared without blanks, which may be what parts are joined by.
    own, others = (
        [(it.role, "".join(it.content.split())) for it in turns]
        for turns in (asked, said[: len(asked)])
    )
    if own and own == others:
        return 0, len(asked)
    first = next((number for number, turn in enumerate(said) if turn.role == "user"), -1)
    return max(first, 0), first + 1


def calls_in_turns(said: Iterable[Turn]) -> Iterator[JsonObject]:
    """The calls of all turns, in order."""
    for turn in said:
        yield from turn.metadata.get(CALLS, ())
