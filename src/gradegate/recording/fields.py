"""What shapes of answers share: texts, numbers and tool calls as their files write them, in one form."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gradegate.asking.toolcalls import names, uniform
from gradegate.errors import ConfigError, Mistake, Origin
from gradegate.files.document import to_json
from gradegate.recording.answer import Answer, File
from gradegate.results.mapping import encodable
from gradegate.values.conversation import NO_USAGE, Usage

_CALL = 'write {"id": ..., "type": "function", "function": {"name": ..., "arguments": "{...}"}}'


def each(files: Iterable[File], read: Callable[[Any, Origin], Answer | None]) -> list[Answer]:
    """The answers of rows that each have a line. Raises ConfigError with the mistakes of all of them."""
    answers, mistakes = [], list[Mistake]()
    for file in files:
        for row in file.rows:
            try:
                answer = read(row, Origin(file.name, getattr(row, "line", 0)))
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


# --- what an answer took --------------------------------------------------------------------------------------

MOST = 1e15  # no answer takes so many tokens, dollars or milliseconds
_READ = ("prompt_tokens", "input_tokens", "prompt")
_WRITTEN = ("completion_tokens", "output_tokens", "completion")


def number(value: Any) -> float | None:
    """A finite number from 0; None for anything else."""
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST
    return float(value) if ok else None


def usage(tokens: Mapping[str, Any], cost: float | None = None, seconds: float | None = None) -> Usage:
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


def first_number(values: Mapping[str, Any], names: Iterable[str]) -> float | None:
    """The first of these values that is a number."""
    return next((found for name in names if (found := number(values.get(name))) is not None), None)


def check_tokens(tokens: Mapping[str, Any], origin: Origin) -> None:
    """Raises ConfigError for a count of tokens that is none."""
    for name in (*_READ, *_WRITTEN):
        if tokens.get(name) is not None and number(tokens[name]) is None:
            what = f"`{name}` of `usage` is not a number of tokens"
            raise ConfigError.at(what, origin, "write a number from 0, or leave it out")


# --- tool calls -----------------------------------------------------------------------------------------------


def tool_calls(value: Any, origin: Origin) -> tuple[Mapping[str, Any], ...] | None:
    """Calls of whatever vendor in OpenAI's form; also ``{name, arguments}`` without more. Raises ConfigError.

    None, which says nothing, stays None.
    """
    if value is not None and not isinstance(value, list):
        raise ConfigError.at("`tool_calls` is not a list", origin, _CALL)
    return None if value is None else tuple(tool_call(item, origin) for item in value)


def tool_call(item: Any, origin: Origin) -> Mapping[str, Any]:
    """One call in OpenAI's form, its arguments as JSON text. Raises ConfigError where it does not say what it calls."""
    named = names(item)
    if not named:
        raise ConfigError.at("a tool call has no name of a function", origin, _CALL)
    if len(named) > 1:
        raise ConfigError.at("a tool call has two names", origin, _CALL)
    if not named.pop().strip().isprintable():
        raise ConfigError.at("the name of a tool call contains an invisible character", origin, _CALL)
    return call_of(item)


def call_of(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """A call in OpenAI's form, without blanks around its name."""
    call = uniform(item)
    return {**call, "function": {**call["function"], "name": call["function"]["name"].strip()}}


def called(call: Mapping[str, Any]) -> tuple[str, str]:
    """What tells two calls apart: the name, and the arguments as JSON, whichever way they are written."""
    function = call["function"]
    try:
        return function["name"], json.dumps(json.loads(function["arguments"]), sort_keys=True)
    except (ValueError, RecursionError):
        return function["name"], function["arguments"]


# --- what no file may hold ------------------------------------------------------------------------------------


def strange(value: Any) -> str:
    """What of a value no report could write, as a sentence; empty for nothing."""
    if isinstance(value, str):
        return "" if encodable(value) == value else "a text contains half of a surrogate pair, which is not valid Unicode"
    if isinstance(value, float):
        return "" if math.isfinite(value) else "a number is not finite (NaN, or too large)"
    if isinstance(value, Mapping):
        return next(filter(None, (strange(part) for pair in value.items() for part in pair)), "")
    if isinstance(value, list):
        return next(filter(None, map(strange, value)), "")
    return ""
