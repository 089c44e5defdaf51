"""What shapes of answers share: texts, tool calls and messages as their files write them, in one form."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gradegate.conversation import NO_USAGE, Turn, Usage
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.document import to_json
from gradegate.recording.answer import Answer

_CALL = 'write {"id": ..., "type": "function", "function": {"name": ..., "arguments": "{...}"}}'
_MESSAGE = 'write {"role": "user", "assistant" or "tool", "content": "..."}'
_UNSEEN = ("system", "developer")
_RESULTS = ("tool", "function")


def each(items: Iterable[Any], file: str, read: Callable[[Any, Origin], Answer | None]) -> list[Answer]:
    """The answers of items that each have a line. Raises ConfigError with the mistakes of all of them."""
    answers, mistakes = [], list[Mistake]()
    for item in items:
        try:
            answer = read(item, Origin(file, getattr(item, "line", 0)))
        except ConfigError as e:
            mistakes += e.mistakes
        else:
            answers += [answer] if answer else []
    if mistakes:
        raise ConfigError(*mistakes)
    return answers


def as_text(value: Any) -> str | None:
    """An output as text: what is not text is written as JSON, as promptfoo does; None stays None."""
    return value if value is None or isinstance(value, str) else to_json(value)


def mapping(value: Any) -> Mapping[str, Any]:
    """A value that should be an object; anything else is an empty one."""
    return value if isinstance(value, Mapping) else {}


def listed(value: Any) -> Sequence[Any]:
    """A value that should be a list; anything else is an empty one."""
    return value if isinstance(value, list) else []


def texts(value: Any, what: str, origin: Origin) -> tuple[str, ...]:
    """A text, or a list of texts, the blank ones left out. Raises ConfigError."""
    items = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ConfigError.at(f"`{what}` is neither a text nor a list of texts", origin, "write a list of texts")
    return tuple(item for item in items if item.strip())


def number(value: Any) -> float | None:
    """A finite number from 0; None for anything else."""
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15
    return float(value) if ok else None


def usage(tokens: Mapping[str, Any], cost: float | None = None, seconds: float | None = None) -> Usage:
    """What the answer took, by the names that vendors have for tokens; nothing where nothing is said."""
    read = _first(tokens, "prompt_tokens", "input_tokens", "prompt")
    written = _first(tokens, "completion_tokens", "output_tokens", "completion")
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


def _first(tokens: Mapping[str, Any], *names: str) -> float | None:
    return next((found for name in names if (found := number(tokens.get(name))) is not None), None)


# --- tool calls -----------------------------------------------------------------------------------------------


def tool_calls(value: Any, origin: Origin) -> tuple[Mapping[str, Any], ...] | None:
    """Calls in OpenAI's form, arguments as JSON text; also ``{name, arguments}`` without more. Raises ConfigError.

    None, which says nothing, stays None.
    """
    if value is not None and not isinstance(value, list):
        raise ConfigError.at("`tool_calls` is not a list", origin, _CALL)
    return None if value is None else tuple(_call(item, origin) for item in value)


def _call(item: Any, origin: Origin) -> Mapping[str, Any]:
    function = mapping(item).get("function", item)
    name = mapping(function).get("name")
    if not isinstance(name, str) or not name:
        raise ConfigError.at("a tool call has no name of a function", origin, _CALL)
    arguments: Any = next((function[key] for key in ("arguments", "args", "input") if key in function), {})
    return call(item.get("id"), name, arguments)


def call(identity: Any, name: str, arguments: Any) -> Mapping[str, Any]:
    """One call in OpenAI's form."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": str(identity or ""), "type": "function", "function": {"name": name, "arguments": text}}


# --- messages -------------------------------------------------------------------------------------------------


def turns(value: Any, origin: Origin) -> tuple[Turn, ...]:
    """Messages in OpenAI's form as turns. Raises ConfigError.

    What the system says is left out. What a tool gave is kept with the assistant's turn that called it.
    """
    if value is not None and not isinstance(value, list):
        raise ConfigError.at("`messages` is not a list", origin, _MESSAGE)
    said: list[Turn] = []
    for item in value or ():
        said += _turn(item, said, origin)
    return tuple(said)


def _turn(item: Any, before: list[Turn], origin: Origin) -> Iterator[Turn]:
    role, content = mapping(item).get("role"), mapping(item).get("content")
    if role in _UNSEEN:
        return
    if role in _RESULTS:
        result(before, item.get("tool_call_id") or item.get("name"), as_text(content) or "")
    elif role == "user":
        yield Turn("user", _content(content, origin))
    elif role == "assistant":
        calls = tool_calls(item.get("tool_calls"), origin)
        yield Turn("assistant", _content(content, origin), metadata={"tool_calls": list(calls)} if calls else {})
    else:
        raise ConfigError.at("a message has no role that is known", origin, _MESSAGE)


def result(before: list[Turn], identity: Any, content: str) -> None:
    """Keep what a tool gave with the last turn of the assistant; without one there is nothing that called it."""
    if before and before[-1].role == "assistant":
        results = before[-1].metadata.get("tool_results")
        if results is None:
            last, results = before[-1], []
            before[-1] = Turn(last.role, last.content, metadata={**last.metadata, "tool_results": results})
        results.append({"tool_call_id": str(identity or ""), "content": content})  # nobody else has the list yet


def _content(value: Any, origin: Origin) -> str:
    """A text, or the texts of a message's parts."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(isinstance(part, str | Mapping) for part in value):
        parts = [part if isinstance(part, str) else mapping(part).get("text") for part in value]
        return "\n".join(part for part in parts if isinstance(part, str))
    raise ConfigError.at("the content of a message is not text", origin, _MESSAGE)


# --- what no file may hold ------------------------------------------------------------------------------------


def strange(value: Any) -> str:
    """What of a value no report could write, as a sentence; empty for nothing."""
    if isinstance(value, str):
        return "" if value.isascii() or _is_text(value) else "a text holds half of a pair of signs, which is no Unicode"
    if isinstance(value, float):
        return "" if math.isfinite(value) else "a number is not finite (NaN, or too large)"
    if isinstance(value, Mapping):
        return next(filter(None, (strange(part) for pair in value.items() for part in pair)), "")
    if isinstance(value, list):
        return next(filter(None, map(strange, value)), "")
    return ""


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
